// The package is built by `npm run build`, packed by `npm pack`, and installed from the result, offline.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { SOURCE, folderOf } = require('./support.js');

const hasNpm = spawnSync('npm', ['--version']).status === 0;

test('the built package installs and runs', { skip: !hasNpm && 'npm is missing' }, (t) => {
  const folder = folderOf(t);
  const inTree = path.join(folder, 'bindings', 'node');
  for (const part of ['include', 'lib', 'bindings/node']) {
    fs.cpSync(path.join(SOURCE, part), path.join(folder, part), { recursive: true });
  }
  fs.rmSync(path.join(inTree, 'weir.node'), { force: true });
  const missing = spawnSync('node', ['-e', 'require(".")'], { cwd: inTree, encoding: 'utf8' });
  assert.match(missing.stderr, /run 'npm run build' in bindings\/node/);
  assert.notEqual(spawnSync('npm', ['pack', '--offline'], { cwd: inTree }).status, 0);

  execFileSync('npm', ['run', 'build', '--offline'], { cwd: inTree });
  const needed = execFileSync('readelf', ['-dW', path.join(inTree, 'weir.node')], { encoding: 'utf8' });
  assert.deepEqual([...needed.matchAll(/NEEDED.*\[(.*?)\]/g)].map((match) => match[1]).filter((name) => !/^lib(c|m)\.so\.6$|^ld-linux/.test(name)), []);

  const project = path.join(folder, 'project');
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'package.json'), '{}');
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', project], { cwd: inTree, encoding: 'utf8' }).trim();
  for (const source of [inTree, path.join(project, packed)]) {
    execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', source], { cwd: project });
    const program = "import { Filter } from 'weir-filters'; const f = new Filter({ memory: '64K' }); console.log(f.observe('a'), f.observe('a'));";
    const done = spawnSync('node', ['--input-type=module', '-e', program], { cwd: project, encoding: 'utf8' });
    assert.equal(done.stdout, 'false true\n', done.stderr);
  }
});
