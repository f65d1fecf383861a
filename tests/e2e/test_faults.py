"""Fault injection: every command with one failing call of the C library (tests/support/fault.c). Each allocation,
read, write, open, rename, fsync ... fails in turn; a sample of them, all with WEIR_LONG=1.

Whatever fails, there is no crash and no hang. Either the exit status is 0 with complete, correct output and state. Or
it is 2 with a message, output that is correct as far as it goes, and a state that is the old one, the new one or one
of the records read so far, never a partial one. Other files do not change, and no temporary file remains. A short or
interrupted read or write is not an error."""
import collections
import concurrent.futures
import gzip
import hashlib
import lzma
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from conftest import LONG, WEIR

FAULT = os.environ.get("WEIR_FAULT_LIB")
pytestmark = pytest.mark.skipif(not FAULT, reason="WEIR_FAULT_LIB names no library")

MOST = 500 if LONG else 4  # failing calls of one kind, evenly distributed

# The call, its failure, and whether it must be handled without an error.
Fault = collections.namedtuple("Fault", "call how harmless", defaults=[False])
FAULTS = [
    Fault("malloc", "ENOMEM"), Fault("mmap", "ENOMEM"), Fault("thread", "EAGAIN"),
    Fault("open", "EMFILE"), Fault("fstat", "EIO"), Fault("flock", "EIO"),
    Fault("read", "EIO"), Fault("pread", "EIO"),
    Fault("write", "ENOSPC"), Fault("fflush", "ENOSPC"), Fault("fclose", "EIO"),
    Fault("rename", "EIO"), Fault("link", "EIO"), Fault("fsync", "EIO"), Fault("ftruncate", "EIO"),
    Fault("read", "EINTR", True), Fault("write", "EINTR", True),
    Fault("read", "short", True), Fault("pread", "short", True), Fault("write", "short", True),
]

# The arguments. `writes`: files that are replaced atomically. `continues`: states that may contain the records read
# so far. `streams`: files that are written record by record. `sums`: a command that prints, after a failure, the
# counts of what was read before it. `locks`: files that are locked and only read.
Command = collections.namedtuple("Command", "args writes continues streams sums locks")


def command(text, writes="", continues="", streams="", sums=False, locks=""):
    return Command(text.split(), writes.split(), continues.split(), streams.split(), sums, locks.split())


SMALL = "-q --seed 1 -m 64K"
COMMANDS = {
    "dedup": command(f"dedup {SMALL} input"),
    "dedup, two threads": command(f"dedup {SMALL} -j 2 input"),
    "dedup csv": command(f"dedup {SMALL} --csv --header -k word table"),
    "dedup json": command(f"dedup {SMALL} --jsonl -k /word lines"),
    "dedup gzip": command(f"dedup {SMALL} packed.gz"),
    "dedup xz, resumed": command(f"dedup {SMALL} --state unpacked --resume grown.xz", continues="unpacked"),
    "build of zstd": command("build -q --seed 1 -o new packed.zst", writes="new"),
    "dedup to a file": command(f"dedup {SMALL} -o out input", streams="out"),
    "dedup with a new state": command(f"dedup {SMALL} --state new input", continues="new"),
    "dedup with a state": command(f"dedup {SMALL} --state state more", continues="state"),
    "dedup resumed": command(f"dedup {SMALL} --state begun --resume -o begun.out input", continues="begun", streams="begun.out"),
    "dedup in shards": command(f"dedup {SMALL} --shards 4 input"),
    "filter": command("filter -q set input"),
    "filter by keys": command("filter -q --seed 1 --keys keys input"),
    "filter, strict": command("filter -q --strict keys set input"),
    "check": command(f"check {SMALL} --store keys:keys input"),
    "check, sqlite": command(f"check {SMALL} --store sqlite:db?table=t&column=c input"),
    "check with a state": command(f"check {SMALL} --screen cache --store keys:keys --state new input", continues="new"),
    "top": command("top -q --seed 1 -m 64K input", sums=True),
    "top with a state": command("top -q --seed 1 -m 64K --state tops input", continues="tops", sums=True),
    "count": command("count -q --seed 1 -m 64K --query keys input", sums=True),
    "count with a state": command("count -q --seed 1 -m 64K --state counts input", continues="counts", sums=True),
    "build": command("build -q --seed 1 -o new keys", writes="new"),
    "build fixed": command("build -q --fixed --seed 1 -o new keys", writes="new"),
    "build fixed, two threads": command("build -q --fixed -j 2 --seed 1 -o new keys", writes="new"),
    "build over another": command("build -q --seed 1 -o set input", writes="set"),
    "add": command("add -q set more", writes="set"),
    "forget": command("forget -q counting more", writes="counting"),
    "ask": command("ask set input"),
    "ask many": command("ask --which set other counting -- input"),
    "ask many in JSON": command("ask --format json --which set other counting -- input"),
    "dedup in JSON": command(f"dedup --format json {SMALL} -k 1 input"),
    "info": command("info set"),
    "info in JSON": command("info --format json state"),
    "info in TSV": command("info --format tsv state"),
    "merge": command("merge -o new set other", writes="new"),
    "grow": command("grow state -m 128K -o new", writes="new", locks="state"),
    "plan": command("plan -a bloom -m 1M --stream uniform:n=1M,distinct=60%"),
    "gen": command("gen uniform:n=1k,distinct=60%,seed=1"),
    "list": command("list"),
    "list in JSON": command("list --format json"),
    "list in TSV": command("list --format tsv"),
    "count in JSON": command("count -q --seed 1 -m 64K --format json input", sums=True),
    "plan in JSON": command("plan -a bloom -m 1M --stream uniform:n=1M,distinct=60% --format json"),
    "help": command("help"),
    "version": command("version"),
    "eval": command("eval -q --seed 1 -m 64K --synthetic uniform:n=20k,distinct=60% -a bloom,recent --format tsv"),
    "eval of a file": command("eval -q --seed 1 -m 64K -a bloom,recent --format tsv input"),
}

