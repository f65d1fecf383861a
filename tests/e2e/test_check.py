"""weir check: output, lookups and state, with stores that need no server."""
import fcntl
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import termios
import time

import pytest

from conftest import SANITIZED, WEIR, refused, run
from test_live import on_terminal, read_within, slow_feed

MEMBERS = [f"key{i}" for i in range(0, 6000, 3)]
STREAM = [f"key{i % 5000}" for i in range(9000)]
SET = set(MEMBERS)
FOUND = [key for key in STREAM if key in SET]
TEXT = "\n".join(STREAM) + "\n"


@pytest.fixture
def keys(here):
    (here / "keys").write_text("\n".join(reversed(MEMBERS)) + "\n")
    (here / "sorted").write_text("\n".join(sorted(MEMBERS)) + "\n")
    return here


def make_table(path, values, kind="TEXT", table="t", column="k"):
    def quoted(name):
        return '"' + name.replace('"', '""') + '"'

    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE {quoted(table)} ({quoted(column)} {kind})")
        db.executemany(f"INSERT INTO {quoted(table)} VALUES (?)", [(v,) for v in values])
        db.execute(f"CREATE INDEX i ON {quoted(table)} ({quoted(column)})")
    db.close()


def check(url, *args, input=TEXT, **more):
    return run("check", "-q", "--store", url, *args, input=input, **more)


def stats(url, *args, input=TEXT, **more):
    result = check(url, "--stats", "json", *args, input=input, **more)
    return result, json.loads(result.err.splitlines()[0])


# ---- output ----

@pytest.mark.parametrize("url", ["keys:keys", "keys", "keys:sorted", "keys:keys?list=no", "sqlite:db?table=t&column=k",
                                 "sqlite:db?table=t&column=k&list=no"])
@pytest.mark.parametrize("screen", ["auto", "cache", "strict", "dabf", "none"])
def test_exactly_the_members_are_printed(keys, url, screen):
    make_table("db", MEMBERS)
    if screen == "strict" and "list=no" in url:
        refused("check", "--store", url, "--screen", screen, input=TEXT, saying=["all keys", "list=no"])
        return
    assert check(url, "--screen", screen, "-m", "4M", "--seed", "1").lines == FOUND


def test_1bf_has_its_error_rate_and_no_lookups(keys):
    result, told = stats("keys:keys", "--screen", "1bf", "-m", "1K", "--seed", "1")
    passed = result.lines
    assert told["loading"]["keys"] == len(SET) and told["loading"]["seconds"] > 0
    assert stats("keys:keys", "--screen", "cache")[1]["loading"]["keys"] == 0
    assert [key for key in passed if key in SET] == FOUND and told["store"]["calls"] == 0
    extra = len(passed) - len(FOUND)
    assert 0.1 < extra / (len(STREAM) - len(FOUND)) < 0.22  # 4.1 bits per key, three hashes: 0.14


def test_emit_selects_the_output(keys):
    text = "key0\nkey1\n\nkey3\n"
    assert check("keys:keys", input=text).lines == ["key0", "key3"]
    assert check("keys:keys", "--emit", "others", input=text).lines == ["key1", ""]
    assert check("keys:keys", "--emit", "all", input=text).lines == [
        "member\tkey0", "other\tkey1", "other\t", "member\tkey3"]
    assert check("keys:keys", "--emit", "others", "--count-only", input=text).lines == ["2"]
    refused("check", "--store", "keys:keys", "--emit", "unique", saying="members|others|all")


def test_the_record_options_of_dedup_work(keys):
    assert check("keys:keys", "--csv", "-k", "k", input='n,k\n1,"key3"\n2,key4\n').lines == ["n,k", '1,"key3"']
    assert check("keys:keys", "-k", "/k", input='{"k":"key3"}\n{"k":"key4"}\n').lines == ['{"k":"key3"}']
    assert check("keys:keys", "-k", "2", "-d", ";", input="a;key3\nb;key4\n").lines == ["a;key3"]
    assert check("keys:keys", "-z", input=b"key0\0key1\0").out == b""  # the file contains lines: one long key
    (keys / "nul").write_bytes(b"a\nb\0c\0")
    assert check("keys:nul", "-z", input=b"a\nb\0a\0c\0").out == b"a\nb\0c\0"
    assert check("keys:keys", "--ignore-case", input="KEY3\nKEY4\n").lines == ["KEY3"]
    result, told = stats("keys:keys", "-k", "2", "-d", ",", "--on-error", "skip", input="a,key3\nb\nc,key6\n")
    assert result.lines == ["a,key3", "c,key6"] and told["skipped"] == 1 and told["records"] == 2


