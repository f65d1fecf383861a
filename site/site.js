// site.js - search and copy buttons. The pages are complete without it.
"use strict";
const root = document.currentScript.dataset.root;

// ---- copy buttons ----

// In console blocks only the commands are copied, without prompts and output.
for (const pre of document.querySelectorAll("main pre")) {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "copy";
  button.onclick = async () => {
    const commands = [...pre.querySelectorAll(".command")].map(line => line.textContent.replace(/^(\$|>) /, ""));
    const code = pre.querySelector("code") || pre;
    try {
      await navigator.clipboard.writeText((commands.length ? commands.join("\n") : code.textContent.trimEnd()) + "\n");
      button.textContent = "copied";
    } catch {
      button.textContent = "select and copy by hand";
    }
    setTimeout(() => button.textContent = "copy", 1500);
  };
  const frame = document.createElement("div");
  frame.className = "code";
  pre.replaceWith(frame);
  frame.append(pre, button);
}

// ---- search ----

const field = document.querySelector("#search input"), list = document.querySelector("#search ol");
let index, loading;

// The index is a script: pages of a folder may load scripts, but not fetch files.
function load() {
  const script = name => new Promise((done, failed) => {
    const element = document.createElement("script");
    element.src = root + name;
    element.onload = done;
    element.onerror = failed;
    document.head.append(element);
  });
  loading ??= script("lunr.min.js").then(() => script("search.js")).then(() => index = lunr.Index.load(SEARCH.index));
  return loading;
}

// Sections with all words; if there are none, with any. The last word may be incomplete.
function found(text) {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
  if (!words.length) return [];
  for (const presence of [lunr.Query.presence.REQUIRED, lunr.Query.presence.OPTIONAL]) {
    const rows = index.query(query => words.forEach((word, i) => {
      const stem = index.pipeline.runString(word)[0] || word;
      query.term(stem, { presence, boost: 4, usePipeline: false });
      if (i === words.length - 1) query.term(word, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false });
    }));
    if (rows.length) return rows.slice(0, 12).map(row => SEARCH.sections[row.ref]);
  }
  return [];
}

async function show() {
  await load();
  const rows = found(field.value).map(section => {
    const row = document.createElement("li"), link = document.createElement("a"), text = document.createElement("small");
    link.href = root + section.url;
    link.textContent = section.page + (section.title ? " \u203a " + section.title : "");
    text.textContent = section.text;
    link.append(text);
    row.append(link);
    return row;
  });
  list.replaceChildren(...rows);
  list.hidden = !field.value;
  if (field.value && !rows.length) list.innerHTML = "<li><small>nothing found</small></li>";
}

field.parentElement.hidden = false;
field.onfocus = load;
field.oninput = show;
document.addEventListener("keydown", event => {
  const links = [...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) field.focus();
  else if (event.key === "Escape") { field.value = ""; list.hidden = true; field.blur(); }
  else if (event.key === "Enter" && document.activeElement === field && links.length) links[0].click();
  else if (event.key === "ArrowDown" && !list.hidden) (links[at + 1] || links[0])?.focus();
  else if (event.key === "ArrowUp" && at >= 0) (links[at - 1] || field).focus();
  else return;
  event.preventDefault();
});
