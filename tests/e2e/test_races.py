"""Data races: ThreadSanitizer ends a program with status 66 if two threads access memory without a lock. Only in
build/tsan."""
import concurrent.futures
import os
import random
import shutil
import sqlite3
import subprocess
import threading

import pytest

from conftest import RACES_SEEN, WEIR, run
from installed import SOURCE, Server, install

pytestmark = pytest.mark.skipif(not RACES_SEEN, reason="needs -Db_sanitize=thread")

RNG = random.Random(5)
KEYS = [str(RNG.randrange(30000)) for _ in range(150000)]
TEXT = "\n".join(KEYS) + "\n"


def with_four(*args, **more):
    """A detected race changes the exit status."""
    return run(*args, "-j", "4", **more)


@pytest.mark.parametrize("options", [[], ["-a", "bloom", "--shards", "7"], ["-S", "span=1m"], ["--emit", "all"],
                                     ["-S", "importance=log", "--jsonl", "-k", "/k", "-i", "/i"]],
                         ids=lambda o: " ".join(o) or "plain")
def test_dedup(options):
    text = TEXT if "--jsonl" not in options else "".join('{"k":%s,"i":%d}\n' % (k, int(k) % 9) for k in KEYS[:40000])
    options = [*options, "-m", "256K", "--seed", "1"] + ([] if "--shards" in options else ["--shards", "4"])
    assert with_four("dedup", *options, input=text).out == run("dedup", *options, input=text).out


def test_dedup_exact(here):
    """Tables fill up, so that runs are written and merged, and commits run in a thread."""
    text = "\n".join(str(RNG.randrange(600_000)) for _ in range(500_000)) + "\n"
    for options in ["--checkpoint", "20k"], []:
        out = with_four("dedup", "--exact", "index", "-m", "16M", *options, input=text).lines
        assert out == (list(dict.fromkeys(text.split())) if options else [])


def test_dedup_with_state_and_checkpoints(here):
    for part in TEXT[:400000], TEXT[400000:]:
        with_four("dedup", "--state", "s", "--checkpoint", "20k", "-m", "256K", "--stats", "text", input=part)


def test_build_filter_ask_and_add(here):
    with_four("build", "-o", "f", "-m", "256K", input=TEXT)
    (here / "more").write_text(TEXT)
    with_four("add", "f", "more")
    assert with_four("filter", "f", "more").out == TEXT.encode()
    assert len(with_four("ask", "f", "more").lines) == len(KEYS)


def test_check(here):
    with sqlite3.connect("set.db") as db:
        db.execute("CREATE TABLE t (k)")
        db.executemany("INSERT INTO t VALUES (?)", [(str(i),) for i in range(0, 30000, 3)])
    db.close()
    (here / "keys").write_text("\n".join(KEYS[:30000]) + "\n")
    out = with_four("check", "--store", "sqlite:set.db?table=t&column=k", "keys").lines
    assert out == [k for k in KEYS[:30000] if int(k) % 3 == 0]


def test_eval(here):
    (here / "keys").write_text(TEXT)
    with_four("eval", "-a", "recent,bloom,sbf,rlbsbf", "-m", "16K,64K", "keys")
    with_four("eval", "--synthetic", "zipf:n=200k,universe=20k", "-a", "recent,bloom,apbf", "-m", "16K")


def test_top_and_count(here):
    (here / "keys").write_text(TEXT)
    assert len(with_four("top", "-n", "10", "keys").lines) >= 10
    assert with_four("count", "--query", "keys", "keys").out


def test_the_example_server(here):
    installed = install(here / "root")
    program = installed.compile(SOURCE / "examples/server.c", here / "server", "-pthread")
    server = Server(program, installed.env, "recent memory=1M")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(server.ask, [KEYS[i * 3000:(i + 4) * 3000] for i in range(8)]))
    status, out, err = server.end()
    assert (status, err) == (0, "") and out.startswith("96000 lines, ")


@pytest.mark.parametrize("command", [["check", "--screen", "none", "--store", "keys:copy?list=no"], ["filter", "copy"],
                                     ["ask", "copy"]], ids=lambda words: words[0])
def test_a_file_that_is_truncated_while_four_threads_read(here, command):
    """A missing page reads as zeros; then the command ends with an error instead of wrong answers."""
    text = "".join(f"{i:08}\n" for i in range(100_000))
    (here / "all").write_text(text)
    (here / "many").write_text(text * 50)
    run("build", "-q", "-o", "built", "-m", "4M", "all")
    shutil.copy("all" if command[0] == "check" else "built", "copy")
    with open("many") as many:
        process = subprocess.Popen([WEIR, *command, "-j", "4"], stdin=many, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        threading.Timer(0.3, os.truncate, ("copy", 5000)).start()
        error = process.communicate(timeout=120)[1]
    assert process.returncode == 2 and b"changed while it was" in error, error