def words(first, last):
    return "".join(f"word{i * i % 997}\n" for i in range(first, last))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("template")
    (folder / "input").write_text(words(0, 3000))
    (folder / "more").write_text(words(2500, 4000))
    (folder / "keys").write_text("".join(f"word{i}\n" for i in range(0, 997, 3)))
    (folder / "table").write_text("n,word\n" + "".join(f'{i},"w{i % 99}"\n' for i in range(500)))
    (folder / "lines").write_text("".join('{"n": %d, "word": "w%d"}\n' % (i, i % 99) for i in range(500)))
    (folder / "packed.gz").write_bytes(gzip.compress(words(0, 3000).encode()))
    (folder / "grown.xz").write_bytes(lzma.compress(words(0, 3000).encode()))
    (folder / "packed.zst").write_bytes(subprocess.run(["zstd", "-c"], input=words(0, 3000).encode(), check=True, capture_output=True).stdout)
    with sqlite3.connect(folder / "db") as db:
        db.execute("CREATE TABLE t (c TEXT PRIMARY KEY)")
        db.executemany("INSERT INTO t VALUES (?)", [(f"word{i}",) for i in range(0, 997, 3)])
    prepare = [
        f"dedup {SMALL} --state state input", f"dedup {SMALL} --state begun -o begun.out input",
        f"dedup {SMALL} --state unpacked grown.xz",
        "top -q --seed 1 -m 64K --state tops more", "count -q --seed 1 -m 64K --state counts more",
        "build -q --seed 1 -e 1e-4 -o set keys", "build -q --seed 1 -e 1e-4 -o other keys",
        "build -q --seed 1 -a counting -m 16K -o counting more",
    ]
    for line in prepare:
        subprocess.run([WEIR, *line.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with open(folder / "input", "a") as more:
        more.write(words(7000, 7500))
    with open(folder / "grown.xz", "ab") as more:
        more.write(lzma.compress(words(7000, 7500).encode()))
    return folder


Ended = collections.namedtuple("Ended", "status out err files")


def without_times(out):
    """Rows of weir eval without times, which vary."""
    rows = [line.split(b"\t") for line in out.splitlines()]
    timed = [i for i, name in enumerate(rows[0] if rows else []) if re.search(rb"^ns|nanos|second|speed|time|_ns", name)]
    return [[cell for i, cell in enumerate(row) if i not in timed] for row in rows]


def lay_out(template, folder, what):
    """Input files are the same files in each run, because a state identifies them."""
    folder.mkdir()
    for path in template.iterdir():
        is_own = path.name in (*what.writes, *what.continues, *what.streams, *what.locks)
        (shutil.copy if is_own else os.link)(path, folder / path.name)


def run_with(template, folder, what, fault=None, counts=None):
    lay_out(template, folder, what)
    args = what.args
    env = {**os.environ, "LD_PRELOAD": FAULT}
    env.update({"WEIR_FAULT": fault} if fault else {})
    env.update({"WEIR_FAULT_COUNTS": str(counts)} if counts else {})
    try:
        done = subprocess.run([WEIR, *args], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(args, "a hang", b"", b"")
    out = without_times(done.stdout) if args[0] == "eval" else done.stdout
    return Ended(done.returncode, out, done.stderr.decode(errors="replace"), {p.name: p.read_bytes() for p in folder.iterdir()})


def is_loaded(folder, name):
    return subprocess.run([WEIR, "info", name], cwd=folder, capture_output=True).returncode == 0


def is_beginning(part, whole):
    return whole[: len(part)] == part


def wrong_files(folder, got, before, wanted, what):
    for name in sorted({*got, *before}):
        is_old = got.get(name) == before.get(name)
        is_new = got.get(name) == wanted.files.get(name)
        if is_old or (is_new and name in (*what.writes, *what.continues, *what.streams)):
            continue
        if name not in got:
            yield f"{name} is gone"
        elif name in what.streams and is_beginning(got[name], wanted.files[name]):
            continue
        elif name in what.continues and is_loaded(folder, name):
            continue
        else:
            yield f"{name} is neither old nor new" if name in (*before, *what.writes, *what.continues) else f"{name} is left"


def complaints(folder, got, before, wanted, what, harmless):
    if not isinstance(got.status, int) or got.status not in (0, 2):
        yield f"ended with {got.status}: {got.err[-300:]}"
    elif got.status == 0 and got.out != wanted.out:
        yield "exit 0 with another output"
    elif got.status == 0 and got.files != wanted.files:
        yield "exit 0 with other files: " + " ".join(n for n in {*got.files, *wanted.files} if got.files.get(n) != wanted.files.get(n))
    elif got.status == 2:
        if harmless:
            yield f"no failure, and taken for one: {got.err}"
        if not re.search(r"^weir: \S", got.err, re.M):
            yield f"no spec: {got.err!r}"
        if not what.sums and not is_beginning(got.out, wanted.out):
            yield "exit 2 with another output"
        yield from wrong_files(folder, got.files, before, wanted, what)


def spread(count, harmless_short):
    if harmless_short:
        return [0]  # in one write
    step = max(1, count / MOST)
    return sorted({1 + int(i * step) for i in range(min(count, MOST))} | ({count} if count else set()))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_failed_call_is_reported_or_handled(name, template, tmp_path):
    what = COMMANDS[name]
    before = {p.name: p.read_bytes() for p in template.iterdir()}
    wanted = run_with(template, tmp_path / "wanted", what, counts=tmp_path / "counts")
    assert wanted.status == 0, wanted.err
    assert run_with(template, tmp_path / "again", what) == wanted, "two runs differ"
    counts = calls(tmp_path / "counts")
    assert counts["malloc"] > 0, "no call is caught: the library is not in use"

    def attempt(planned):
        number, fault, n = planned
        folder = tmp_path / str(number)
        got = run_with(template, folder, what, f"{fault.call}:{n}:{fault.how}")
        found = list(complaints(folder, got, before, wanted, what, fault.harmless))
        shutil.rmtree(folder)
        return [f"{name}: {fault.call}:{n}:{fault.how} of {counts[fault.call]}: {line}" for line in found]

    planned = [(f, n) for f in FAULTS for n in spread(counts[f.call], f.how == "short")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(attempt, [(i, f, n) for i, (f, n) in enumerate(planned)])
    told = [line for lines in found for line in lines]
    assert not told, "\n".join(told)


# ---- signals ----

def calls(path):
    return {name: int(n) for name, n in (line.split() for line in open(path))}


def resume_with(folder, fault=None, counts=None):
    env = {**os.environ, "LD_PRELOAD": FAULT}
    env.update({"WEIR_FAULT": fault} if fault else {})
    env.update({"WEIR_FAULT_COUNTS": str(counts)} if counts else {})
    args = "dedup --seed 1 -m 4M --stats json --state state --resume -o out log.gz".split()
    done = subprocess.run([WEIR, *args], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    *said, stats = done.stderr.decode().splitlines() or [""]
    if not stats.startswith("{"):
        said.append(stats)
    return done.returncode, said, re.findall(r'"records": (\d+)', stats)


def hard_to_pack(first, last):
    return "".join(f"{hashlib.sha256(b'%d' % i).hexdigest()}\n" for i in range(first, last)).encode()


@pytest.mark.parametrize("sibling", [True, False])
@pytest.mark.parametrize("call", ["read", "pread"])
def test_sigterm_while_comparing_the_input_with_the_state(tmp_path, sibling, call):
    """Regression: the interrupted comparison counted as 'another file'."""
    first, more = hard_to_pack(0, 12000), hard_to_pack(12000, 12100)
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "log.gz").write_bytes(gzip.compress(first))
    if sibling:
        (begun / "log").write_bytes(first)
    assert resume_with(begun)[0] == 0
    shutil.copytree(begun, tmp_path / "counted", copy_function=os.link)
    assert resume_with(tmp_path / "counted", counts=tmp_path / "counts")[0] == 0
    count = calls(tmp_path / "counts")[call]
    assert count > 4
    terminated = 0
    for n in range(1, count + 1):
        folder = tmp_path / str(n)
        folder.mkdir()
        for name in os.listdir(begun):
            (os.link if name.startswith("log") else shutil.copy)(begun / name, folder / name)
        status, said, _ = resume_with(folder, f"{call}:{n}:SIGTERM", counts=folder / "counts")
        if status == 0 and calls(folder / "counts")[call] < n:  # threads vary: this run made fewer calls
            continue
        assert status == -15 and not any(said), (n, status, said)
        terminated += 1
        shutil.copy(folder / "log.gz", folder / "grown")
        with open(folder / "log.gz", "r+b") as log:
            log.seek(0, os.SEEK_END)
            log.write(gzip.compress(more))
        try:
            assert resume_with(folder) == (0, [], ["100"]), n
            assert (folder / "out").read_bytes() == first + more, n
        finally:
            os.truncate(folder / "log.gz", (folder / "grown").stat().st_size)
    assert terminated > count / 2
