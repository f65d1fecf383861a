// Keys, verdicts and saved bytes are those of tests/vectors and tests/golden.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { Filter, SOURCE } = require('./support.js');

const VECTORS = path.join(SOURCE, 'tests', 'vectors');
const GOLDEN = path.join(SOURCE, 'tests', 'golden');

const rows = fs.readFileSync(path.join(VECTORS, 'keys.tsv'), 'utf8').trimEnd().split('\n').slice(1).map((line) => line.split('\t'));

function valueOf([type, value]) {
  if (type === 'int') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : BigInt(value);
  }
  const bytes = Buffer.from(value, 'hex');
  return type === 'text' ? bytes.toString() : bytes;
}

const values = rows.map(valueOf);
const seen = rows.map((row) => Number(row[5]));
const open = () => new Filter('recent', { memory: '4K', seed: 7 });

test('single calls return the verdicts of the vectors', () => {
  const filter = open();
  assert.deepEqual(values.map((value) => Number(filter.observe(value))), seen);
  assert.ok(filter.toBuffer().equals(fs.readFileSync(path.join(VECTORS, 'keys.weir'))));
  assert.ok(rows.length > 250 && seen.includes(1));
});

test('a batch returns the verdicts of the vectors', () => {
  const filter = open();
  assert.deepEqual([...filter.observeMany(values)], seen);
  assert.ok(filter.toBuffer().equals(fs.readFileSync(path.join(VECTORS, 'keys.weir'))));
});

test('bytes with offsets return the verdicts of the vectors', () => {
  const keys = rows.map((row) => Buffer.from(row[2], 'hex'));
  const offsets = [0];
  for (const key of keys) {
    offsets.push(offsets.at(-1) + key.length);
  }
  for (const layout of [offsets, Uint32Array.from(offsets), Int32Array.from(offsets), BigInt64Array.from(offsets, BigInt), BigUint64Array.from(offsets, BigInt)]) {
    const filter = open();
    assert.deepEqual([...filter.observeMany(Buffer.concat(keys), layout)], seen);
    assert.ok(filter.toBuffer().equals(fs.readFileSync(path.join(VECTORS, 'keys.weir'))));
  }
});

test('the file of the vectors contains every key', () => {
  const filter = Filter.loadSync(path.join(VECTORS, 'keys.weir'));
  assert.ok(values.every((value) => filter.ask(value)));
  assert.deepEqual(filter.askMany(values), new Uint8Array(values.length).fill(1));
});

test('golden files return the verdicts of their notes and save to the same bytes', () => {
  const numbers = BigUint64Array.from({ length: 100 }, (_, i) => (3n << 32n) | BigInt(i + 250));
  let filters = 0;
  for (const name of fs.readdirSync(GOLDEN).filter((file) => file.endsWith('.weir'))) {
    const file = fs.readFileSync(path.join(GOLDEN, name));
    if (/^(count-min|heavykeeper|screen|top)/.test(name)) {
      assert.throws(() => Filter.from(file), { code: 'wrong-kind' });
      continue;
    }
    const filter = Filter.from(file);
    const note = /\n([01]{100})\n/.exec(file.toString('latin1'))[1];
    assert.equal(filter.askMany(Buffer.from(numbers.buffer), 8).join(''), note, name);
    assert.ok(file.includes(filter.toBuffer()), name);
    filters += 1;
  }
  assert.ok(filters >= 16);
});
