// playground.js - the three panels. All computation is in the worker (worker.js).
"use strict";
const $ = id => document.getElementById(id);

// ---- the worker ----

const thread = new Worker(URL.createObjectURL(new Blob([`(${worker})()`], { type: "text/javascript" })));
const waiting = new Map();
let calls = 0;

function call(name, values, progress) {
  return new Promise((done, failed) => {
    waiting.set(++calls, { done, failed, progress });
    thread.postMessage({ id: calls, call: name, ...values });
  });
}

thread.onmessage = ({ data }) => {
  const { done, failed, progress } = waiting.get(data.id) || {};
  if (data.progress !== undefined) return progress?.(data.progress);
  waiting.delete(data.id);
  data.error ? failed?.(new Error(data.error)) : done?.(data.result);
};
const bytes = Uint8Array.from(atob(WASM), character => character.charCodeAt(0));
thread.postMessage({ id: 0, wasm: bytes });

// ---- numbers ----

function scaled(value, base, units) {
  let i = 0;
  for (; value >= base * 0.9995 && i < units.length - 1; i++) value /= base;
  return `${Number(value.toPrecision(3))}${units[i]}`;
}
const size = bytes => scaled(bytes, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const count = n => scaled(n, 1000, ["", "k", "M", "G", "T"]);
const percent = rate => rate === null || rate === undefined ? "-" : rate === 0 ? "0 %" : `${Number((100 * rate).toPrecision(3))} %`;
const option = bytes => bytes % 1048576 ? `${Math.ceil(bytes / 1024)}K` : `${bytes / 1048576}M`;

function fill(table, head, rows, style) {
  const row = (tag, cells, name) => {
    const tr = document.createElement("tr");
    if (name) tr.className = name;
    for (const cell of cells) {
      const td = document.createElement(tag);
      td.append(cell);
      tr.append(td);
    }
    return tr;
  };
  table.replaceChildren(...rows.length ? [row("th", head)] : [], ...rows.map((cells, i) => row("td", cells, style(i))));
}

function code(text) {
  const element = document.createElement("code");
  element.textContent = text;
  return element;
}

// ---- calculator ----

const sliders = {
  records: [value => Math.round(10 ** value), count],
  distinct: [value => value / 100, percent],
  memory: [value => Math.round(2 ** value), size],
  fpr: [value => 10 ** value, percent],
  fnr: [value => 10 ** value, percent],
};
let busy = false, again = false;

function wishes() {
  const wish = {};
  for (const [id, [value, shown]] of Object.entries(sliders)) {
    wish[id] = value(Number($(id).value));
    $(id).nextElementSibling.textContent = shown(wish[id]);
  }
  const endless = $("endless").checked;
  $("records").disabled = $("distinct").disabled = $("fnr").disabled = endless;
  wish.stream = endless ? "endless" : `uniform:n=${wish.records},distinct=${Number((100 * wish.distinct).toFixed(3))}%`;
  return { ...wish, endless, fnr: endless ? 0 : wish.fnr };
}

const settings = row => row.spec.split(" ").filter(word => !/^(memory|importance|seed|hash)=/.test(word)).slice(1).join(" ");

function advise(rows, wish) {
  const best = rows[0];
  if (!best) return "No filter has a plan for this.";
  if (wish.endless)
    return best.rank > 1 ? `No filter keeps ${percent(wish.fpr)} in ${size(wish.memory)}.`
      : `Use ${best.name}: it remembers about the last ${count(best.remembered)} keys.`;
  return best.rank > 1 ? `In ${size(wish.memory)} no filter meets both limits; ${best.name} is nearest.`
    : `Use weir dedup -a ${best.name} -m ${option(wish.memory)} -e ${Number((100 * wish.fpr).toPrecision(3))}%.`;
}

async function plan() {
  const wish = wishes();
  if (busy) return void (again = true);
  busy = true;
  try {
    const rows = (await call("plan", { only: "", ...wish })).sort((a, b) => a.rank - b.rank);
    $("advice").textContent = advise(rows, wish);
    fill($("plan"), ["filter", "parameters", "new records lost", "repeats passed", "keys remembered", "meets the limits"],
      rows.slice(0, SHOWN).map(row => [row.name, code(settings(row)), percent(row.fpr ?? row.stable), percent(row.fnr),
        row.remembered === null ? "-" : count(row.remembered), row.rank > 1 ? "no" : "yes"]),
      i => i === 0 && rows[0].rank <= 1 ? "best" : rows[i].rank > 1 ? "missed" : "");
    if (!again) await draw(rows.slice(0, SHOWN).map(row => row.name), wish);
  } catch (error) {
    $("advice").textContent = error.message;
  }
  busy = false;
  if (again) {
    again = false;
    plan();
  }
}

// Readable on light and dark paper; one for each filter of the table.
const COLOURS = ["#2f81f7", "#bf8700", "#2da44e", "#a371f7", "#e5534b", "#1b9aaa"];
const SHOWN = COLOURS.length;

// Curves of the filters in the table by memory: new records lost, and repeats passed or (endless) keys remembered.
async function draw(names, wish) {
  const memories = [-6, -4, -2, 0, 2, 4].map(step => Math.round(wish.memory * 2 ** step)).filter(m => m >= 4096);
  const lost = names.map(() => []), other = names.map(() => []);
  for (const memory of memories) {
    if (again) return;
    const rows = await call("plan", { only: "", ...wish, memory });
    names.forEach((name, i) => {
      const row = rows.find(row => row.name === name);
      if (!row) return;
      lost[i].push([memory, row.fpr ?? row.stable]);
      other[i].push([memory, wish.endless ? row.remembered : row.fnr]);
    });
  }
  chart("lost", "New records lost, by memory", names, memories, lost, 1e-6, 1, percent);
  if (wish.endless) {
    const values = other.flat().map(point => point[1]).filter(value => value > 0);
    chart("passed", "Keys remembered, by memory", names, memories, other, Math.min(...values), Math.max(...values), count);
  } else chart("passed", "Repeats passed, by memory", names, memories, other, 1e-4, 1, percent);
}

// Values below `low` are drawn on the lower edge; filters without a value are left out.
function chart(id, title, names, memories, curves, low, high, shown) {
  const [left, right, top, bottom] = [80, 520, 14, 220];
  const x = memory => left + (right - left) * Math.log(memory / memories[0]) / Math.log(memories.at(-1) / memories[0]);
  const y = value => bottom - (bottom - top) * Math.log(Math.max(value, low) / low) / Math.log(high / low);
  const text = (at, down, words, anchor = "middle") => `<text x="${at}" y="${down}" text-anchor="${anchor}">${words}</text>`;
  const line = (x1, y1, x2, y2) => `<line class="axis" x1="${x1}" x2="${x2}" y1="${y1}" y2="${y2}"/>`;
  let svg = "";
  for (const memory of memories) svg += line(x(memory), top, x(memory), bottom) + text(x(memory), bottom + 20, size(memory));
  for (let value = low; value <= high * 1.01; value *= 10) svg += line(left, y(value), right, y(value)) + text(left - 6, y(value) + 4, shown(value), "end");
  const drawn = curves.map((points, i) => ({ points: points.filter(point => Number.isFinite(point[1])), name: names[i], colour: COLOURS[i] }))
    .filter(curve => curve.points.length);
  for (const { points, colour } of drawn)
    svg += `<polyline fill="none" stroke-width="2.5" stroke="${colour}" points="${points.map(([m, v]) => `${x(m)},${y(v)}`).join(" ")}"/>`;
  // Labels beside the ends, from the bottom up, at least 14 units apart.
  let free = bottom + 4;
  drawn.sort((a, b) => a.points.at(-1)[1] - b.points.at(-1)[1]);
  for (const { points, name, colour } of drawn) {
    const at = Math.min(y(points.at(-1)[1]) + 4, free);
    free = at - 14;
    svg += `<text x="${right + 8}" y="${at}" style="fill:${colour}">${name}</text>`;
  }
  $(id + "-title").textContent = title;
  $(id).innerHTML = svg;
}

for (const id of [...Object.keys(sliders), "endless"]) $(id).addEventListener("input", plan);

// ---- animation ----

const SPECS = ["recent memory=64 fpr=1% seed=1", "bloom memory=64 k=4 seed=1", "sbf memory=64 k=3 cell=1 decay=11 seed=1", "rlbsbf memory=64 k=4 seed=1"];
const NOTES = ["evicts the least recent key", "never evicts, and saturates", "clears random cells", "clears a random bit per array"];
const WIDTHS = [32, 24, 20, 16, 15, 14, 13, 12, 11, 10, 9, 8]; // of fingerprints, by the index in a line's last byte
const LINE_BITS = 504;
let filters, cells, before, past, errors, arrivals, playing;

function frames() {
  $("filters").replaceChildren(...SPECS.map((spec, i) => {
    const element = document.createElement("div");
    element.className = "filter";
    element.innerHTML = `<h3><span>${spec.split(" ")[0]} <small>${NOTES[i]}</small></span><small class="errors"></small></h3><canvas width="1280" height="64"></canvas>`;
    return element;
  }));
}

async function restart() {
  if (filters) await call("close", { filters });
  filters = await call("open", { specs: SPECS });
  [cells, before, past, arrivals] = [SPECS.map(() => null), SPECS.map(() => null), new Set(), 0];
  errors = SPECS.map(() => ({ lost: 0, passed: 0, fresh: 0, repeats: 0 }));
  $("last").textContent = "No key has arrived yet.";
  paint();
}

// Nearly every third key repeats one of the last eight.
function nextKey() {
  arrivals++;
  return `key ${arrivals % 3 === 2 && arrivals > 8 ? arrivals - 1 - arrivals * 7 % 8 : arrivals}`;
}

async function observe(key) {
  const repeat = past.has(key), answers = await call("observe", { filters, key });
  past.add(key);
  const words = answers.map((answer, i) => {
    before[i] = cells[i];
    cells[i] = answer.cells;
    errors[i][repeat ? "repeats" : "fresh"]++;
    if (answer.seen !== repeat) errors[i][repeat ? "passed" : "lost"]++;
    const word = `${SPECS[i].split(" ")[0]}: ${answer.seen ? "seen" : "new"}`;
    return answer.seen === repeat ? word : `<span class="wrong">${word}</span>`;
  });
  const name = document.createElement("b");
  name.textContent = key;
  $("last").innerHTML = `${name.outerHTML}, ${repeat ? "a repeat" : "new"}. ${words.join(", ")}.`;
}

const bit = (bytes, i) => bytes[i >> 3] >> (i & 7) & 1;

// Boxes of fingerprints, most recent first.
function paintLine(context, bytes) {
  const width = WIDTHS[bytes[63]] || 32, slots = Math.floor(LINE_BITS / width), step = 1280 / slots;
  for (let slot = 0; slot < slots; slot++) {
    let value = 0;
    for (let i = 0; i < width; i++) value = value * 2 + bit(bytes, slot * width + i);
    context.fillStyle = value ? `hsl(${value * 137.5 % 360} 55% 60%)` : "rgb(128 128 128 / 15%)";
    context.fillRect(slot * step + 1, 2, step - 2, 60);
  }
}

// 512 bits. Filters with several arrays pad each to a line.
function paintBits(context, bytes, old) {
  const arrays = bytes.length / 64, per = 512 / arrays, [across, w, h] = [128, 10, 16];
  for (let i = 0; i < 512; i++) {
    const at = Math.floor(i / per) * 512 + i % per, on = bit(bytes, at), was = old ? bit(old, at) : 0;
    context.fillStyle = on && !was ? "#1a7f37" : !on && was ? "#d1242f" : on ? "#6e9bd1" : "rgb(128 128 128 / 15%)";
    context.fillRect(i % across * w + 1, Math.floor(i / across) * h + 1, w - 2, h - 2);
  }
}

function paint() {
  SPECS.forEach((spec, i) => {
    const element = $("filters").children[i], context = element.querySelector("canvas").getContext("2d"), e = errors[i];
    context.clearRect(0, 0, 1280, 64);
    if (cells[i]) (i === 0 ? paintLine : paintBits)(context, cells[i], before[i]);
    element.querySelector(".errors").textContent = `${e.lost} of ${e.fresh} new keys lost, ${e.passed} of ${e.repeats} repeats passed`;
  });
}

async function run(n) {
  for (let i = 0; i < n; i++) await observe(nextKey());
  paint();
}

async function play() {
  playing = !playing;
  $("play").textContent = playing ? "pause" : "play";
  while (playing) {
    await run(1);
    await new Promise(done => setTimeout(done, 250));
  }
}

$("step").onclick = () => run(1);
$("many").onclick = () => run(50);
$("play").onclick = play;
$("restart").onclick = restart;
$("own").onkeydown = async event => {
  if (event.key !== "Enter" || !$("own").value) return;
  await observe($("own").value);
  paint();
};

// ---- a file ----

const LIMITS = { lost: 0.001, passed: 0.05 };
const range = ([low, high]) => percent(low) === percent(high) ? percent(high) : `${percent(low)} to ${percent(high)}`;
const words = row => `${row.name}${row.set ? " " + row.set : ""}`;
const dedup = row => `weir dedup -a ${row.name} -m ${option(row.memory)}${row.fpr ? " -e " + row.fpr : ""}${row.set ? " -S " + row.set : ""}`;
let chosen;

async function measure() {
  $("found").textContent = "";
  fill($("measured"), [], []);
  $("progress").hidden = false;
  try {
    const found = await call("drop", { file: chosen, finite: $("finite").checked, ...LIMITS }, share => $("progress").value = share);
    window.measured = found;
    const sampled = found.share < 1 ? ` A sample was measured: one key in ${Math.round(1 / found.share)}.` : found.cut ? " Its beginning was measured." : "";
    $("found").textContent = `${count(found.records)} lines, ${count(found.distinct)} distinct, ${percent(found.repeats / found.records)} repeats. ` +
      (found.meets ? `Use: ${dedup(found.advice)}.` : `No filter that was measured meets the limits (${percent(LIMITS.lost)} of the new records lost, ${percent(LIMITS.passed)} of the repeats passed); nearest: ${dedup(found.advice)}.`) + sampled;
    fill($("measured"), ["memory", "best filter", "new records lost", "repeats passed", "meets the limits"],
      found.memories.map(row => [size(row.memory), words(row), range(row.lost), range(row.passed), row.meets ? "yes" : "no"]),
      i => found.memories[i].memory === found.advice.memory && found.meets ? "best" : found.memories[i].meets ? "" : "missed");
  } catch (error) {
    $("found").textContent = `${chosen.name}: ${error.message}`;
  }
  $("progress").hidden = true;
}

function take(file) {
  if (!file) return;
  chosen = file;
  measure();
}

$("choose").onchange = event => take(event.target.files[0]);
$("finite").onchange = () => chosen && measure();
$("drop").ondragover = event => { event.preventDefault(); $("drop").classList.add("over"); };
$("drop").ondragleave = () => $("drop").classList.remove("over");
$("drop").ondrop = event => {
  event.preventDefault();
  $("drop").classList.remove("over");
  take(event.dataTransfer.files[0]);
};

frames();
restart().then(() => run(12));
plan();
