"""Text around the data: units, notes, answers, metrics, tables."""
import fcntl
import json
import os
import pty
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import termios
import time

import pytest

from conftest import EXACT, QUICK, WEIR, refused, run


# ---- units ----

@pytest.mark.parametrize("size", ["4M", "4m", "4MB", "4mb", "4MiB", "4mib", "4096K", "0.00390625g", "4194304B"])
def test_sizes_are_accepted_in_common_spellings(size, here):
    run("build", "-m", size, "-o", "f", input="a\n")
    assert "memory=4194304 " in run("info", "f").lines[0]
    assert run("plan", "-m", size, "-a", "bloom", "--format", "tsv").lines == \
        run("plan", "-m", "4M", "-a", "bloom", "--format", "tsv").lines


def test_a_size_is_read_the_same_by_every_option(here):
    line = "x" * 2000 + "\n"
    for size in ["2K", "2k", "2KB", "2kb", "2KiB", "2048"]:
        assert run("dedup", "--max-record", size, input=line).status == 0
        assert run("top", "-S", f"memory={size}", "-q", input=line).status == 0
    refused("dedup", "--max-record", "1.5KB", input=line, saying="longer than 1536 bytes")
    for size in ["2Kb", "2KBs", "2XB", "KB"]:
        refused("dedup", "--max-record", size, input=line, saying=[size, "invalid value"])
        refused("dedup", "-m", size, input=line, saying=[f"memory={size}", "invalid value"])


def test_an_invalid_size_is_reported_once(here):
    (here / "in").write_text("a\n")
    for call in "build -m 1 -o f in", "dedup -m 63 in", "dedup --metrics no/such/folder in", "dedup --metrics no/such/folder -o out in":
        refused(*call.split())
    assert os.listdir(here) == ["in"]


@pytest.mark.parametrize("size,said", [("64", "-m 64 is 64 B; -m 64M would be 64 MiB"),
                                       ("2K", "-m 2K is 2.00 KiB; -m 2M would be 2 MiB"),
                                       ("4095", "-m 4095 is 4.00 KiB; -m 4095M would be 4095 MiB")])
def test_a_tiny_memory_is_reported(size, said, here):
    (here / "k").write_text("a\n")
    for command in [["dedup"], ["build", "-o", "f"], ["filter", "--keys", "k"]]:
        asked = run(*command, "-m", size, input="a\n")
        assert said in asked.err, asked.err
        assert said not in run(*command, "-q", "-m", size, input="a\n").err
    assert run("dedup", "-m", "4K", input="a\n").err == ""
    assert said not in run("eval", "--synthetic", "uniform:n=1k", "-a", "bloom", "-m", size).err


def test_a_checkpoint_without_unit_is_reported(here):
    asked = run("dedup", "-m", "64K", "--state", "s", "--checkpoint", "30", input="a\n")
    assert asked.err == ("weir: --checkpoint 30 saves after every 30 records; "
                         "--checkpoint 30s would save every 30 seconds\n")
    for when in ["30s", "1k", "1000000"]:
        assert run("dedup", "-m", "64K", "--state", "s", "--checkpoint", when, input="a\n").err == ""
    assert run("dedup", "-m", "64K", "-q", "--state", "s", "--checkpoint", "30", input="a\n").err == ""


# ---- -e ----

@pytest.mark.parametrize("keys,shards", [(300, 1), (10000, 1), (10000, 8)])
@pytest.mark.parametrize("rate", ["5%", "1%", "0.2%"])
def test_fpr_is_the_maximum_error_of_a_set(keys, shards, rate, here):
    """The error of the built filter, not the average: one in 40 or so sets of the computed size exceeds its rate by
    this much."""
    (here / "keys").write_text("".join(f"k{i}\n" for i in range(keys)))
    (here / "others").write_text("".join(f"o{i}\n" for i in range(400000)))
    for seed in range(1, 2 if QUICK else 6):
        run("build", "-e", rate, "--shards", shards, "--seed", seed, "-o", "f", "keys")
        hits = int(run("filter", "f", "--count-only", "others").out)
        ceiling = float(rate[:-1]) / 100 * 400000
        assert hits < ceiling + 2.5 * ceiling ** 0.5, (seed, hits)


