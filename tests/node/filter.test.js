// Construction, saved files, time, errors, and the life of a filter.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { test } = require('node:test');
const { setImmediate } = require('node:timers/promises');
const { inspect } = require('node:util');
const { Worker } = require('node:worker_threads');
const { Filter, PACKAGE, SOURCE, folderOf } = require('./support.js');

test('a filter is opened from a spec, from parameters, or from both', () => {
  const expected = new Filter('rlbsbf memory=64K seed=1').spec;
  assert.equal(new Filter('rlbsbf', { memory: '64K', seed: 1 }).spec, expected);
  assert.equal(new Filter('rlbsbf seed=1', { memory: 65536, fpr: undefined }).spec, expected);
  assert.match(new Filter({ memory: '64K', seed: 2n ** 64n - 1n }).spec, /^recent memory=65536 .*seed=18446744073709551615/);
  assert.match(new Filter().spec, /^recent /);
});

test('invalid specs have the code of the library', () => {
  assert.throws(() => new Filter('blom'), { code: 'unknown-algorithm', message: /no filter 'blom'/ });
  assert.throws(() => new Filter({ memory: '12Q' }), { code: 'invalid-value' });
  assert.throws(() => new Filter({ memroy: '1M' }), { code: 'unknown-parameter' });
  assert.throws(() => new Filter('x'.repeat(100000)), { code: 'unknown-algorithm' });
  for (const value of [null, {}, [], true, '', '1M fpr=1%', 'a=b']) {
    assert.throws(() => new Filter({ memory: value }), { name: 'TypeError', code: 'invalid-argument' });
  }
  for (const spec of [5, null, true, Symbol('s')]) {
    assert.throws(() => new Filter(spec), TypeError);
  }
  assert.throws(() => Filter('recent'), TypeError);
});

test('a filter works like a Set of keys', () => {
  const filter = new Filter({ memory: '64K', seed: 1 });
  assert.equal(filter.add('a').add('b'), filter);
  assert.ok(filter.has('a') && filter.has('b') && !filter.has('c'));
  filter.clear();
  assert.ok(!filter.has('a'));
});

test('saved files load again, by path and by URL', async (t) => {
  const file = path.join(folderOf(t), 'größe.weir');
  const filter = new Filter({ memory: '64K', seed: 1 });
  filter.add('a');
  const saved = filter.save(file);
  filter.add('b'); // after the call, so not in the file
  await saved;
  for (const loaded of [await Filter.load(file), Filter.loadSync(pathToFileURL(file)), Filter.from(fs.readFileSync(file))]) {
    assert.deepEqual([loaded.has('a'), loaded.has('b'), loaded.spec], [true, false, filter.spec]);
  }
  filter.saveSync(file);
  assert.ok(Filter.loadSync(file).has('b'));
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ['größe.weir']);
});

test('files of the same path are written in the order of the calls', async (t) => {
  const file = path.join(folderOf(t), 'f.weir');
  const filter = new Filter({ memory: '1M', seed: 1 });
  const saves = [];
  for (let i = 0; i < 20; i++) {
    filter.add(i);
    saves.push(filter.save(file));
  }
  await Promise.all(saves);
  assert.equal((await Filter.load(file)).stats().observed, 20);
});

test('saving keeps the mode of the file and follows links', async (t) => {
  const folder = folderOf(t);
  const [file, link] = [path.join(folder, 'f.weir'), path.join(folder, 'link')];
  fs.writeFileSync(file, '');
  fs.chmodSync(file, 0o640);
  fs.symlinkSync(file, link);
  await new Filter({ memory: '4K' }).save(link);
  assert.ok(fs.lstatSync(link).isSymbolicLink());
  assert.equal(fs.statSync(file).mode & 0o777, 0o640);
  assert.ok(fs.statSync(file).size > 4096);
});

