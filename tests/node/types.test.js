// The types accept the documented calls and refuse wrong ones, with `tsc --strict` of Debian's node-typescript.
'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { Filter, PACKAGE, folderOf } = require('./support.js');

const hasTsc = spawnSync('tsc', ['--version']).status === 0;

// What index.d.ts uses of @types/node.
const NODE = `
declare module 'node:stream' { export class Transform { pipe<T>(to: T): T; } }
interface Buffer extends Uint8Array { readonly isBuffer: true; }
declare const Buffer: { from(text: string): Buffer };
declare class URL { constructor(text: string); }
declare const console: { log(value: unknown): void };
`;

const PROGRAM = `
import { Filter, Stats, UniqueLines, WeirError, uniqueLines } from 'weir-filters';

const filter: Filter = new Filter({ memory: '64M', fpr: 0.001, seed: 1n });
new Filter(); new Filter('recent'); new Filter('rlbsbf', { memory: 65536 });
const one: boolean[] = [filter.observe('a'), filter.observe(1), filter.observe(1n), filter.ask(Buffer.from('a')), filter.has('a'), filter.forget('a')];
const many: Uint8Array[] = [filter.observeMany(['a', 1, 2n, Buffer.from('b')]), filter.observeMany(new Set(['a'])), filter.askMany(new BigUint64Array(2)),
  filter.observeMany(new Int8Array(2)), filter.observeMany(Buffer.from('abcd'), 2), filter.askMany(Buffer.from('abcd'), [0, 4]),
  filter.observeMany(Buffer.from('abcd'), new Uint32Array([0, 4])), filter.observeMany(['a', 'b'].values())];
const stats: Stats = filter.add('a').stats();
const files: Promise<void | Filter>[] = [filter.save('f'), Filter.load(new URL('file:///f'))];
const saved: Buffer = filter.toBuffer();
const others: Filter[] = [Filter.from(saved), Filter.loadSync('f'), filter.clone()];
filter.merge(others[0]!); filter.advance(new Date()); filter.advance(5); filter.clear(); filter.saveSync('f'); filter.close();
const stream: UniqueLines = uniqueLines({ memory: '64M' });
uniqueLines(filter); uniqueLines('recent', { memory: '1M' }); uniqueLines();
const spec: string = stream.filter.spec, fresh: number = stats.new;
try { new Filter('blom'); } catch (error) { console.log((error as WeirError).code.length); }

// @ts-expect-error: a string is one key
filter.observeMany('abc');
// @ts-expect-error: bytes need a size or offsets
filter.observeMany(Buffer.from('abc'));
// @ts-expect-error: fractions are not keys
filter.observeMany(new Float64Array(2));
// @ts-expect-error: a size is for bytes
filter.observeMany(['a'], 2);
// @ts-expect-error: a missing key
filter.observe(null);
// @ts-expect-error: a missing key in a batch
filter.observeMany(['a', undefined]);
// @ts-expect-error: an object is not a key
filter.ask({});
// @ts-expect-error: a parameter has one value
new Filter({ memory: ['1M'] });
// @ts-expect-error: the spec cannot be assigned
filter.spec = 'x';
export { one, many, files, saved, spec, fresh };
`;

test('tsc --strict accepts right calls and refuses wrong ones', { skip: !hasTsc && 'tsc is missing' }, (t) => {
  const folder = folderOf(t);
  fs.mkdirSync(path.join(folder, 'types', 'node'), { recursive: true });
  fs.mkdirSync(path.join(folder, 'node_modules'));
  fs.symlinkSync(path.resolve(PACKAGE), path.join(folder, 'node_modules', 'weir-filters'));
  fs.writeFileSync(path.join(folder, 'types', 'node', 'index.d.ts'), NODE);
  fs.writeFileSync(path.join(folder, 'program.ts'), PROGRAM);
  const options = ['--strict', '--noEmit', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2022', '--module', 'node16',
    '--moduleResolution', 'node16', '--preserveSymlinks', '--lib', 'es2022', '--typeRoots', 'types', '--types', 'node', 'program.ts'];
  const done = spawnSync('tsc', options, { cwd: folder, encoding: 'utf8' });
  assert.equal(done.stdout + done.stderr, '');
});

test('every public method has a type, and every typed method exists', () => {
  const typed = new Set([...fs.readFileSync(path.join(PACKAGE, 'index.d.ts'), 'utf8').split('export class Filter')[1].split('\n}')[0]
    .matchAll(/^ {2}(?:static |readonly )?(\w+)[(:]/gm)].map((match) => match[1]));
  const internal = ['observeBatch', 'askBatch', 'advanceTo', 'config', 'numbers', 'saveTo'];
  const parent = Object.getPrototypeOf(Filter);
  const found = [Filter, Filter.prototype, parent.prototype].flatMap(Object.getOwnPropertyNames)
    .filter((name) => !['length', 'name', 'prototype', ...internal].includes(name));
  assert.deepEqual([...typed].sort(), [...new Set(found)].sort());
});