# ---- --metrics ----

def samples(path):
    """name -> value of a file in the Prometheus text format; each type precedes its value."""
    found, types, helped = {}, {}, set()
    for line in path.read_text().splitlines():
        if line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name not in types and kind in ("counter", "gauge") and name in helped
            types[name] = kind
        elif line.startswith("# HELP "):
            assert "--stats json" not in line  # the generic text
            helped.add(line.split(" ")[2])
        else:
            name, labels, value = re.fullmatch(r'(weir_[a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+)\} (\S+)', line).groups()
            assert name in types and name not in found and labels.startswith('run="' + path.stem + '"')
            assert (types[name] == "counter") == name.endswith("_total")
            found[name] = float(value)
    return found


@pytest.mark.parametrize("command", [["dedup"], ["dedup", "-j", "2"], ["filter", "--keys", "keys"], ["ask", "f"],
                                     ["check", "--store", "keys:keys"]], ids=" ".join)
def test_metrics_equal_the_report(command, here):
    (here / "keys").write_text("".join(f"{i}\n" for i in range(50)))
    run("build", "-o", "f", "keys")
    text = "".join(f"{i % 70}\n" for i in range(1000))
    told = run(*command, "--metrics", "run.prom", "--stats", "json", input=text)
    stats = json.loads(told.err.splitlines()[-1])
    got = samples(here / "run.prom")
    names = {"bytes": "read_bytes_total", "seconds": None}
    for name, value in stats.items():
        if isinstance(value, int):
            assert got["weir_" + names.get(name, name + "_total")] == value, name
    about = "screen" if command[0] == "check" else "filter"
    assert got[f"weir_{about}_memory_bytes"] == stats[about]["memory"]
    assert got[f"weir_{about}_fill_ratio"] == pytest.approx(stats[about]["fill"], rel=1e-4)
    assert got["weir_run_ended"] == 1 and got["weir_records_total"] == 1000


@pytest.mark.parametrize("more", [[], ["-j", "2", "--shards", "3", "-q"]], ids=" ".join)
def test_metrics_show_eviction(here, more):
    """Compared with exact counts: the saved filter is asked for every key."""
    distinct, slots = 300_000, 256 * 1024 // 64 * 31
    (here / "in").write_text("".join(f"{i}\n" for i in range(distinct)) * 2)
    (here / "keys").write_text("".join(f"{i}\n" for i in range(distinct)))
    command = ["dedup", "--seed", "1", "-m", "256K", "--count-only", "--metrics", "run.prom", *more]
    run(*command, "--state", "s", "in")
    got = samples(here / "run.prom")
    evicted = run("ask", "s", "keys").out.count(b"new\t")
    assert evicted > 170_000
    assert got["weir_filter_keys"] == pytest.approx(distinct, rel=0.05)
    assert got["weir_filter_capacity_keys"] == pytest.approx(slots, rel=0.01)
    assert got["weir_filter_evicted_keys"] == pytest.approx(evicted, rel=0.05)
    first = 2 * distinct - got["weir_records_after_eviction_total"]
    ahead = 4 * 16384 if more else 0  # the filter may be some batches ahead of the sample, or behind it
    assert 0.6 * slots - ahead < first < slots + ahead  # threads detect it some batches later; a later run that observes few keys includes those of the first run
    run(*command, "--state", "s", input="a\nb\n")
    got = samples(here / "run.prom")
    assert got["weir_filter_evicted_keys"] > 170_000 and got["weir_records_after_eviction_total"] == 2


def test_metrics_show_no_eviction_if_all_keys_fit(here):
    (here / "in").write_text("".join(f"{i}\n" for i in range(50_000)))
    run("dedup", "--seed", "1", "-m", "256K", "--count-only", "--metrics", "run.prom", "in")
    got = samples(here / "run.prom")
    assert got["weir_filter_keys"] == pytest.approx(50_000, rel=0.05)
    assert got["weir_filter_evicted_keys"] == got["weir_records_after_eviction_total"] == 0


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (package prometheus)")
@pytest.mark.parametrize("command", [
    ["dedup"], ["dedup", "-S", "window=100"], ["dedup", "-a", "bloom"], ["filter", "--keys", "keys"], ["filter", "f"],
    ["filter", "--strict", "keys", "f"], ["ask", "f"], ["ask", "--which", "f", "g", "--"],
    ["check", "--store", "keys:keys"], ["check", "--store", "keys:keys", "--screen", "cache"]], ids=" ".join)
