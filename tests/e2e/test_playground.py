"""The playground: the library in WebAssembly gives the bytes, plans and advice of the native build."""
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import time
import urllib.request

import pytest

from conftest import SANITIZED, WEIR

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
HAS_WASM = shutil.which("wasm-ld") and pathlib.Path("/usr/include/wasm32-wasi").is_dir()

pytestmark = [pytest.mark.skipif(SANITIZED, reason="the page has no sanitizers"),
              pytest.mark.skipif(not HAS_WASM or not shutil.which("node"), reason="needs wasi-libc, lld and node")]

# Calls the worker of the page, without a browser; prints a result per line.
RUN = """
const fs = require("fs"), folder = process.argv[1];
globalThis.onmessage = null;
new Function("exports", fs.readFileSync(folder + "/worker.js") + fs.readFileSync(folder + "/wasm.js") + "Object.assign(exports, { worker, WASM })")(globalThis);
const results = [];
globalThis.postMessage = message => { if (message.progress === undefined) results.push(message); };
(async () => {
  worker();
  onmessage({ data: { id: 0, wasm: Buffer.from(WASM, "base64") } });
  for (const data of JSON.parse(fs.readFileSync(0))) {
    if (data.path) data.file = new Blob([fs.readFileSync(data.path)]);
    onmessage({ data });
    while (!results.some(result => result.id === data.id)) await new Promise(done => setTimeout(done, 1));
  }
  const hex = (key, value) => value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
  for (const result of results.slice(1)) console.log(JSON.stringify(result, hex));
})();
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("site")
    subprocess.run([SOURCE / "scripts" / "web", made], check=True)
    shutil.copy(SOURCE / "site" / "style.css", made)
    return made


def results(folder, calls):
    calls = [{"id": i, **call} for i, call in enumerate(calls, 1)]
    done = subprocess.run(["node", "-e", RUN, folder], input=json.dumps(calls), check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def cells_of(file):
    """The bytes of a saved filter's cells (docs/format.md)."""
    saved = file.read_bytes()
    head, size = struct.unpack_from("<I4xQ", saved, 16)
    return saved[head:head + size]


@pytest.mark.parametrize("spec", ["recent memory=16K fpr=1% seed=1", "bloom memory=4K k=4 seed=1", "rlbsbf memory=4K k=4 seed=1",
                                  "sbf memory=4K k=3 cell=1 decay=11 seed=1"])
def test_cells_equal_those_of_the_native_library(folder, spec, tmp_path):
    keys = [f"key {i * i % 3001}" for i in range(6000)]
    (tmp_path / "keys").write_text("".join(key + "\n" for key in keys))
    name, *parameters = spec.split()
    named = dict(parameter.split("=") for parameter in parameters)
    arguments = ["-a", name, "-m", named.pop("memory"), "--seed", named.pop("seed")]
    arguments += ["-e", named.pop("fpr")] if "fpr" in named else []
    for parameter in named.items():
        arguments += ["-S", "=".join(parameter)]
    new = subprocess.run([WEIR, "dedup", "-q", "-j", "1", *arguments, "--state", tmp_path / "state", tmp_path / "keys"], check=True,
                         capture_output=True, text=True).stdout
    subprocess.run([WEIR, "build", "-q", *arguments, "-o", tmp_path / "filter", tmp_path / "keys"], check=True)
    opened = [{"call": "open", "specs": [spec]}]
    address = results(folder, opened)[0]["result"][0]
    rows = results(folder, opened + [{"call": "observe", "filters": [address], "key": key} for key in keys])[1:]
    assert [key for key, row in zip(keys, rows) if not row["result"][0]["seen"]] == new.splitlines()
    assert bytes.fromhex(rows[-1]["result"][0]["cells"]) == cells_of(tmp_path / "filter")


def test_plans_equal_those_of_the_command(folder):
    stream = "uniform:n=10M,distinct=60%"
    rows = results(folder, [{"call": "plan", "only": "", "stream": stream, "memory": 1 << 24, "fpr": 0.001, "fnr": 0.05}])[0]["result"]
    native = json.loads(subprocess.run([WEIR, "plan", "--format", "json", "-m", "16M", "-e", "0.1%", "--fnr", "5%", "--stream", stream],
                                       check=True, capture_output=True, text=True).stdout)
    expected = {row["algorithm"]: row for row in native}
    assert len(rows) >= 10 and {row["name"] for row in rows} == set(expected)
    for row in rows:
        assert row["fpr"] == pytest.approx(expected[row["name"]]["fpr"], rel=1e-3)


