// Which values are keys, in single calls and in batches.
'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Filter } = require('./support.js');

const open = () => new Filter({ memory: '64K', seed: 1 });

test('a number, a bigint, its text and its bytes are one key', () => {
  for (const value of [0, -0, 42, -42, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    const filter = open();
    assert.equal(filter.observe(value), false);
    assert.ok(filter.ask(BigInt(value)) && filter.ask(String(value)) && filter.ask(Buffer.from(String(value))));
    assert.equal(filter.stats().new, 1);
  }
});

test('text of any length is its UTF-8', () => {
  for (const text of ['', 'é', '日本語', '🎈', 'a\0b']) {
    for (const length of [1, 250, 340, 509, 510, 511, 512, 1019, 1020, 1021, 1022, 1023, 1024, 5000]) {
      const filter = open();
      const key = text.repeat(length);
      filter.observe(key);
      assert.ok(filter.ask(Buffer.from(key)), `${text} ${length}`);
      assert.deepEqual([...filter.askMany([key, `${key}x`])], [1, 0]);
    }
  }
});

test('integers larger than 64 bits are keys', () => {
  const filter = open();
  filter.observe(2n ** 200n);
  assert.ok(filter.ask((2n ** 200n).toString()) && !filter.ask(-(2n ** 200n)));
});

const wrong = [null, undefined, true, 1.5, NaN, Infinity, 2 ** 53, {}, [], () => 0, Symbol('s'), new Date(0), new Float64Array(1), new Uint16Array(1), new ArrayBuffer(8)];

test('other values are refused', () => {
  const filter = open();
  for (const value of wrong) {
    assert.throws(() => filter.observe(value), { name: 'TypeError', code: 'invalid-key' });
    assert.throws(() => filter.ask(value), { name: 'TypeError', code: 'invalid-key' });
    assert.throws(() => filter.add(value), TypeError);
  }
  assert.equal(filter.stats().observed, 0);
});

test('a batch with a wrong item records nothing', () => {
  const filter = open();
  const good = Array.from({ length: 2000 }, (_, i) => i);
  for (const value of wrong) {
    assert.throws(() => filter.observeMany([...good, value]), { name: 'TypeError', code: 'invalid-key', message: /^item 2000: / });
  }
  assert.throws(() => filter.observeMany([, 'a']), TypeError); // eslint-disable-line no-sparse-arrays
  assert.equal(filter.stats().observed, 0);
});

test('what is not a batch is refused, with the fix', () => {
  const filter = open();
  for (const keys of ['abc', 7, 7n, null, undefined, {}, new DataView(new ArrayBuffer(4)), new Float32Array(2), new Float64Array(2)]) {
    assert.throws(() => filter.observeMany(keys), { name: 'TypeError', code: 'invalid-keys' });
  }
  assert.throws(() => filter.observeMany('abc'), /put it into an array/);
  assert.throws(() => filter.observeMany(Buffer.from('abc')), /size of a key, or offsets/);
  assert.throws(() => filter.observeMany(['a'], 1), TypeError);
  assert.equal(filter.stats().observed, 0);
});

test('batches equal single calls, for every kind of batch and every filter', () => {
  for (const spec of ['recent', 'bloom', 'rlbsbf', 'counting', 'cuckoo capacity=9000']) {
    for (const n of [0, 1, 511, 512, 513, 5000]) {
      const numbers = Array.from({ length: n }, (_, i) => (i * i) % 1999);
      const one = new Filter(spec, { memory: '16K', seed: 1 });
      const expected = Uint8Array.from(numbers, (number) => Number(one.observe(number)));
      const batches = [numbers, numbers.map(String), numbers.map(BigInt), Int16Array.from(numbers), Uint16Array.from(numbers), Int32Array.from(numbers),
        Uint32Array.from(numbers), BigInt64Array.from(numbers, BigInt), BigUint64Array.from(numbers, BigInt), numbers.values()];
      for (const batch of batches) {
        const filter = new Filter(spec, { memory: '16K', seed: 1 });
        assert.deepEqual(filter.observeMany(batch), expected);
        assert.ok(filter.toBuffer().equals(one.toBuffer()));
      }
    }
  }
});

test('typed arrays of integers are their decimal texts', () => {
  const extremes = [
    [Int8Array, [-128, 127]], [Int16Array, [-32768, 32767]], [Uint16Array, [0, 65535]], [Int32Array, [-(2 ** 31), 2 ** 31 - 1]],
    [Uint32Array, [0, 2 ** 32 - 1]], [BigInt64Array, [-(2n ** 63n), 2n ** 63n - 1n]], [BigUint64Array, [0n, 2n ** 64n - 1n]],
  ];
  for (const [Type, numbers] of extremes) {
    const filter = open();
    filter.observeMany(Type.from(numbers));
    assert.deepEqual([...filter.askMany(numbers.map(String))], [1, 1], Type.name);
  }
});

test('bytes are cut by size or by offsets', () => {
  const filter = open();
  assert.deepEqual([...filter.observeMany(Buffer.from('abcdabcd'), 4)], [0, 1]);
  assert.deepEqual([...filter.askMany(Buffer.from('xxabcdyy'), [2, 6])], [1]);
  assert.deepEqual([...filter.observeMany(Buffer.from('ab'), [0, 0, 2])], [0, 0]);
  assert.ok(filter.ask('') && filter.ask('ab'));
  assert.deepEqual(filter.observeMany(Buffer.alloc(0), 4).length, 0);
  assert.deepEqual(filter.observeMany(Buffer.from('ab'), []).length, 0);
});

test('sizes and offsets outside the bytes are refused', () => {
  const filter = open();
  const bytes = Buffer.from('abcdef');
  for (const size of [0, -1, 4, 7, 1.5, NaN, Infinity, 2 ** 60]) {
    assert.throws(() => filter.observeMany(bytes, size), { code: 'invalid-size' });
  }
  for (const offsets of [[0, 7], [-1, 3], [3, 2], [0, 3, 2], [2 ** 40, 2 ** 41]]) {
    assert.throws(() => filter.observeMany(bytes, offsets), { code: 'invalid-offsets' });
  }
  assert.throws(() => filter.observeMany(bytes, BigInt64Array.of(-(2n ** 63n), -1n)), { code: 'invalid-offsets' });
  assert.throws(() => filter.observeMany(bytes, [0, 1.5]), RangeError);
  assert.throws(() => filter.observeMany(bytes, new Float64Array([0, 2])), TypeError);
  assert.equal(filter.stats().observed, 0);
});

test('a getter that closes the filter cannot crash a batch', () => {
  const filter = open();
  const keys = ['a', 'b', 'c'];
  let reads = 0;
  Object.defineProperty(keys, 1, { get: () => (++reads > 1 ? (filter.close(), 'b') : 'b') });
  assert.throws(() => filter.observeMany(keys), /closed/);
});