def test_promtool_finds_nothing(command, here):
    (here / "keys").write_text("".join(f"{i}\n" for i in range(50)))
    for name in "f", "g":
        run("build", "-o", name, "keys")
    run(command[0], "--metrics", "run.prom", *command[1:], "keys")
    samples(here / "run.prom")
    with open("run.prom") as metrics:
        done = subprocess.run(["promtool", "check", "metrics"], stdin=metrics, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(QUICK, reason="waits 15 seconds")
def test_metrics_are_kept_up_to_date(here):
    """Every 15 seconds, also without input."""
    child = subprocess.Popen([WEIR, "dedup", "--metrics", "run.prom", "-o", "out"], stdin=subprocess.PIPE)
    child.stdin.write(b"a\nb\na\n")
    child.stdin.flush()
    until = time.time() + 60
    while not (here / "run.prom").exists():
        assert time.time() < until
        time.sleep(0.1)
    assert samples(here / "run.prom")["weir_run_ended"] == 0
    while samples(here / "run.prom")["weir_records_total"] < 3:
        assert time.time() < until
        time.sleep(0.2)
    assert samples(here / "run.prom")["weir_run_ended"] == 0
    child.stdin.close()
    assert child.wait(30) == 0
    assert samples(here / "run.prom")["weir_run_ended"] == 1


def test_unwritable_metrics_are_reported_at_once(here):
    (here / "in").write_text("a\n")
    assert run("dedup", "--metrics", "no/such.prom", "in", ok=False).status == 2
    refused("dedup", "--metrics", "x", "-o", "x", "in", saying="--metrics at once")
    refused("dedup", "--metrics", "x", "--state", "x", "in", saying="--metrics at once")
    refused("dedup", "--metrics", "in", "in", saying="input and output at once")
    assert run("dedup", "--metrics", "/dev/stdout", "-o", "out", "in").out.count(b"weir_records_total{") == 2


# ---- CR LF line endings ----

def test_lists_with_crlf_match(here):
    (here / "crlf").write_bytes(b"b\r\na\r\n")
    (here / "sorted").write_bytes(b"a\r\nb\r\nb!\r\n")
    (here / "lf").write_bytes(b"b\na\n")
    (here / "unended").write_bytes(b"b\r\na\r")
    for end in (b"\n", b"\r\n"):
        text, hits = b"a%sc%sb%s" % (end, end, end), b"a%sb%s" % (end, end)
        for keys in ("crlf", "unended") if QUICK else ("crlf", "sorted", "lf", "unended"):
            run("build", "-q", "--seed", "1", "-o", "set", keys)
            for way in (["filter", "set"], ["filter", "--keys", keys, "--seed", "1"], ["filter", "set", "--strict", keys],
                        ["check", "--store", f"keys:{keys}"], ["check", "--store", f"keys:{keys}", "--screen", "none"]):
                for more in ([], ["--ignore-case"], ["--ignore-space"]):
                    if more and "set" in way:
                        continue
                    assert run(*way, "-q", *more, input=text).out == hits, (way, more)
            assert run("ask", "set", input=text).out == b"seen\ta%snew\tc%sseen\tb%s" % (end, end, end)
            assert run("ask", "--any", "set", input=text).out == b"seen\ta%snew\tc%sseen\tb%s" % (end, end, end)
            counts = run("count", "-q", "--query", keys, input=text).lines
            assert {"a\t1", "b\t1"} <= set(counts) <= {"a\t1", "b\t1", "b!\t0"}
        assert run("top", "-q", input=text + b"a\nb\r\na\r\n").out.count(b"\n") == 3


@pytest.mark.parametrize("options,text,passed", [
    ([], "a\r\na\nb\r\r\nb\r\n\r\n\n", "a\r\nb\r\r\nb\r\n\r\n"),
    (["-d:", "-k2"], "1:a\r\n2:a\n3:a\r:x\n", "1:a\r\n3:a\r:x\n"),
    (["--tsv", "-k1,2"], "a\tb\r\na\tb\nb\tb\n", "a\tb\r\nb\tb\n"),
    (["-d:", "-k1"], "a\r\na\n" + "x" * 70 + "\r\n" + "x" * 70 + "\n", "a\r\n" + "x" * 70 + "\r\n"),
    (["--tsv", "-k", "p"], "u\tp\r\n1\ta\r\n2\ta\n", "u\tp\r\n1\ta\r\n"),
    (["--csv"], "1,a\r\n1,a\n", "1,a\r\n"),
    (["--csv", "-k2", "--keep-cr"], "1,a\r\n2,a\n", "1,a\r\n"),
    (["--jsonl"], '{"a":1}\r\n{"a":1}\n', '{"a":1}\r\n'),
    (["-k/a"], '{"a":"b\\r"}\r\n{"a":"b"}\n', '{"a":"b\\r"}\r\n{"a":"b"}\n'),
    (["-z"], "a\r\0a\0", "a\r\0a\0"),
    (["-z", "-d:", "-k2"], "1:a\r\0002:a\0", "1:a\r\0002:a\0"),
    (["--keep-cr"], "a\r\na\na\r\n", "a\r\na\n"),
    (["--keep-cr", "-d:", "-k2"], "1:a\r\n2:a\n", "1:a\r\n2:a\n"),
    (["-i2", "-S", "importance=1-9", "-d,"], "a,1\r\na,1\n", "a,1\r\n"),
])
def test_cr_is_stripped_from_the_end_of_a_line_only(options, text, passed):
    algorithm = ["-a", "ibf-mc", "-m", "4M", "--seed", "1"] if "-i2" in options else EXACT
    assert run("dedup", *algorithm, *options, input=text).out.decode() == passed
    assert run("dedup", *algorithm, "-j", "2", *options, input=text).out.decode() == passed


def test_keep_cr_applies_to_lists_and_states(here):
    (here / "crlf").write_bytes(b"b\r\na\r\n")
    for way in (["filter", "--keys", "crlf", "--seed", "1"], ["check", "--store", "keys:crlf"]):
        assert run(*way, "-q", "--keep-cr", input=b"a\nb\r\n").out == b"b\r\n"
    run("dedup", "--state", "s", "--keep-cr", input="a\n")
    refused("dedup", "--state", "s", input="a\n", saying="--keep-cr")


# ---- --ignore-space ----

SPACES = " \t\r\v\f"


def folded(text):
    return " ".join(part for part in re.split(f"[{SPACES}]+", text) if part)


def spaced(r, words):
    gap = lambda least: "".join(r.choice(SPACES) for _ in range(r.choice([least, least, 1, 2, 20])))
    return gap(0) + "".join(word + gap(1) for word in words) if words else gap(0)


def test_ignore_space_equals_the_model():
    """Lengths around every multiple of the vector size, with white space at every position."""
    r = random.Random(1)
    keys = [["x" * r.randrange(1, 40) for _ in range(r.randrange(5))] for _ in range(300)]
    lines = [spaced(r, r.choice(keys)) for _ in range(4000)]
    want, seen = [], set()
    for line in lines:
        if folded(line) not in seen:
            want.append(line)
        seen.add(folded(line))
    assert len(want) < 310
    got = run("dedup", *EXACT, "--ignore-space", input="\n".join(lines) + "\n").out.decode().split("\n")[:-1]
    assert got == want
    assert len(run("dedup", *EXACT, input="\n".join(lines) + "\n").out.split(b"\n")) > 3000


@pytest.mark.parametrize("options,text,passed", [
    (["--csv", "-k", "1,2"], 'a ,b\na, b\n" a",b\nab,\n"a\nc",b\na c,b\n', 'a ,b\nab,\n"a\nc",b\n'),
    (["-d", ";", "-k", "2"], "1;a  b\n2; a b\n3;ab\n4;a b \n", "1;a  b\n3;ab\n"),
    (["--jsonl", "-k", "/k"], '{"k":"a\\tb"}\n{"k":" a b"}\n{"k":"ab"}\n', '{"k":"a\\tb"}\n{"k":"ab"}\n'),
    (["-z"], "a\nb\0a b\0ab\0", "a\nb\0ab\0"),
    (["--ignore-case"], "A  É\na é\nb\n", "A  É\nb\n"),
    ([], "a\r\na\n\n \n", "a\r\n\n"),
])
def test_ignore_space_in_every_format(options, text, passed):
    assert run("dedup", *EXACT, "--ignore-space", *options, input=text).out.decode() == passed
    assert run("dedup", *EXACT, "--ignore-space", "-j", "2", *options, input=text).out.decode() == passed


def test_ignore_space_of_sets_and_stores(here):
    (here / "keys").write_text("  Ann   Lee\nbob\n\tcid \n")
    text = "ann lee\nAnn\tLee \nAnnLee\n bob\ncid\n"
    for more, hits in [([], "Ann\tLee \n bob\ncid\n"), (["--ignore-case"], "ann lee\nAnn\tLee \n bob\ncid\n")]:
        for way in [["filter", "--keys", "keys"], ["filter", "--keys", "keys", "--strict", "keys"],
                    ["check", "--store", "keys:keys"]]:
            assert run(*way, "-q", "--ignore-space", *more, input=text).out.decode() == hits, way
    assert run("count", "-q", "--ignore-space", "--query", "keys", input=text).out.decode() == \
        "Ann Lee\t1\nbob\t1\ncid\t1\n"
    run("dedup", "--state", "s", "--ignore-space", input=text)
    refused("dedup", "--state", "s", input=text, saying="--ignore-space")


# ---- help ----

COMMANDS = re.findall(r"^  (\w+) {2,}[A-Z]", run("help").out.decode(), re.M)


@pytest.mark.parametrize("command", [[], *([c] for c in COMMANDS)], ids=" ".join)
def test_help_fits_into_80_columns(command):
    text = run("help", *command).out.decode()
    assert [line for line in text.splitlines() if len(line) >= 80] == []
    listed = re.findall(r"^  (?:-., |    )(--[a-z-]+)", text, re.M)
    assert len(listed) == len(set(listed))
    others = set(COMMANDS) - set(command)  # options documented elsewhere
    assert not re.search(r"\((?:%s)\b" % "|".join(others), text.split("options:")[-1]), text


def examples_of(command):
    """The example commands in its help, without the descriptions that follow two or more spaces."""
    lines = run("help", *command).out.decode().split("options:")[0].splitlines()
    return [re.split("  +", line.strip())[0] for line in lines if re.match(r"  (?=\S).*\bweir \w", line)]


VISIT = '{0}.example - - [10/Oct/2000:10:0{0}:00 -0700] "GET /{0} HTTP/1.0" 200 9\n'


def make_what_examples_name(here):
    (here / "access.log").write_text("".join(VISIT.format(i % 5) for i in range(2000)))
    (here / "proxy.log").write_text("1 get 1.example\n2 get fine.org\n")
    (here / "users.csv").write_text("id,email\n1,x@y\n2,x@y\n")
    for name in "hosts.txt", "new-hosts.txt", "few.txt", "ips.txt", "bad.txt", "today.log", "app.log":
        (here / name).write_text("1.example\nexample.org\n")
    for name in "bad", "a", "b", "eth0", "eth1":
        run("build", "-q", "-a", "counting", "-m", "64K", "-S", "capacity=100", "--seed", "1", "-o", name + ".weir", "hosts.txt")
    run("build", "-q", "-a", "recent", "-m", "64K", "-o", "seen.weir", "hosts.txt")
    with sqlite3.connect("bad.db") as db:
        db.execute("CREATE TABLE hosts (name)")
    db.close()


@pytest.mark.parametrize("command", [[], *([c] for c in COMMANDS)], ids=" ".join)
def test_the_examples_of_help_run(command, here):
    make_what_examples_name(here)
    examples = examples_of(command)
    assert examples or command[0] in ("help", "version")
    for line in examples:
        if "postgres:" in line or "redis:" in line:  # for servers on other hosts
            continue
        line = re.sub(r"\bn=\d+M", "n=100k", line.replace("tail -f", "cat"))
        done = subprocess.run(line, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
                              env={**os.environ, "PATH": f"{os.path.dirname(WEIR)}:{os.environ['PATH']}"})
        assert done.returncode == 0, (line, done.stderr)


# ---- keys of several fields ----

ROWS = "ann,x,1\nbob,y,2\nann,x,3\nann,y,4\n"


def test_the_fields_of_a_key_are_printed_with_tabs(here):
    (here / "in").write_text(ROWS)
    for way in [["-d", ","], ["--csv"]]:
        assert run("top", "-q", *way, "-k", "1,2", "in").lines[0].split("\t")[:3] == ["ann", "x", "2"]
        assert sorted(run("count", "-q", *way, "-k", "1,2", "in").lines) == ["ann\tx\t2", "ann\ty\t1", "bob\ty\t1"]
        assert run("count", "-q", *way, "-k", "2,1", "in").lines[0] == "x\tann\t2"
    text = '{"a":{"b":"ann"},"c":7}\n'
    assert run("top", "-q", "-k", "/a/b,/c", input=text).lines == ["ann\t7\t1\t0\t1"]


def test_files_of_keys_have_tabs_between_fields(here):
    (here / "keys").write_text("ann\ty\nbob\ty\n")
    (here / "spaced").write_text("ann \t  y\n  bob\ty \n")
    hits = "bob,y,2\nann,y,4\n"
    assert run("count", "-q", "-d", ",", "-k", "1,2", "--query", "keys", input=ROWS).lines == ["ann\ty\t1", "bob\ty\t1"]
    for way in [["filter", "--keys", "keys"], ["filter", "--keys", "keys", "--strict", "keys"],
                ["check", "-q", "--store", "keys:keys"], ["filter", "--keys", "spaced", "--strict", "spaced", "--ignore-space"]]:
        assert run(*way, "-d", ",", "-k", "1,2", input=ROWS).out.decode() == hits, way
        assert run(*way, "-d", ",", "-k", "1,2", "--ignore-case", input=ROWS).out.decode() == hits, way
    (here / "short").write_text("ann\n")
    refused("filter", "--keys", "short", "-d", ",", "-k", "1,2", input=ROWS, saying=["short, line 1", "1 field"])


# ---- top on a terminal ----

def on_terminal(args, columns, rows=24):
    """The final content of a terminal of this width: (standard output, standard error)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen([WEIR, *map(str, args)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    err = child.stderr.read().decode()
    child.stderr.close()
    assert child.wait(30) == 0, err
    return re.split(r"\x1b\[\d+A\r\x1b\[J", seen.decode().replace("\r\n", "\n"))[-1], err


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_top_fits_the_terminal(columns, here):
    keys = ["a long key, /of/a/path/that/goes/on/and/on/and/on/for/longer/than/forty/columns"] * 2500 + ["é"] * 1500 + ["b"] * 6000
    (here / "in").write_text("".join(key + "\n" for key in keys))
    text, _ = on_terminal(["top", "in"], columns)
    head, *rows, end = text.splitlines()
    assert all(len(line) < columns for line in text.splitlines())
    assert head.split() == ["key", "count", "per", "s", "share"] + (["error"] if columns >= 60 else [])
    assert [row[:5].strip() for row in rows] == ["b", "a lon", "é"]
    assert [row.split()[-4 if columns >= 60 else -3] for row in rows] == ["6000", "2500", "1500"]
    assert [row.split("%")[0].split()[-1] for row in rows] == ["60.00", "25.00", "15.00"]
    assert re.fullmatch(r"10000 counted, \S+/s", end)
    rates = [float(re.sub("[kMG]", "", row.split("%")[0].split()[-2])) for row in rows]
    assert all(rates)


# ---- tables ----

@pytest.mark.parametrize("columns", [40, 50, 60, 80])
@pytest.mark.parametrize("command", [["help"], *(["help", c] for c in COMMANDS), ["list"], ["list", "recent"]], ids=" ".join)
def test_help_and_lists_fit_the_terminal(columns, command):
    """Except commands to copy, which are not broken."""
    lines = on_terminal(command, columns)[0].splitlines()
    assert [line for line in lines if len(line) >= columns and "weir " not in line and "redis://" not in line] == []
    words = " ".join(" ".join(lines).split())
    assert words == " ".join(run(*command).out.decode().split())


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("command", [["eval", "-q", "--synthetic", "uniform:n=20k,distinct=60%", "-m", "4K,16K", "-a", "recent,bloom,ibf-mc"],
                                     ["plan", "-q", "-m", "1M", "--stream", "endless"],
                                     ["plan", "-q", "-m", "64M", "--stream", "uniform:n=100M,distinct=60%"],
                                     ["plan", "-q", "--window", "1M", "-e", "0.1%"],
                                     ["plan", "-q", "--count", "5M", "-e", "0.1%"]],
                         ids=lambda c: " ".join(c[:4]))
def test_tables_fit_the_terminal(columns, command):
    text, _ = on_terminal(command, columns)
    lines = text.splitlines()
    assert all(len(line) < columns for line in lines), lines
    assert len(lines[0].split()) in ([5, 6] if columns >= 60 else [3, 4, 5]) and re.search(r"\d [KM]iB ", lines[1])
    wide, _ = on_terminal([*command, "--wide"], columns)
    assert len(wide.splitlines()[0].split()) >= 7 and not re.search(r"\de-\d", text + wide)
    assert max(map(len, wide.splitlines())) > 90


def test_rates_in_a_table_equal_the_report():
    args = ["eval", "-q", "--synthetic", "uniform:n=20k,distinct=60%,seed=1", "-m", "4K", "--seed", "1", "-a", "recent,bloom,sbf"]
    rows = json.loads(run(*args, "--format", "json").out)
    shown = [re.split("  +", line) for line in run(*args).lines]
    assert shown[0] == ["algorithm", "settings", "memory", "fpr", "fnr"]
    assert len(rows) == 3
    for row, cells in zip(rows, shown[1:], strict=True):
        for name, cell in zip(["fpr", "fnr"], cells[3:]):
            assert float(cell.rstrip("%")) / 100 == pytest.approx(row[name], rel=0.05, abs=1e-6)


def test_lists_fit_80_columns():
    names = re.findall(r"^([\w-]+)$", run("list").out.decode(), re.M)
    assert len(names) > 10
    for name in [[], *([n] for n in names), ["count-min"]]:
        assert [line for line in run("list", *name).lines if len(line) >= 80] == []


# ---- windows ----

N = 1000
LATE = {"recent": 17 / 16 * N + 20, "two-buffer": 2 * N + 20, "apbf": N + 16 * N / 10}  # apbf halves the remaining keys per slice


def seen_after(filter, gap, filler, times=1):
    """How many of 20 keys are seen when they repeat after each gap in records."""
    slices = ["-S", "slices=10"] if filter == "apbf" else []
    keys, lines = [f"key{i}" for i in range(20)], []
    for time in range(times):
        lines += keys + [filler(time * 100000 + i) for i in range(int(gap))]
    said = run("dedup", "-a", filter, "-S", f"window={N}", "-e", "0.01%", "-q", *slices, "--seed", "1", "--emit", "all",
               input="".join(line + "\n" for line in lines + keys)).lines
    return sum(line.startswith("seen") for line in said[-20:])


@pytest.mark.parametrize("filter", LATE)
def test_a_window_is_a_number_of_records(filter):
    """Keys among the latest N records are seen, whatever those records are; a repeat counts as an occurrence."""
    for filler in str, lambda i: str(i % 3), lambda i: str(i // 2):
        assert seen_after(filter, N - 20, filler) == 20
        assert seen_after(filter, N - 20, filler, times=5) == 20  # renewed each time


@pytest.mark.parametrize("filter", LATE)
def test_a_window_of_new_keys_ends(filter):
    assert seen_after(filter, LATE[filter], str) <= 1


def test_windows_of_repeats_end_by_records_or_stay():
    """weir counts records. Other filters count new keys: without any, nothing is forgotten."""
    assert seen_after("recent", LATE["recent"], lambda i: "same") <= 1
    assert seen_after("two-buffer", 20 * N, lambda i: "same") == 20
    assert seen_after("apbf", 20 * N, lambda i: "same") == 20
