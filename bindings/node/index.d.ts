// Filters that report whether a key was seen before, on unbounded streams, in constant memory.
/// <reference types="node" />
import { Transform } from 'node:stream';

/** A string is its UTF-8, an integer its decimal text, a Uint8Array (Buffer) its bytes. */
export type Key = string | number | bigint | Uint8Array;

/** Keys: an array, a Set or another iterable of keys, but not a string and not bytes. */
export type Keys = Iterable<Key> & object & { readonly BYTES_PER_ELEMENT?: never };

/** Integers of 8 to 64 bits; each is one key. */
export type Integers = Int8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array;

/**
 * How keys are cut from bytes: the size of each key, or the offsets of their ends. n keys have n + 1 offsets;
 * key i is from offset i to offset i + 1.
 */
export type Layout = number | readonly number[] | Uint32Array | Int32Array | BigInt64Array | BigUint64Array;

/** Parameters of a spec: { memory: '64M', fpr: 0.001 }. docs/filters.md lists them. */
export type Parameters = Readonly<Record<string, string | number | bigint | undefined>>;

/** Errors of the library have a `code`, for example 'unknown-parameter'. */
export interface WeirError extends Error {
  code: string;
}

export interface Stats {
  /** Bytes of cells, at most memory=. */
  memory: number;
  /** All memory of the filter. */
  bytes: number;
  /** Keys observed: seen + new. */
  observed: number;
  seen: number;
  new: number;
  /** Share of cells in use. */
  fill: number;
  /** Current false-positive rate. */
  error: number;
  /** Keys evicted before the end of window= or span=. */
  lost: number;
  /** Keys that a full filter could not record. */
  overflow: number;
}

export class Filter {
  /** Open a filter from a spec, from parameters, or from both: new Filter('rlbsbf', { memory: '64M' }). */
  constructor(spec?: string, parameters?: Parameters);
  constructor(parameters: Parameters);

  /** Load a filter that save(), or the command weir, wrote. */
  static load(file: string | URL): Promise<Filter>;
  static loadSync(file: string | URL): Filter;
  /** Load a filter from the bytes of toBuffer(). */
  static from(bytes: Uint8Array): Filter;

  /** Report whether a key was probably observed before, then record it. */
  observe(key: Key): boolean;
  /** Report whether a key was probably observed before. */
  ask(key: Key): boolean;
  /** The same as ask(), as of a Set. */
  has(key: Key): boolean;
  /** Record a key, as of a Set. */
  add(key: Key): this;
  /**
   * Observe keys in order. Returns 1 for each key that was seen, 0 for each other. If an item is not a key, throws
   * TypeError and records nothing.
   */
  observeMany(keys: Keys | Integers): Uint8Array;
  observeMany(bytes: Uint8Array, layout: Layout): Uint8Array;
  /** Look keys up without recording them. */
  askMany(keys: Keys | Integers): Uint8Array;
  askMany(bytes: Uint8Array, layout: Layout): Uint8Array;

  /** Remove one insertion of a key. Returns whether it was there. For filters that can remove keys. */
  forget(key: Key): boolean;
  /** Set the time of a filter with span=. Earlier times are ignored. */
  advance(time: Date | number): void;
  /** Remove all keys. */
  clear(): void;
  /** Add all keys of a filter with the same spec and seed=. */
  merge(other: Filter): void;
  /** Copy the filter with its state. */
  clone(): Filter;

  /** The complete spec, which opens an equal filter. */
  readonly spec: string;
  stats(): Stats;

  /** Write the filter as it is now. The file is replaced atomically. */
  save(file: string | URL): Promise<void>;
  saveSync(file: string | URL): void;
  toBuffer(): Buffer;
  /** Free the memory now. Calls after it throw. Without it, the garbage collector frees the memory. */
  close(): void;
}

/** A stream that passes the lines which occur for the first time. */
export interface UniqueLines extends Transform {
  readonly filter: Filter;
}

/** Create the stream, with a filter of your own or with the arguments of new Filter(). */
export function uniqueLines(filter?: Filter): UniqueLines;
export function uniqueLines(spec?: string, parameters?: Parameters): UniqueLines;
export function uniqueLines(parameters: Parameters): UniqueLines;