def test_empty_input_and_empty_sets(keys):
    result, told = stats("keys:keys", input="")
    assert result.out == b"" and told["records"] == 0
    (keys / "none").write_text("")
    assert check("keys:none", input="a\n\n").lines == []
    make_table("db", [])
    assert check("sqlite:db?table=t&column=k", input="a\n\n").lines == []


def test_a_closed_pipe_ends_the_run(keys):
    (keys / "in").write_text(TEXT * 200)
    process = subprocess.Popen([WEIR, "check", "-q", "--store", "keys:keys", "in"], stdout=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=20) == -signal.SIGPIPE


# ---- lookups ----

def test_the_printed_rate_is_that_of_the_screens_filter(keys):
    """A fuse filter, not the Bloom filter of a screen without a set."""
    result = run("check", "--store", "keys:keys", "-m", "2K", "--seed", "1", "--stats", "json",
                 input="".join(f"other{i}\n" for i in range(200_000)))
    printed = float(re.search(r"the store is asked for ([0-9.]+) % of the others", result.err)[1]) / 100
    asked = json.loads(result.err.splitlines()[-1])["asked"] / 200_000
    assert 0.9 * printed < asked < 1.1 * printed and printed < 0.02


def test_auto_reports_its_choice_and_the_reason(keys):
    def told(*args):
        return run("check", "--store", *args, input="a\n").err

    assert "screen strict: the store lists its 2000 keys, and 262 bits" in told("keys:keys", "-m", "64K")
    assert "screen cache: the store's 2000 keys do not fit" in told("keys:keys", "-m", "1K")
    assert "screen cache: the store cannot be listed" in told("keys:keys?list=no")
    assert told("keys:keys", "--screen", "auto").count("\n") == 1
    assert told("keys:keys", "--screen", "none") == ""


def test_the_figures_of_the_report_add_up(keys):
    for url, screen in ("keys:keys", "strict"), ("keys:keys?list=no", "cache"), ("keys:keys", "none"):
        _, told = stats(url, "--screen", screen, "--seed", "1")
        assert told["records"] == 9000 and told["members"] == len(FOUND) and told["unanswered"] == 0
        assert told["others"] == 9000 - len(FOUND) and told["asked"] + told["saved"] == 9000
        assert told["passed"] == len(FOUND) and told["store"]["keys"] <= told["asked"]
        assert told["screen"]["config"].startswith(screen)
    text = run("check", "--store", "keys:keys", "--stats", "text", input=TEXT).err
    assert f"9000 records: {len(FOUND)} members" in text and "different keys in" in text and "waited" in text


def test_a_screen_saves_calls(keys):
    """Compared with exact results: 5000 distinct keys; 3001 of the 9000 records are members."""
    _, none = stats("keys:keys", "--screen", "none")
    _, cache = stats("keys:keys?list=no", "--seed", "1")
    _, strict = stats("keys:keys", "-m", "64K", "--seed", "1")
    assert none["asked"] == 9000
    assert 5000 <= cache["asked"] < 5010  # memory for 6000 keys: none is evicted
    assert len(FOUND) <= strict["asked"] < len(FOUND) + 20


def test_a_key_is_looked_up_once_per_batch(keys):
    _, told = stats("keys:keys", "--screen", "none", input="a\n" * 1000 + "b\n")
    assert told["store"] == {**told["store"], "calls": 1, "keys": 2}


def test_a_slow_store_gives_the_same_answers_or_an_error(keys):
    url = "keys:keys?latency=1ms&batch=100"
    result, told = stats(url, "--screen", "none")
    assert result.lines == FOUND and told["store"]["seconds"] >= 0.05  # 5000 keys, a hundred per millisecond
    refused("check", "--store", "keys:keys?latency=20ms", "--screen", "none", "--timeout", "2ms", "--retries", "0",
            input=TEXT, saying="no answer within 0.002 s")


