// The Node package: class Filter, and a stream that drops repeated lines. index.d.ts documents the calls.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Transform } = require('node:stream');
const { fileURLToPath } = require('node:url');
const { inspect, types } = require('node:util');

const LF = 10;
const CR = 13;
const STATS = ['memory', 'bytes', 'observed', 'seen', 'new', 'fill', 'error', 'lost', 'overflow'];

function loadAddon() {
  try {
    return require('./weir.node');
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') {
      error.message = `${path.join(__dirname, 'weir.node')} does not exist; run 'npm run build' in bindings/node`;
    }
    throw error;
  }
}

const native = loadAddon();

function fail(code, text, Class = TypeError) {
  return Object.assign(new Class(text), { code });
}

// Arguments that are not from outside: saved bytes, or a filter to copy.
class Source {
  constructor(value) {
    this.value = value;
  }
}

// 'recent', { memory: '64M' } is 'recent memory=64M'.
function specOf(spec = '', parameters = {}) {
  if (typeof spec === 'object' && spec !== null) {
    [spec, parameters] = ['', spec];
  }
  if (typeof spec !== 'string' || typeof parameters !== 'object' || parameters === null || Array.isArray(parameters)) {
    throw fail('invalid-argument', "expected a spec and parameters: 'recent', { memory: '64M' }");
  }
  const words = [spec];
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) {
      continue;
    }
    if (!['string', 'number', 'bigint'].includes(typeof value) || !/^[^\s=]+$/.test(String(value))) {
      throw fail('invalid-argument', `${name}: invalid value ${inspect(value)}; use a number or a text such as '64M'`);
    }
    words.push(`${name}=${value}`);
  }
  return words.join(' ');
}

function pathOf(file) {
  const name = file instanceof URL ? fileURLToPath(file) : file;
  if (typeof name !== 'string' || name.length === 0 || name.includes('\0')) {
    throw fail('invalid-argument', `${inspect(file)}: invalid path; use a string or a file: URL`);
  }
  return name;
}

function isKey(key) {
  const type = typeof key;
  if (type === 'number') {
    return Number.isSafeInteger(key);
  }
  return type === 'string' || type === 'bigint' || types.isUint8Array(key);
}

// The keys of a batch, checked before any of them is recorded.
function batchOf(keys) {
  if (types.isInt8Array(keys) || types.isInt16Array(keys) || types.isUint16Array(keys)) {
    return Int32Array.from(keys);
  }
  if (ArrayBuffer.isView(keys)) {
    return keys;
  }
  if (typeof keys !== 'object' || typeof keys?.[Symbol.iterator] !== 'function') {
    const fix = isKey(keys) ? 'this is one key; use observe() or ask(), or put it into an array' : 'use an array of keys';
    throw fail('invalid-keys', `${inspect(keys)}: not a batch; ${fix}`);
  }
  const batch = Array.isArray(keys) ? keys : Array.from(keys);
  for (let i = 0; i < batch.length; i++) {
    if (!isKey(batch[i])) {
      const fix = batch[i] === null || batch[i] === undefined ? 'drop missing values' : 'use a string, an integer, a bigint or a Uint8Array';
      throw fail('invalid-key', `item ${i}: ${inspect(batch[i])} is not a key; ${fix}`);
    }
  }
  return batch;
}

function layoutOf(layout) {
  return Array.isArray(layout) ? BigInt64Array.from(layout, BigInt) : layout;
}

let written = 0;

// Replace a file: after a crash it has the old or the new content.
async function replaceFile(name, data) {
  const target = await fs.promises.realpath(name).catch(() => name);
  const old = await fs.promises.stat(target).catch(() => null);
  if (old && !old.isFile()) {
    return fs.promises.writeFile(target, data);
  }
  const temporary = `${target}.weir-${process.pid}-${++written}`;
  const file = await fs.promises.open(temporary, 'wx');
  try {
    if (old) {
      await file.chmod(old.mode & 0o7777);
    }
    await file.writeFile(data);
    await file.sync();
    await file.close();
    await fs.promises.rename(temporary, target);
  } catch (error) {
    await file.close().catch(() => {});
    await fs.promises.unlink(temporary).catch(() => {});
    throw error;
  }
}

class Filter extends native.Filter {
  #saving = Promise.resolve();

  constructor(spec, parameters) {
    super(spec instanceof Source ? spec.value : specOf(spec, parameters));
  }

