// Compiles weir.node: the addon and the library in one file. Needs a C compiler, pkg-config, libxxhash-dev and libsodium-dev.
//
//     node build.js [TARGET]
//
// The headers of Node-API are those of this node, of libnode-dev, or of node-api-headers, which npm fetches into build/ if
// the others are missing. libxxhash and libsodium are linked statically if possible, so weir.node needs only glibc.
'use strict';

const { execFile, execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');

const ROOT = path.join(__dirname, '..', '..');
const FETCHED = path.join(ROOT, 'build', 'node_modules', 'node-api-headers', 'include');
const FLAGS = ['-O3', '-fPIC', '-fvisibility=hidden', '-std=gnu11', '-D_GNU_SOURCE', '-fno-tree-slp-vectorize'];
const NEWER = { // files for newer processors, which the library selects at run time
  _avx2: ['-mavx2', '-mbmi', '-mbmi2'],
  _avx512: ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512cd', '-mavx512vbmi', '-mavx512vbmi2', '-mbmi', '-mbmi2'],
};

function stop(text) {
  console.error(`build.js: ${text}`);
  process.exit(1);
}

function headers() {
  const own = path.join(path.dirname(process.execPath), '..', 'include', 'node');
  const folders = [own, '/usr/include/node', FETCHED];
  const find = () => folders.find((folder) => fs.existsSync(path.join(folder, 'node_api.h')));
  if (!find()) {
    const prefix = path.join(ROOT, 'build');
    fs.mkdirSync(prefix, { recursive: true });
    execFileSync('npm', ['install', '--prefix', prefix, '--no-save', 'node-api-headers'], { stdio: 'inherit' });
  }
  return find() ?? stop('node_api.h is missing; install libnode-dev');
}

function packages(...options) {
  try {
    return execFileSync('pkg-config', [...options, 'libxxhash', 'libsodium'], { encoding: 'utf8' }).split(/\s+/).filter(Boolean);
  } catch {
    return stop('pkg-config, libxxhash-dev or libsodium-dev is missing');
  }
}

function filesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesIn(path.join(folder, entry.name)) : path.join(folder, entry.name)))
    .filter((file) => file.endsWith('.c')).sort();
}

// Each source file with its flags.
function sources() {
  const common = [...FLAGS, `-I${path.join(ROOT, 'include')}`];
  const library = [...common, `-I${path.join(ROOT, 'lib')}`, ...packages('--cflags')];
  const found = filesIn(path.join(__dirname, 'src')).map((file) => [file, [...common, `-I${headers()}`]]);
  const newer = process.arch === 'x64' ? NEWER : {};
  for (const file of filesIn(path.join(ROOT, 'lib'))) {
    const end = Object.keys(NEWER).find((each) => file.endsWith(`${each}.c`));
    if (!end || end in newer) {
      found.push([file, [...library, ...(newer[end] ?? [])]]);
    }
    for (const [each, flags] of file.endsWith('verdict_paths.c') ? Object.entries(newer) : []) { // once for each processor
      found.push([file, [...library, ...flags, `-DVERDICT_PATHS=verdict_paths${each}`]]);
    }
  }
  return found;
}

async function run(words) {
  const cc = (process.env.CC ?? 'cc').split(' ');
  await promisify(execFile)(cc[0], [...cc.slice(1), ...words]);
}

async function compile(folder) {
  const jobs = sources().map(([file, flags], i) => ({ file, flags, object: path.join(folder, `${i}.o`) }));
  const objects = jobs.map((job) => job.object);
  const workers = Math.max(1, os.cpus().length); // cpus() is empty without /proc
  await Promise.all(Array.from({ length: workers }, async () => {
    for (let job = jobs.pop(); job; job = jobs.pop()) {
      await run([...job.flags, '-c', job.file, '-o', job.object]);
    }
  }));
  return objects;
}

async function link(objects, target) {
  const words = ['-shared', '-pthread', '-Wl,-s,-Bsymbolic,--exclude-libs,ALL', '-o', target, ...objects];
  const folders = packages('--libs').filter((word) => word.startsWith('-L'));
  try {
    await run([...words, ...folders, '-l:libxxhash.a', '-l:libsodium.a', '-lm']);
  } catch { // no archives, or not compiled as position-independent code
    await run([...words, ...packages('--libs'), '-lm']);
  }
}

async function main() {
  if (!fs.existsSync(path.join(ROOT, 'lib', 'filter', 'list.h'))) {
    stop("the library's sources are missing; run it in weir's source tree");
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'weir-node-'));
  try {
    await link(await compile(folder), process.argv[2] ?? path.join(__dirname, 'weir.node'));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

main().catch((error) => stop(error.stderr || error.message));
