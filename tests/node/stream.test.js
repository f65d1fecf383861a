// uniqueLines() passes the lines that the command passes.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { test } = require('node:test');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Filter, uniqueLines } = require('./support.js');

async function linesOf(chunks, stream) {
  const out = [];
  await pipeline(Readable.from(chunks, { objectMode: true }), stream, async (source) => {
    for await (const chunk of source) {
      out.push(chunk);
    }
  });
  return Buffer.concat(out);
}

function cut(bytes, size) {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += size) {
    chunks.push(bytes.subarray(at, at + size));
  }
  return chunks;
}

// The expected output: keys are lines without LF or CR LF, and the output ends in LF.
function expectedOf(text) {
  const seen = new Set();
  return (text.endsWith('\n') || text === '' ? text : `${text}\n`).split(/(?<=\n)/).filter((line) => {
    const key = line.replace(/\r?\n$/, '');
    return line !== '' && !seen.has(key) && seen.add(key);
  }).join('');
}

const texts = ['', '\n', '\n\n', 'a', 'a\na', 'a\r\nb\na\nb\r', 'a\r\r\na\r\na\n', '\r\n\n\r', 'é\nß\né\n', 'a\n\nb\n\n'];

test('lines pass once, however they are cut into chunks', async () => {
  const rows = Array.from({ length: 3000 }, (_, i) => `line ${(i * i) % 997}${i % 3 ? '\n' : '\r\n'}`).join('');
  for (const text of [...texts, rows]) {
    for (const size of text.length > 100 ? [7, 1000, 65536] : [1, 2, 3, 100]) {
      const out = await linesOf(cut(Buffer.from(text), size), uniqueLines({ memory: '64K', seed: 1 }));
      assert.equal(out.toString(), expectedOf(text), JSON.stringify([text.slice(0, 30), size]));
    }
  }
});

test('the command passes the same lines', { skip: !process.env.WEIR }, async () => {
  for (const text of texts.filter((each) => each !== '')) {
    const out = await linesOf([Buffer.from(text)], uniqueLines({ memory: '64K', seed: 1 }));
    const expected = execFileSync(process.env.WEIR, ['dedup', '-q', '-m', '64K', '--seed', '1'], { input: text });
    assert.equal(out.toString(), expected.toString(), JSON.stringify(text));
  }
});

test('bytes that are not text pass unchanged', async () => {
  const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 31) % 256));
  const out = await linesOf(cut(bytes, 777), uniqueLines({ memory: '64K', seed: 1 }));
  assert.equal(out.toString('latin1'), expectedOf(bytes.toString('latin1')));
});

test('a filter of the caller is used and kept', async () => {
  const filter = new Filter({ memory: '64K', seed: 1 });
  filter.add('b');
  const stream = uniqueLines(filter);
  assert.equal(stream.filter, filter);
  assert.equal((await linesOf(['a\nb\n', 'c\n'], stream)).toString(), 'a\nc\n');
  assert.ok(filter.has('c'));
});

test('a long line is one key', async () => {
  const line = `${'x'.repeat(300000)}\n`;
  const out = await linesOf(cut(Buffer.from(line + line), 4096), uniqueLines({ memory: '64K' }));
  assert.equal(out.toString(), line);
});

test('a failure ends the stream with an error', async () => {
  const filter = new Filter({ memory: '64K' });
  filter.close();
  await assert.rejects(linesOf(['a\n'], uniqueLines(filter)), { code: 'closed' });
  assert.throws(() => uniqueLines({ memory: '12Q' }), { code: 'invalid-value' });
});