  static from(bytes) {
    if (!types.isUint8Array(bytes)) {
      throw fail('invalid-argument', `${inspect(bytes)}: expected the bytes of a saved filter; load() reads a file`);
    }
    return new this(new Source(bytes));
  }

  static async load(file) {
    return this.from(await fs.promises.readFile(pathOf(file)));
  }

  static loadSync(file) {
    return this.from(fs.readFileSync(pathOf(file)));
  }

  add(key) {
    this.observe(key);
    return this;
  }

  observeMany(keys, layout) {
    return this.observeBatch(batchOf(keys), layoutOf(layout), false);
  }

  askMany(keys, layout) {
    return this.askBatch(batchOf(keys), layoutOf(layout), false);
  }

  get spec() {
    return this.config();
  }

  stats() {
    const numbers = this.numbers();
    return Object.fromEntries(STATS.map((name, i) => [name, numbers[i]]));
  }

  advance(time) {
    const milliseconds = Math.floor(time instanceof Date ? time.getTime() : Number(time));
    if (!Number.isSafeInteger(milliseconds) || milliseconds < 0) {
      throw fail('invalid-argument', `${inspect(time)}: invalid time; use a Date, or milliseconds since 1970`);
    }
    this.advanceTo(milliseconds);
  }

  merge(other) {
    if (!(other instanceof Filter)) {
      throw fail('invalid-argument', `${inspect(other)}: expected a Filter`);
    }
    super.merge(other);
  }

  clone() {
    return new this.constructor(new Source(this));
  }

  // Files are written in the order of the calls.
  async save(file) {
    const [name, data, before] = [pathOf(file), this.toBuffer(), this.#saving];
    this.#saving = before.catch(() => {}).then(() => replaceFile(name, data));
    return this.#saving;
  }

  saveSync(file) {
    this.saveTo(pathOf(file));
  }
}

Object.defineProperty(Filter.prototype, inspect.custom, {
  value() {
    let spec = 'closed';
    try {
      spec = this.spec;
    } catch {
      // closed, or the prototype itself
    }
    return `${this.constructor.name} <${spec}>`;
  },
});
if (Symbol.dispose) {
  Filter.prototype[Symbol.dispose] = Filter.prototype.close;
}

class UniqueLines extends Transform {
  #start = []; // of a line whose end has not arrived

  constructor(filter) {
    super();
    this.filter = filter;
  }

  _transform(chunk, encoding, callback) {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end === 0) {
      this.#start.push(chunk);
      callback();
      return;
    }
    const head = chunk.subarray(0, end);
    const lines = this.#start.length > 0 ? Buffer.concat([...this.#start, head]) : head;
    this.#start = end < chunk.length ? [chunk.subarray(end)] : [];
    this.#pass(lines, callback);
  }

  _flush(callback) {
    if (this.#start.length === 0) {
      callback();
      return;
    }
    this.#pass(Buffer.concat([...this.#start, Buffer.from('\n')]), callback);
  }

  #pass(lines, callback) {
    let passed;
    try {
      passed = uniqueOf(this.filter, lines);
    } catch (error) {
      callback(error);
      return;
    }
    callback(null, passed.length > 0 ? passed : undefined);
  }
}

// The lines that are new. As for the command, the key of a line is without LF or CR LF.
function uniqueOf(filter, lines) {
  const ranges = [];
  for (let from = 0; from < lines.length;) {
    const feed = lines.indexOf(LF, from);
    ranges.push(from, feed > from && lines[feed - 1] === CR ? feed - 1 : feed);
    from = feed + 1;
  }
  const seen = filter.observeBatch(lines, Uint32Array.from(ranges), true);
  if (!seen.includes(1)) {
    return lines;
  }
  const out = Buffer.allocUnsafe(lines.length);
  let used = 0;
  for (let i = 0; i < seen.length; i++) {
    const from = ranges[2 * i];
    if (!seen[i]) {
      while (i + 1 < seen.length && !seen[i + 1]) {
        i++;
      }
      used += lines.copy(out, used, from, i + 1 < seen.length ? ranges[2 * i + 2] : lines.length);
    }
  }
  return out.subarray(0, used);
}

function uniqueLines(spec, parameters) {
  return new UniqueLines(spec instanceof Filter ? spec : new Filter(spec, parameters));
}

module.exports = { Filter, uniqueLines };
