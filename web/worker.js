// worker.js - the code of the worker: WebAssembly and the calls of the page. A function, because a page of a folder can
// start a worker only from a blob.
"use strict";
function worker() {
  const PIECE = 1 << 20, LINE_MAX = 64 << 20;
  let wasm;

  async function open(bytes) {
    let memory;
    const view = () => new DataView(memory.buffer);
    const bad = () => 8; // EBADF: the page has no files
    const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: {
      random_get: (at, size) => { crypto.getRandomValues(new Uint8Array(memory.buffer, at, size)); return 0; },
      clock_time_get: (id, precision, at) => { view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true); return 0; },
      clock_res_get: (id, at) => { view().setBigUint64(at, 1000000n, true); return 0; },
      fd_write: bad, fd_seek: bad, fd_close: bad, fd_fdstat_get: bad, fd_read: bad, fd_prestat_get: bad, fd_prestat_dir_name: bad,
      path_open: bad, fd_fdstat_set_flags: bad, environ_get: () => 0,
      environ_sizes_get: (n, size) => { view().setUint32(n, 0, true); view().setUint32(size, 0, true); return 0; },
      proc_exit: status => { throw new Error("exit " + status); },
    } });
    memory = instance.exports.memory;
    instance.exports._initialize();
    return instance.exports;
  }

  const bytesAt = (at, size) => new Uint8Array(wasm.memory.buffer, at, size);

  // Call f with a copy of these texts and bytes in memory.
  function lend(values, f) {
    const at = values.map(value => {
      const bytes = typeof value === "string" ? new TextEncoder().encode(value + "\0") : value;
      const to = wasm.web_take(bytes.length || 1);
      bytesAt(to, bytes.length).set(bytes);
      return to;
    });
    const result = f(...at);
    at.forEach(wasm.web_give);
    return result;
  }

  function answer() {
    const at = wasm.web_answer(), all = new Uint8Array(wasm.memory.buffer);
    const found = JSON.parse(new TextDecoder().decode(all.subarray(at, all.indexOf(0, at))));
    if (found.error) throw new Error(found.error);
    return found;
  }

  const calls = {
    plan({ only, stream, memory, fpr, fnr }) {
      lend([only, stream], (o, s) => wasm.web_plan(o, s, memory, fpr, fnr));
      return answer();
    },

    // Filters of the animation.
    open({ specs }) {
      return specs.map(spec => lend([spec], wasm.web_open) || answer());
    },
    close({ filters }) {
      filters.forEach(wasm.web_close);
    },
    // Verdicts, and the bytes of the cells afterwards.
    observe({ filters, key }) {
      const bytes = new TextEncoder().encode(key), room = 1 << 16, to = wasm.web_take(room);
      const out = filters.map(filter => {
        const seen = lend([bytes], at => wasm.web_observe(filter, at, bytes.length)) === 1;
        const saved = bytesAt(to, wasm.web_save(filter, to, room)).slice(), head = new DataView(saved.buffer);
        const from = head.getUint32(16, true);
        return { seen, cells: saved.slice(from, from + Number(head.getBigUint64(24, true))) };
      });
      wasm.web_give(to);
      return out;
    },

    async drop({ file, finite, lost, passed }, report) {
      if (wasm.web_drop_begin(finite ? 0 : 1, lost, passed)) answer();
      let room = 2 * PIECE, buffer = wasm.web_take(room), have = 0, read = 0;
      const feed = () => {
        const used = wasm.web_drop_feed(buffer, have) >>> 0;
        if (used === 0xffffffff) answer();
        bytesAt(buffer, have).copyWithin(0, used, have);
        have -= used;
      };
      for (let from = 0; from < file.size; from += PIECE) {
        const piece = new Uint8Array(await file.slice(from, from + PIECE).arrayBuffer());
        if (have + piece.length + 1 > room) { // a long line
          const larger = room < LINE_MAX ? wasm.web_take(2 * room) : 0;
          if (!larger) throw new Error("a line is longer than 64 MiB; is this a text file?");
          bytesAt(larger, have).set(bytesAt(buffer, have));
          wasm.web_give(buffer);
          buffer = larger;
          room *= 2;
        }
        bytesAt(buffer + have, piece.length).set(piece);
        have += piece.length;
        read += piece.length;
        feed();
        report(0.5 * read / file.size);
      }
      if (have) { // the last line has no line feed
        bytesAt(buffer + have, 1)[0] = 10;
        have++;
        feed();
      }
      wasm.web_give(buffer);
      const steps = wasm.web_drop_plan();
      if (steps < 0) answer();
      for (let i = 0; i < steps; i++) {
        wasm.web_drop_step();
        report(0.5 + 0.5 * (i + 1) / steps);
      }
      wasm.web_drop_end();
      return answer();
    },
  };

  let queue = Promise.resolve();
  onmessage = ({ data }) => {
    queue = queue.then(async () => {
      try {
        wasm ??= await open(data.wasm);
        const result = data.call && await calls[data.call](data, progress => postMessage({ id: data.id, progress }));
        postMessage({ id: data.id, result });
      } catch (error) {
        postMessage({ id: data.id, error: error.message });
      }
    });
  };
}
