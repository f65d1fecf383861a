// What the tests share: the package that WEIR_NODE names, and paths. Without it, that of `npm run build`.
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const SOURCE = path.join(__dirname, '..', '..');
const PACKAGE = process.env.WEIR_NODE ?? path.join(SOURCE, 'bindings', 'node');

// A directory for one test, removed after it.
function folderOf(test) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'weir-node-'));
  test.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

module.exports = { ...require(PACKAGE), SOURCE, PACKAGE, folderOf };
