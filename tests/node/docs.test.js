// The examples of docs/node.md print what the page shows, in order, in one fresh directory.
'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { Filter, PACKAGE, SOURCE, folderOf } = require('./support.js');

const page = fs.readFileSync(path.join(SOURCE, 'docs', 'node.md'), 'utf8');

test('examples print what the page shows', (t) => {
  const folder = folderOf(t);
  fs.mkdirSync(path.join(folder, 'node_modules'));
  fs.symlinkSync(path.resolve(PACKAGE), path.join(folder, 'node_modules', 'weir-filters'));
  const examples = [...page.matchAll(/^```js\n(.*?)^```\n```\n(.*?)^```/gms)];
  assert.equal(examples.length, page.match(/^```js/gm).length);
  assert.ok(examples.length >= 8);
  for (const [, program, output] of examples) {
    fs.writeFileSync(path.join(folder, 'example.mjs'), program);
    const done = spawnSync(process.execPath, ['example.mjs'], { cwd: folder, encoding: 'utf8' });
    assert.deepEqual([done.status, done.stderr, done.stdout], [0, '', output], program);
  }
});

test('calls on the page exist', () => {
  const names = [...page.matchAll(/`(?:Filter\.)?(\w+)\([^`]*\)`/g)].map((match) => match[1]).filter((name) => !['String', 'uniqueLines'].includes(name));
  assert.ok(names.length > 20);
  for (const name of names) {
    assert.ok(name in Filter.prototype || name in Filter, name);
  }
});