test('failures to save and load name the file', async (t) => {
  const folder = folderOf(t);
  const filter = new Filter({ memory: '4K' });
  await assert.rejects(filter.save(path.join(folder, 'no', 'f')), { code: 'ENOENT' });
  assert.throws(() => filter.saveSync(path.join(folder, 'no', 'f')), { code: 'write-failed', message: /no\/f/ });
  await assert.rejects(Filter.load(path.join(folder, 'none')), { code: 'ENOENT' });
  for (const file of ['', 'a\0b', 5, null, undefined]) {
    assert.throws(() => Filter.loadSync(file), { code: 'invalid-argument' });
    await assert.rejects(filter.save(file), { code: 'invalid-argument' });
  }
  await filter.save(path.join(folder, 'f')); // after a failure
});

test('damaged bytes are refused', () => {
  const saved = new Filter({ memory: '4K', seed: 1 }).toBuffer();
  assert.throws(() => Filter.from(Buffer.alloc(0)), { code: 'not-weir' });
  assert.throws(() => Filter.from(Buffer.from('not a filter')), { code: 'not-weir' });
  assert.throws(() => Filter.from(saved.subarray(0, 2000)), { code: 'truncated' });
  for (const at of [0, 5, 20, 40, 100, saved.length - 1]) {
    const damaged = Buffer.from(saved);
    damaged[at] ^= 1;
    assert.throws(() => Filter.from(damaged), Error, `byte ${at}`);
  }
  assert.throws(() => Filter.from('text'), { code: 'invalid-argument' });
});

test('a fixed set can be asked but not changed', () => {
  const filter = Filter.loadSync(path.join(SOURCE, 'tests', 'golden', 'fuse.weir'));
  filter.ask('a');
  for (const change of [() => filter.observe('a'), () => filter.observeMany(['a']), () => filter.clear(), () => filter.forget('a')]) {
    assert.throws(change, { code: 'unsupported' });
  }
});

test('clone, merge, forget', () => {
  const filter = new Filter('counting', { memory: '64K', seed: 1 });
  filter.add('a');
  const copy = filter.clone();
  copy.add('b');
  assert.ok(!filter.has('b'));
  filter.merge(copy);
  assert.ok(filter.has('b'));
  assert.deepEqual([filter.forget('b'), filter.forget('c'), filter.has('b')], [true, false, false]);
  assert.throws(() => new Filter({ memory: '4K' }).forget('a'), { code: 'unsupported' });
  assert.throws(() => filter.merge(new Filter('counting', { memory: '64K', seed: 2 })), { code: 'seed-mismatch' });
  for (const other of [{}, null, undefined, 'a', Object.create(Filter.prototype)]) {
    assert.throws(() => filter.merge(other), { code: 'invalid-argument' });
  }
});

test('keys expire with span=', () => {
  const filter = new Filter({ memory: '64K', span: '10s', seed: 1 });
  filter.advance(new Date(1700000000000));
  const first = filter.observe('a');
  filter.advance(1700000005000);
  const second = filter.observe('a');
  filter.advance(1700000060000.5);
  assert.deepEqual([first, second, filter.has('a')], [false, true, false]);
  for (const time of [NaN, -1, Infinity, undefined, 'now', new Date(NaN)]) {
    assert.throws(() => filter.advance(time), { code: 'invalid-argument' });
  }
});

test('calls on a closed filter throw', async () => {
  const filter = new Filter({ memory: '4K' });
  filter.close();
  filter.close();
  const calls = [() => filter.observe('a'), () => filter.has('a'), () => filter.observeMany([]), () => filter.stats(), () => filter.spec,
    () => filter.toBuffer(), () => filter.clear(), () => filter.advance(1), () => filter.saveSync('f')];
  for (const call of calls) {
    assert.throws(call, { code: 'closed' });
  }
  assert.throws(() => filter.clone(), Error);
  assert.throws(() => new Filter({ memory: '4K' }).merge(filter), { code: 'invalid-argument' });
  await assert.rejects(filter.save('f'), { code: 'closed' });
});

