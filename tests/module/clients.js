// What Debian's node-redis makes of the replies: run with the port, prints what is wrong.
const assert = require('assert');
const { createClient } = require('redis');

async function bloom(client) {
  assert.equal(await client.bf.reserve('bf', 0.01, 100, { EXPANSION: 2 }), 'OK');
  assert.equal(await client.bf.add('bf', 'item'), true);
  assert.equal(await client.bf.add('bf', 'item'), false);
  assert.deepEqual(await client.bf.mAdd('bf', ['1', '2', 'item']), [true, true, false]);
  assert.equal(await client.bf.exists('bf', 'item'), true);
  assert.deepEqual(await client.bf.mExists('bf', ['1', '3']), [true, false]);
  assert.deepEqual(await client.bf.insert('bf2', ['1', '2'], { CAPACITY: 10, ERROR: 0.1, EXPANSION: 4 }), [true, true]);
  const info = await client.bf.info('bf');
  assert.deepEqual({ ...info, size: 0 }, { capacity: 100, size: 0, numberOfFilters: 1, numberOfInsertedItems: 3, expansionRate: 2 });
  const chunks = [];
  for (let iterator = 0; ;) {
    const { iterator: next, chunk } = await client.bf.scanDump('bf', iterator);
    if (next === 0) break;
    chunks.push(next);
    iterator = next;
  }
  assert.equal(chunks.length, 2);
}

async function cuckoo(client) {
  assert.equal(await client.cf.reserve('cf', 4, { EXPANSION: 2 }), 'OK');
  assert.equal(await client.cf.add('cf', 'item'), true);
  assert.equal(await client.cf.addNX('cf', 'item'), false);
  assert.equal(await client.cf.count('cf', 'item'), 1);
  assert.deepEqual(await client.cf.insert('cf', ['a', 'b']), [true, true]);
  assert.deepEqual(await client.cf.insertNX('cf', ['a', 'c']), [false, true]);
  assert.equal(await client.cf.exists('cf', 'b'), true);
  assert.equal(await client.cf.del('cf', 'b'), true);
  const info = await client.cf.info('cf');
  assert.equal(info.numberOfInsertedItems, 3);
  assert.equal(info.bucketSize, 2);
  await client.cf.reserve('empty', 4);
  assert.deepEqual(await client.cf.scanDump('empty', 0), { iterator: 0, chunk: null });
  assert.equal(info.numberOfDeletedItems, 1);
}

async function counts(client) {
  assert.equal(await client.cms.initByDim('cms', 1000, 5), 'OK');
  assert.equal(await client.cms.initByProb('cms2', 0.001, 0.01), 'OK');
  assert.deepEqual(await client.cms.incrBy('cms', [{ item: 'foo', incrementBy: 5 }, { item: 'bar', incrementBy: 3 }]), [5, 3]);
  assert.deepEqual(await client.cms.query('cms', ['foo', 'bar', 'none']), [5, 3, 0]);
  assert.equal(await client.cms.initByDim('sum', 1000, 5), 'OK');
  assert.equal(await client.cms.merge('sum', [{ name: 'cms', weight: 2 }]), 'OK');
  assert.deepEqual(await client.cms.info('sum'), { width: 1000, depth: 5, count: 16 });
}

async function top(client) {
  assert.equal(await client.topK.reserve('topk', 3, { width: 50, depth: 4, decay: 0.9 }), 'OK');
  assert.deepEqual(await client.topK.add('topk', ['a', 'b', 'a']), [null, null, null]);
  assert.deepEqual(await client.topK.incrBy('topk', { item: 'c', incrementBy: 10 }), [null]);
  assert.deepEqual(await client.topK.query('topk', ['a', 'z']), [true, false]);
  assert.deepEqual(await client.topK.count('topk', ['a', 'c', 'z']), [2, 10, 0]);
  assert.deepEqual(await client.topK.list('topk'), ['c', 'a', 'b']);
  assert.deepEqual(await client.topK.listWithCount('topk'), [{ item: 'c', count: 10 }, { item: 'a', count: 2 }, { item: 'b', count: 1 }]);
  assert.deepEqual(await client.topK.info('topk'), { k: 3, width: 50, depth: 4, decay: 0.9 });
}

async function ours(client) {
  assert.equal(await client.sendCommand(['WEIR.CREATE', 'w', 'recent memory=64K']), 'OK');
  assert.deepEqual(await client.sendCommand(['WEIR.OBSERVE', 'w', 'a', 'b', 'a']), [0, 0, 1]);
  assert.deepEqual(await client.sendCommand(['WEIR.ASK', 'w', 'a', 'c']), [1, 0]);
}

(async () => {
  const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}` });
  await client.connect();
  for (const family of [bloom, cuckoo, counts, top, ours]) await family(client);
  await client.disconnect();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