def test_a_file_gets_the_advice_of_the_command(folder, tmp_path):
    stream = tmp_path / "stream"
    with open(stream, "wb") as out:
        subprocess.run([WEIR, "gen", "zipf:n=30k,universe=20k,alpha=0.8,fresh=20%,seed=3"], stdout=out, check=True)
    got = results(folder, [{"call": "drop", "path": str(stream), "finite": finite, "lost": 0.001, "passed": 0.05} for finite in (True, False)])
    for row, options in zip(got, (["--finite"], [])):
        found = row["result"]
        native = json.loads(subprocess.run([WEIR, "eval", "--seed", "1", "--format", "json", "--report", tmp_path / "page.html", *options, stream],
                                           check=True, capture_output=True, text=True).stdout)
        advised = next(row for row in native if row["advised"] == "yes")
        assert found["records"] == 30000
        assert (found["advice"]["name"], found["advice"]["memory"]) == (advised["algorithm"], advised["memory_bytes"])
        assert found["advice"]["lost"] == pytest.approx([advised["fpr_low"], advised["fpr_high"]], rel=1e-4)
        assert found["advice"]["passed"] == pytest.approx([advised["fnr_low"], advised["fnr_high"]], rel=1e-4)


def test_files_without_advice_get_a_message(folder, tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "unique").write_text("".join(f"{i}\n" for i in range(5000)))
    (tmp_path / "endless").write_bytes(b"x" * (65 << 20))
    (tmp_path / "long").write_text("x" * 5_000_000 + "\n" + "a\n" * 3000)
    got = results(folder, [{"call": "drop", "path": str(tmp_path / name), "finite": False, "lost": 0.001, "passed": 0.05}
                           for name in ("empty", "unique", "long", "endless")])
    assert "longer than 64 MiB" in got[3]["error"]
    assert "no lines" in got[0]["error"] and "a repeat" in got[1]["error"]
    assert got[2]["result"]["records"] == 3001 and got[2]["result"]["distinct"] == 2


def test_the_page_is_small(folder):
    if not shutil.which("brotli"):
        pytest.skip("needs brotli")
    packed = subprocess.run(["brotli", "-c", SOURCE / "build" / "web" / "weir.wasm"], check=True, capture_output=True).stdout
    assert len(packed) <= 150 * 1024


# ---- in a browser ----

class Browser:
    """Chromium, by the WebDriver protocol."""

    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync"]
        wanted = {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}
        session = self.send("/session", {"capabilities": wanted})
        self.base += "/session/" + session["sessionId"]

    def send(self, path, body, method="POST"):
        request = urllib.request.Request(self.base + path, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)["value"]

    def run(self, script):
        return self.send("/execute/sync", {"script": script, "args": []})

    def wait(self, script):
        """Until the script returns something."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = self.run(script)
            if found:
                return found
            time.sleep(0.1)
        raise TimeoutError(script)


@pytest.fixture
def browser():
    if not shutil.which("chromedriver"):
        pytest.skip("needs chromium-driver")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.PIPE, text=True)
    while "started successfully" not in driver.stdout.readline():
        assert driver.poll() is None
    opened = Browser(port)
    yield opened
    opened.send("", None, "DELETE")
    driver.terminate()
    driver.wait()


def test_the_page_works_in_a_browser_from_a_folder(folder, browser):
    browser.send("/url", {"url": f"file://{folder}/playground.html"})
    text = "return document.getElementById('{}').textContent".format
    assert browser.wait("const t = document.getElementById('advice').textContent; return t.startsWith('Use') && t").startswith("Use weir dedup -a")
    browser.run("const m = document.getElementById('memory'); m.value = 16; m.dispatchEvent(new Event('input'))")
    assert browser.wait("const t = document.getElementById('advice').textContent; return t.startsWith('In') && t").startswith("In 64 KiB no filter")
    for id in "lost", "passed":
        browser.wait(f"return document.querySelectorAll('#{id} polyline').length == 6")
    browser.run("document.getElementById('many').click()")
    browser.wait("return /of 4[0-9] new keys/.test(document.getElementById('filters').textContent)")
    assert "recent: " in browser.run(text("last"))
    browser.run("take(new File(['a\\nb\\na\\n'.repeat(2000)], 'x'))")
    assert browser.wait(text("found")).startswith("6k lines, 2 distinct")