test('methods on other objects throw', () => {
  const { observe, observeMany, close } = Filter.prototype;
  for (const self of [{}, undefined, Object.create(Filter.prototype), new Map()]) {
    assert.throws(() => observe.call(self, 'a'), TypeError);
    assert.throws(() => observeMany.call(self, ['a']), TypeError);
    assert.throws(() => close.call(self), TypeError);
  }
});

test('a class can extend Filter', () => {
  class Counting extends Filter {
    twice(key) {
      return this.observe(key) || this.observe(key);
    }
  }
  assert.ok(new Counting({ memory: '4K' }).twice('a'));
  const loaded = Counting.from(new Filter({ memory: '4K' }).toBuffer());
  assert.ok(loaded instanceof Counting && loaded.clone() instanceof Counting);
});

test('a filter is printed with its spec', () => {
  const filter = new Filter('rlbsbf', { memory: '4K', seed: 1 });
  assert.equal(inspect(filter), 'Filter <rlbsbf memory=4096 k=2 hash=xxh3 seed=1>');
  filter.close();
  assert.equal(inspect(filter), 'Filter <closed>');
  assert.equal(inspect(Object.create(Filter.prototype)), 'Filter <closed>');
});

test('files of the command load, unless its keys were changed', { skip: !process.env.WEIR }, (t) => {
  const file = path.join(folderOf(t), 'f.weir');
  const run = (...words) => {
    fs.rmSync(file, { force: true });
    execFileSync(process.env.WEIR, ['dedup', '-q', '--state', file, ...words], { input: 'a\nb\n' });
  };
  run();
  assert.deepEqual([...Filter.loadSync(file).askMany(['a', 'b', 'c'])], [1, 1, 0]);
  run('--ignore-case');
  assert.throws(() => Filter.loadSync(file), { code: 'mismatch', message: /made with --ignore-case/ });
  run('-j', '4');
  assert.throws(() => Filter.loadSync(file), { code: 'one-shard' });
});

test('statistics count keys', () => {
  const filter = new Filter('bloom', { memory: '64K', seed: 1 });
  filter.observeMany(['a', 'b', 'a']);
  const { memory, observed, seen, new: fresh, fill, error } = filter.stats();
  assert.deepEqual([memory, observed, seen, fresh], [65536, 3, 1, 2]);
  assert.ok(fill > 0 && fill < 0.01 && error >= 0 && error < 0.01);
});

test('unused filters are freed', async () => {
  const before = process.memoryUsage().rss;
  const keys = Int32Array.from({ length: 3000 }, (_, i) => i);
  for (let i = 0; i < 2000; i++) {
    new Filter({ memory: '1M', seed: 1 }).observeMany(keys); // touches all pages
    await setImmediate(); // when Node runs finalizers
  }
  assert.ok(process.memoryUsage().rss - before < 1e9); // 2 GB if none was freed
});

test('worker threads load the addon and end', async () => {
  const code = `const { Filter } = require(${JSON.stringify(PACKAGE)}); const { parentPort } = require('node:worker_threads');
    const filter = new Filter({ memory: '64K', seed: 1 }); parentPort.postMessage([filter.observe('a'), filter.observe('a')]);`;
  const answers = await Promise.all(Array.from({ length: 4 }, () => new Promise((resolve, reject) => {
    const worker = new Worker(code, { eval: true });
    let answer;
    worker.on('message', (message) => { answer = message; }).on('error', reject).on('exit', () => resolve(answer));
  })));
  assert.deepEqual(answers, Array(4).fill([false, true]));
});

test('the version is that of the library', () => {
  const header = fs.readFileSync(path.join(SOURCE, 'include', 'weir', 'version.h'), 'utf8');
  const about = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'));
  assert.equal(about.version, /^#define WEIR_VERSION "(.*)"$/m.exec(header)[1]);
});