def test_parameters_of_the_screen(keys):
    _, told = stats("keys:keys", "--screen", "dabf", "-S", "window=1k", "-S", "theta=1/9", "-m", "1000bit")
    assert "window=1000" in told["screen"]["config"] and "theta=1/9" in told["screen"]["config"]
    assert "memory=125 " in told["screen"]["config"]
    _, told = stats("keys:keys", "--screen", "cache", "-S", "width=24", "--seed", "5")
    assert "width=24" in told["screen"]["config"] and "seed=5" in told["screen"]["config"]
    refused("check", "--store", "keys:keys", "--screen", "bloom", saying="there is no screen 'bloom'")
    refused("check", "--store", "keys:keys", "--screen", "strict", "-S", "window=5", saying="window")
    for old in "--window", "--theta":
        refused("check", "--store", "keys:keys", "--screen", "dabf", old, "5", saying=f"{old}: unknown option; use -S {old[2:]}=VALUE")


# ---- latency ----

def live(*args):
    return subprocess.Popen([WEIR, "check", "-q", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def test_each_line_is_answered_before_the_next_arrives(keys):
    process = live("--store", "keys:keys")
    for line in b"key0\n", b"key3\n", b"key6\n":
        os.write(process.stdin.fileno(), line)
        assert read_within(process.stdout.fileno()) == line
    process.stdin.close()
    assert process.wait(timeout=20) == 0


def test_a_record_waits_for_a_batch_at_most_as_long_as_allowed(keys):
    """Three lines, a moment apart: one lookup if they may wait, otherwise three."""
    for wait, calls in ("20s", 1), ("0s", 3):
        process = live("--store", "keys:keys", "--max-wait", wait, "--stats", "json", "--screen", "none")
        for line in b"key0\n", b"key3\n", b"key6\n":
            os.write(process.stdin.fileno(), line)
            if calls == 3:
                assert read_within(process.stdout.fileno()) == line
        out, err = process.communicate(timeout=20)
        assert json.loads(err)["store"]["calls"] == calls
        assert out == (b"key0\nkey3\nkey6\n" if calls == 1 else b"")


def unread(pipe):
    """The number of unread bytes."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_wait_ends_at_its_limit_or_a_signal(keys):
    process = live("--store", "keys:keys", "--max-wait", "100ms")
    os.write(process.stdin.fileno(), b"key0\n")
    assert read_within(process.stdout.fileno()) == b"key0\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    process = live("--store", "keys:keys", "--max-wait", "1h")
    os.write(process.stdin.fileno(), b"key0\n")
    while unread(process.stdin):  # until it is read and waits for a batch
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=20)[0] == b"key0\n" and process.returncode == -signal.SIGTERM


def test_the_progress_bar_counts_members(keys):
    seen = on_terminal(["check", "--store", "keys:keys?list=no&latency=50ms"], feed=slow_feed)
    assert "% members" in seen and "screen" in seen and "% full" in seen


# ---- state ----

def test_a_state_keeps_the_stores_answers(keys):
    url = "keys:keys?list=no"
    _, first = stats(url, "--state", "s", "--seed", "1")
    result, second = stats(url, "--state", "s")
    assert first["asked"] >= 5000 and second["asked"] == 0 and second["records"] == 9000
    assert result.lines == FOUND
    info = json.loads(run("info", "--format", "json", "s").out)
    assert info["checked"] == 18000 and info["asked"] == first["asked"] and url in info["records"]
    assert "screen      cache memory=1048576" in run("info", "s").out.decode()


def test_a_set_screen_learns_new_members(keys):
    check("keys:keys", "--state", "s", input="key1\n")
    with open("keys", "a") as f:
        f.write("key1\n")
    assert check("keys:keys", "--state", "s", input="key0\nkey1\nkey2\n").lines == ["key0", "key1"]


@pytest.mark.parametrize("screen", ["1bf", "strict"])
def test_a_set_screen_forgets_removed_members(keys, screen):
    args = ["--screen", screen, "-m", "64K", "--seed", "1", "--state", "s"]
    assert check("keys:keys", *args, input="key0\nkey3\n").lines == ["key0", "key3"]
    (keys / "keys").write_text("key3\nkey1\n")
    assert check("keys:keys", *args, "-S", "set=2000", input="key0\nkey1\nkey3\n").lines == ["key1", "key3"]
    assert json.loads(run("info", "--format", "json", "s").out)["checked"] == 5


@pytest.mark.skipif(SANITIZED, reason="it takes address space in its own way")
def test_a_set_larger_than_the_memory_is_an_error_or_exact(keys):
    """For any limit: one message, or exactly the members; the screen uses 64 MiB once, never twice."""
    right = 0
    for limit in range(16, 400, 16):
        done = subprocess.run(["prlimit", f"--as={limit << 20}", WEIR, "check", "-q", "--store", "keys:sorted", "--screen",
                               "strict", "-m", "64M"], input=TEXT.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode == 0:
            right += 1
            assert done.stdout.decode().splitlines() == FOUND
        else:
            assert done.returncode in (2, 127) and done.stderr.count(b"\n") == 1 and done.stdout == b""
    assert 0 < right < 24


def test_a_state_belongs_to_its_store_keys_and_screen(keys):
    check("keys:keys", "--state", "s", "--screen", "cache", "-m", "64K")
    (keys / "other").write_text("a\n")
    refused("check", "--store", "keys:other", "--state", "s", input="", saying="other keys")
    refused("check", "--store", "keys:keys", "--state", "s", "-k", "1", input="", saying="other keys")
    refused("check", "--store", "keys:keys", "--state", "s", "-m", "1M", input="", saying="another screen")
    refused("check", "--store", "keys:keys", "--state", "s", "--screen", "dabf", input="", saying="another screen")
    check("keys:keys", "--state", "s", "--screen", "cache", "-m", "64K")
    refused("dedup", "--state", "s", input="", saying="contains a screen")
    run("dedup", "--state", "d", input="a\n")
    refused("check", "--store", "keys:keys", "--state", "d", input="", saying="d")
    refused("check", "--store", "keys:keys", "--state", "keys", input="", saying="is input and output at once")


def test_resume_after_kill_9_gives_the_complete_output(keys):
    """At any moment: the state file is complete, the output is truncated to match it, nothing is lost or duplicated."""
    (keys / "in").write_text(TEXT * 30)
    args = ["check", "-q", "--store", "keys:keys?list=no&latency=10ms", "--state", "s", "--resume", "--checkpoint", "4k",
            "-m", "1K", "-S", "width=32", "--seed", "1", "-o", "out", "in"]
    killed = 0
    for delay in 0.05, 0.1, 0.15, 0.2, 0.1:
        process = subprocess.Popen([WEIR, *args])
        time.sleep(delay)
        process.kill()
        killed += process.wait(timeout=20) == -signal.SIGKILL
    assert killed >= 3
    run(*args)
    assert (keys / "out").read_text().split() == FOUND * 30


# ---- stores without a server ----

def test_sqlite_keys_are_text_and_blobs_of_any_bytes(here):
    odd = ["a\0b", b"\xff\xfe", "grüße", b"a", "x" * 300000, "", "'; DROP TABLE t; --"]
    make_table("db", odd, kind="")
    wanted = [k if isinstance(k, bytes) else k.encode() for k in odd]
    others = [b"a\0c", b"\xff", b"gr\xfc\xdfe", b"A", b"x" * 299999, b"'"]
    text = b"\n".join(wanted + others) + b"\n"
    for screen in "none", "auto", "cache":
        result = check("sqlite:db?table=t&column=k", "--screen", screen, input=text)
        assert result.out == b"\n".join(wanted) + b"\n"


def test_sqlite_finds_numbers_in_a_column_without_a_type(here):
    """SQLite considers 7 and '7' different there; weir compares the text."""
    make_table("db", [7, "8", b"9", 8.5, 0.1 + 0.2, 1e300, -3, 2**62, float("inf"), "word"], kind="")
    with sqlite3.connect("db") as db:
        db.execute("CREATE VIEW v AS SELECT k + 0 AS k FROM t WHERE k = 7")
    db.close()
    held = ["7", "8", "9", "8.5", "0.3", "1.0e+300", "-3", str(2**62), "Inf", "word"]
    others = ["007", "7.0", " 7", "7 ", "+7", "8.50", "0.30000000000000004", "1e300", "-03", str(2**63), str(2**64), "inf",
              "nan", "0x7", "6", "", "-", "."]
    for screen in "none", "auto", "cache":
        result = check("sqlite:db?table=t&column=k", "--screen", screen, input="\n".join(held + others) + "\n")
        assert result.lines == held
        assert check("sqlite:db?table=v&column=k", "--screen", screen, input="7\n8\n").lines == ["7"]


def test_sqlite_compares_bytes_not_numbers_or_case(here):
    make_table("numbers", [7, 8.5, 12345678901234], kind="NUMERIC")
    make_table("nocase", ["Anna", "BEN"], kind="TEXT COLLATE NOCASE")
    for screen in "none", "auto":
        assert check("sqlite:numbers?table=t&column=k", "--screen", screen,
                     input="7\n007\n7.0\n8.5\n8.50\n12345678901234\n").lines == ["7", "8.5", "12345678901234"]
        assert check("sqlite:nocase?table=t&column=k", "--screen", screen,
                     input="Anna\nanna\nBEN\nben\n").lines == ["Anna", "BEN"]


def test_names_are_quoted(here):
    evil = 'x" UNION SELECT name FROM sqlite_master; DROP TABLE u; --'
    make_table("d?b%", ["a"], table=evil, column='k" = k OR "1')
    with sqlite3.connect("d?b%") as db:
        db.execute("CREATE TABLE u (k)")
    db.close()

    def encoded(text):
        return "".join(f"%{byte:02x}" for byte in text.encode())

    url = f"sqlite:d%3Fb%25?table={encoded(evil)}&column={encoded('k' + chr(34) + ' = k OR ' + chr(34) + '1')}"
    assert check(url, input="a\nb\nu\n").lines == ["a"]
    refused("check", "--store", f"sqlite:d%3Fb%25?table=u&column={encoded('k) OR (1')}", input="", saying="no table 'u'")
    refused("check", "--store", "sqlite:d%3Fb%25?table=u&column=nothing", input="", saying="with a column 'nothing'")
    with sqlite3.connect("d?b%") as db:
        assert db.execute("SELECT count(*) FROM u").fetchone() == (0,)
    db.close()


def test_sqlite_is_opened_read_only(here):
    make_table("db", MEMBERS)
    before = (here / "db").read_bytes()
    os.chmod("db", 0o444)
    assert check("sqlite:db?table=t&column=k").lines == FOUND
    assert (here / "db").read_bytes() == before and sorted(p.name for p in here.iterdir()) == ["db"]


@pytest.fixture
def locked(here):
    """A database locked by a writer."""
    make_table("db", MEMBERS)
    db = sqlite3.connect("db", isolation_level=None)
    yield db
    db.close()


LOCKED = ["--timeout", "50ms", "--retries", "1", "--screen", "cache", "-m", "1M"]


def test_an_unreachable_store_is_reported_at_once(locked):
    locked.execute("BEGIN EXCLUSIVE")
    refused("check", "--store", "sqlite:db?table=t&column=k", *LOCKED, input=TEXT,
            saying=["locked by a writer", "tried 2 times"])


def feed(process, lines, expect=None):
    os.write(process.stdin.fileno(), lines)
    if expect is not None:
        assert read_within(process.stdout.fileno()) == expect


@pytest.mark.parametrize("what", ["stop", "pass", "drop"])
def test_on_error_decides_about_records_without_an_answer(locked, what):
    process = live("--store", "sqlite:db?table=t&column=k", *LOCKED, "--on-store-error", what, "--stats", "json",
                   "--state", "s")
    feed(process, b"key0\nkey1\n", b"key0\n")
    locked.execute("BEGIN EXCLUSIVE")
    # key0 was answered before; key3 and key4 were not
    feed(process, b"key0\nkey3\nkey4\nkey0\n",
         {"stop": b"key0\n", "pass": b"key0\nkey3\nkey4\nkey0\n", "drop": b"key0\nkey0\n"}[what])
    if what == "stop":
        out, err = process.communicate(timeout=20)
        assert process.returncode == 2 and out == b""
        assert b"line 4: not checked" in err and b"locked by a writer" in err and b"--on-store-error" in err
        assert json.loads(err.splitlines()[1])["records"] == 3
        return
    locked.execute("ROLLBACK")
    feed(process, b"key3\nkey4\nkey9\n", b"key3\nkey9\n")  # nothing was stored about keys without an answer
    out, err = process.communicate(timeout=20)
    lines = err.decode().splitlines()
    assert process.returncode == 0 and json.loads(lines[0])["unanswered"] == 2
    assert lines[1] == ("weir: 2 records could not be checked and were " + {"pass": "passed", "drop": "dropped"}[what]
                        + ": sqlite:db?table=t&column=k: locked by a writer (no answer within 0.05 s)"
                        " (tried 2 times)")


def test_records_without_an_answer_are_tagged_unknown(locked):
    process = live("--store", "sqlite:db?table=t&column=k", *LOCKED, "--on-store-error", "pass", "--emit", "all")
    feed(process, b"key0\nkey1\n", b"member\tkey0\nother\tkey1\n")
    locked.execute("BEGIN EXCLUSIVE")
    feed(process, b"key1\nkey2\n", b"other\tkey1\nunknown\tkey2\n")
    locked.execute("ROLLBACK")
    process.stdin.close()
    assert process.wait(timeout=20) == 0


def test_a_successful_retry_is_not_reported(locked):
    process = live("--store", "sqlite:db?table=t&column=k", "--timeout", "50ms", "--retries", "1000", "--stats", "json")
    feed(process, b"key0\n", b"key0\n")
    locked.execute("BEGIN EXCLUSIVE")
    feed(process, b"key3\nkey4\nkey6\n")
    time.sleep(0.5)
    locked.execute("ROLLBACK")
    assert read_within(process.stdout.fileno()) == b"key3\nkey6\n"
    out, err = process.communicate(timeout=20)
    told = json.loads(err)
    assert process.returncode == 0 and told["store"]["retries"] >= 1 and told["unanswered"] == 0


def test_a_signal_ends_a_wait_for_the_store(locked):
    process = live("--store", "sqlite:db?table=t&column=k", "--timeout", "100ms", "--retries", "1000",
                   "--on-store-error", "pass")
    feed(process, b"key0\n", b"key0\n")
    locked.execute("BEGIN EXCLUSIVE")
    feed(process, b"key3\n")
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGTERM and out == b"" and err == b""  # key3 is not guessed


def test_filter_confirms_in_a_store(locked, here):
    (here / "keys").write_text("\n".join(MEMBERS) + "\n")
    run("build", "-o", "f", "-m", "512", "keys")
    url = "sqlite:db?table=t&column=k"
    assert len(run("filter", "f", input=TEXT).lines) > len(FOUND) + 500
    assert run("filter", "--strict", url, "f", input=TEXT).lines == FOUND
    assert run("filter", "--strict", url, "--invert", "f", input=TEXT).lines == [k for k in STREAM if k not in SET]
    assert run("filter", "--strict", url, "-j", "3", "f", input=TEXT).lines == FOUND
    locked.execute("BEGIN EXCLUSIVE")
    refused("filter", "--strict", url, "--timeout", "50ms", "--retries", "0", "f", input=TEXT, saying="locked")


# ---- a key file that changes during the run ----

def cut(path):
    os.truncate(path, 0)


def cut_a_page_in_the_middle(path):
    """The rest of the page then reads as zeros, without a signal."""
    os.truncate(path, 30)


def write_in_place(path):
    with open(path, "r+b") as f:
        f.write(b"x" * 100)


@pytest.mark.parametrize("change", [cut, cut_a_page_in_the_middle, write_in_place])
@pytest.mark.parametrize("file", ["keys", "sorted"])
def test_a_modified_key_file_gives_no_answers(keys, file, change):
    for what in "stop", "drop":
        subprocess.run(["cp", file, "copy"], check=True)
        process = live("--store", "keys:copy?list=no", "--screen", "cache", "-m", "64K", "--state", "s", "--on-store-error",
                       what, "--stats", "json")
        feed(process, b"key0\nkey1\n", b"key0\n")
        change("copy")
        feed(process, b"key3\nkey4\n")
        out, err = process.communicate(timeout=20)
        told = json.loads(next(line for line in err.splitlines() if line.startswith(b"{")))
        assert out == b"" and b"keys:copy?list=no: the file changed while it was in use" in err
        assert process.returncode == (2 if what == "stop" else 0) and told["unanswered"] == (0 if what == "stop" else 2)
        info = json.loads(run("info", "--format", "json", "s").out)  # correct answers are saved, and nothing else
        assert info["members"] == 1 and info["asked"] == 2
        os.remove("s")


@pytest.mark.parametrize("file", ["keys", "sorted"])
def test_a_replaced_key_file_keeps_its_old_content(keys, file):
    process = live("--store", "keys:" + file, "--screen", "none")
    feed(process, b"key0\n", b"key0\n")
    (keys / "new").write_text("x\n")
    os.rename("new", file)
    feed(process, b"key3\nx\n", b"key3\n")
    process.stdin.close()
    assert process.wait(timeout=20) == 0


# ---- invalid options ----

@pytest.mark.parametrize("url,saying", [
    ("mysql://me:secret@host/db", "mysql: unknown store"),
    ("sqlite:", "expected sqlite:FILE"),
    ("sqlite:nothing?table=t&column=k", "sqlite:nothing?table=t&column=k: cannot open"),
    ("sqlite:keys?table=t&column=k", "not a database"),
    ("sqlite:db?table=t", "no file, table or column"),
    ("sqlite:db?table=t&column=k&mode=rw", "parameter 3 is unknown"),
    ("sqlite:db?table=t&column=%zz", "write it as %25"),
    ("sqlite:db?table=%00&column=k", "write it as %25"),
    ("keys:nothing", "keys:nothing: cannot search: No such file"),
    ("keys:.", "Is a directory"),
    ("keys:keys?latency=soon", "invalid latency or batch"),
    ("keys:keys?batch=0", "invalid latency or batch"),
    ("keys:keys?list=maybe", "invalid list=; use yes or no"),
    ("nothing", "keys:nothing: cannot search"),
    ("redis://me:secret@host", "expected redis://"),
    ("redis://me:secret@host:port/key", "expected redis://"),
    ("redis://me:se/cret@host/key", "write %40, %2F or %3F"),
    ("postgres://me:secret@host:port/db?table=t&column=k&x=y", "expected postgres://"),
    ("postgres://me:secret@[host/db?table=t&column=k", "expected postgres://"),
    ("postgres://host/db?password=secret&column=k", "no table or column"),
])
def test_invalid_addresses_are_reported_without_secrets(keys, url, saying):
    result = refused("check", "--store", url, input="a\n", saying=saying)
    assert "secret" not in result.err and "se/cret" not in result.err


def test_option_combinations(keys):
    refused("check", input="", saying="needs --store URL")
    refused("check", "--store", "keys:keys", "--timeout", "0s", saying="500ms")
    refused("check", "--store", "keys:keys", "--max-wait", "long", saying="5ms")
    refused("check", "--store", "keys:keys", "--retries", "-1", saying="from 0 to 1000")
    refused("check", "--store", "keys:keys", "--on-store-error", "guess", saying="stop|pass|drop")
    refused("check", "--store", "keys:keys", "-a", "bloom", saying="-a")


# ---- weir eval --store ----

@pytest.fixture
def screened(here):
    """A Zipf stream; some of its keys, frequent and rare ones, are members."""
    rng = random.Random(11)
    keys = [f"k{int(rng.paretovariate(0.5))}" for _ in range(40000)]
    members = {key for key in sorted(set(keys)) if rng.random() < 0.3} | {f"absent{i}" for i in range(2000)}
    (here / "set").write_text("\n".join(sorted(members)) + "\n")
    (here / "stream").write_text("\n".join(keys) + "\n")
    return keys, members


def test_eval_measures_screens_as_check_runs_them(screened, here):
    keys, members = screened
    rows = json.loads(run("eval", "--store", "keys:set", "--screen", "cache,dabf,1bf,strict", "-m",
                          "2K,16K", "--seed", "5", "--format", "json", "stream").out)
    assert [row["screen"] for row in rows] == ["cache", "dabf", "1bf", "strict"] * 2
    for row, memory in zip(rows, ["2K"] * 4 + ["16K"] * 4):
        checked = run("check", "--store", "keys:set", "--screen", row["screen"], "-m", memory,
                      "--seed", "5", "--emit", "all", "--stats", "json", "stream")
        said = [line.split("\t")[0] == "member" for line in checked.lines]
        is_member = [key in members for key in keys]
        right = sum(s and i for s, i in zip(said, is_member))
        wrong = sum(s and not i for s, i in zip(said, is_member))
        all_members = sum(is_member)
        assert row["n"] == len(keys) and row["members"] == all_members
        assert row["precision"] == pytest.approx(right / (right + wrong), rel=1e-5)
        assert row["recall"] == pytest.approx(right / all_members, rel=1e-5)
        assert row["fpr"] == pytest.approx(wrong / (len(keys) - all_members), rel=1e-5)
        assert row["fnr"] == pytest.approx(1 - right / all_members, rel=1e-4, abs=1e-9)
        assert row["calls"] == json.loads(checked.err.splitlines()[-1])["asked"]
        assert row["calls_share"] == pytest.approx(row["calls"] / len(keys), rel=1e-5)
    by = {(row["screen"], i // 4): row for i, row in enumerate(rows)}
    assert by["strict", 0]["precision"] == by["strict", 0]["recall"] == 1
    assert by["1bf", 0]["calls"] == 0 and by["1bf", 0]["precision"] < 0.99
    assert by["dabf", 0]["recall"] < 1 or by["dabf", 0]["precision"] < 1
    assert by["cache", 1]["calls"] < by["cache", 0]["calls"]


def test_the_html_report_of_screens(screened, here):
    keys, members = screened
    asked = ["eval", "--store", "keys:set", "-m", "4K", "--seed", "5", "stream"]
    said = run(*asked, "--report", "page.html").out.decode()
    rows = json.loads(run(*asked, "--format", "json").out)
    assert [row["screen"] for row in rows] == ["cache", "dabf", "1bf", "strict"]
    page = (here / "page.html").read_text()
    exact = min((row for row in rows if row["precision"] == row["recall"] == 1), key=lambda r: r["calls"])
    assert f"Of those without errors, {exact['screen']} in 4 KiB" in said
    assert "Fewer calls: 1bf" in said and said.split(". The page")[0].split(":")[0] in page
    for row in rows:
        assert f"<td>{row['calls']}</td>" in page and f"<td>{row['recall']:.4g}</td>" in page
    assert re.findall(r"<th>(\w+)</th>", page)[:5] == ["screen", "memory_bytes", "precision", "recall", "calls"]
    best = re.search(r'<tr class="best"><td>(\w+)</td>', page)
    assert best.group(1) == exact["screen"]
    assert run(*asked, "--format", "tsv").lines[0].split("\t") == list(rows[0])


def test_eval_of_screens_refuses_invalid_options(screened):
    refused("eval", "--screen", "dabf", "stream", saying="--screen needs --store URL")
    refused("eval", "--store", "keys:set", "-a", "bloom", "stream", saying="one of the two")
    refused("eval", "--store", "keys:set", "--curve", "3", "stream", saying="one of the two")
    refused("eval", "--store", "keys:set", "--screen", "bloom", "stream", saying="no screen 'bloom'")
    refused("eval", "--store", "keys:none", "stream", saying="keys:none")
    refused("eval", "--store", "keys:set", "--report", "stream", "stream", saying="stream")
    refused("eval", "--store", "keys:set", "--screen", "dabf", "-S", "slots=3", "stream",
            saying="slots")


def test_eval_gives_each_screen_its_own_parameters(screened):
    rows = json.loads(run("eval", "--store", "keys:set", "--screen", "cache,dabf", "-S", "theta=1/3",
                          "-S", "slots=12", "--format", "json", "stream").out)
    assert "slots=12" in rows[0]["settings"] and "theta=1/3" in rows[1]["settings"]
