"""weir count and weir top, compared with exact counts."""
import collections
import fcntl
import json
import os
import pty
import signal
import random
import re
import struct
import subprocess
import termios
import time

import pytest

from conftest import WEIR, refused, run


def stream(n=50000, universe=5000, alpha=1.0, seed=3):
    weights = [1 / (i + 1) ** alpha for i in range(universe)]
    return random.Random(seed).choices([f"key{i}" for i in range(universe)], weights, k=n)


def text_of(keys):
    return "".join(f"{k}\n" for k in keys)


def table(result):
    return [(k, int(c), int(e), float(s))
            for k, c, e, s in (line.split("\t") for line in result.lines)]


def test_top_lists_the_most_frequent_within_its_bounds(here):
    keys = stream()
    exact = collections.Counter(keys)
    result = run("top", "-n", "50", "-m", "60K", "--seed", "1", input=text_of(keys))
    rows = table(result)
    assert len(rows) == 50
    for key, count, error, share in rows:
        assert count - error <= exact[key] <= count
        assert share == pytest.approx(count / len(keys), rel=1e-5)
    true = {k for k, _ in exact.most_common(50)}
    assert len(true & {r[0] for r in rows}) >= 48
    floor = int(re.search(r"at most (\d+) times", result.err).group(1))
    assert 0 < floor < exact.most_common(50)[-1][1]


def test_top_by_share_misses_no_key(here):
    keys = stream()
    exact = collections.Counter(keys)
    rows = table(run("top", "--share", "0.5%", "-q", input=text_of(keys)))
    assert {k for k, c in exact.items() if c >= 0.005 * len(keys)} <= {r[0] for r in rows}
    assert table(run("top", "--share", "1/200", "-q", input=text_of(keys))) == rows
    refused("top", "--share", "4/3", input="", saying="--share 4/3: invalid value")
    short = run("top", "--share", "0.01%", "-m", "12K", input=text_of(keys))
    assert "may be missing" in short.err


def test_counts_are_never_too_low(here):
    keys = stream()
    exact = collections.Counter(keys)
    (here / "log").write_text(text_of(keys))
    (here / "asked").write_text(text_of([f"key{i}" for i in range(6000)]))
    result = run("count", "-m", "64K", "--seed", "1", "--query", "asked", "log")
    found = dict(line.split("\t") for line in result.lines)
    over = [int(found[f"key{i}"]) - exact[f"key{i}"] for i in range(6000)]
    assert min(over) >= 0 and max(over) > 0
    bound = int(re.search(r"at most (\d+) with", result.err).group(1))
    assert sum(o > bound for o in over) <= 6000 * 0.0184  # e^-4
    assert bound == -(-2.718281828459045 * 50000 // 4096)


def test_count_lists_every_key_of_a_file_once(here):
    keys = stream(20000, 3000)
    exact = collections.Counter(keys)
    (here / "log").write_text(text_of(keys[:9000]))
    (here / "log2").write_text(text_of(keys[9000:]))
    result = run("count", "-m", "1M", "--seed", "1", "log", "log2")
    assert result.lines == [f"{k}\t{c}" for k, c in exact.items()]  # in order of first occurrence
    assert "20000 counted" in result.err and "missing" not in result.err
    small = run("count", "-m", "512", "--seed", "1", "log")
    assert len(small.lines) < len(set(keys[:9000])) and "may be missing" in small.err
    (here / "words").write_text("to be or not to be\n")
    assert run("count", "-q", "--ngrams", "2", "words").lines == [
        "to be\t2", "be or\t1", "or not\t1", "not to\t1"]


def test_weights_fields_and_formats(here):
    rows = "name,bytes\nann,500\nbob,7\nann,20\n"
    assert table(run("top", "-q", "--csv", "-k", "name", "-w", "bytes", input=rows)) == [
        ("ann", 520, 0, 0.986717), ("bob", 7, 0, 0.0132827)]
    lines = '{"u":"a","n":3}\n{"u":"b","n":4}\n{"u":"a","n":5}\n'
    assert table(run("top", "-q", "-k", "/u", "-w", "/n", input=lines))[0][:2] == ("a", 8)
    refused("top", "-w", "2", input="a 1\na x\n", saying=["the weight 'x' is not a number", "line 2"])
    assert run("top", "-q", "-k", "1", "-w", "2", "--on-error", "skip",
               input="a 1\na x\na 2\n").lines == ["a\t3\t0\t1"]
    assert run("top", "-q", "-z", input=b"a\nb\0a\nb\0").out == b"a\nb\t2\t0\t1\0"


def test_ngrams(here):
    words = "the quick  brown fox\tjumps over the quick brown dog\n"
    got = {r[0]: r[1] for r in table(run("top", "-q", "--ngrams", "3", input=words))}
    tokens = words.split()
    assert got == dict(collections.Counter(" ".join(tokens[i:i + 3]) for i in range(len(tokens) - 2)))
    assert run("top", "-q", "--ngrams", "3", input="two words\n").lines == []


def test_a_state_continues_and_partial_counts_are_merged(here):
    keys = stream()
    half = len(keys) // 2
    options = ["-q", "--seed", "7", "-m", "32K"]
    (here / "asked").write_text(text_of(sorted(set(keys))))
    (here / "none").write_text("")
    whole = run("count", *options, "--query", "asked", "--state", "whole", input=text_of(keys)).out
    for name, part in ("a", keys[:half]), ("b", keys[half:]):
        assert run("count", *options, "--state", name, input=text_of(part)).out == b""
    run("merge", "-o", "both", "a", "b")
    assert (here / "both").read_bytes() == (here / "whole").read_bytes()
    assert run("count", "-q", "--state", "a", "--query", "asked", input=text_of(keys[half:])).out == whole
    assert json.loads(run("info", "--format", "json", "both").out)["total"] == len(keys)
    assert "count-min memory=32768" in run("info", "both").out.decode()

    for name, part in ("ta", keys[:half]), ("tb", keys[half:]):
        run("top", *options, "--state", name, input=text_of(part))
    run("merge", "-o", "tops", "ta", "tb")
    exact = collections.Counter(keys)
    rows = table(run("top", "-q", "--state", "tops", "none"))
    assert all(c - e <= exact[k] <= c for k, c, e, _ in rows) and len(rows) == 20


def decayed(keys, half_life):
    exact = collections.defaultdict(float)
    for age, key in enumerate(reversed(keys)):
        exact[key] += 2 ** (-age / half_life)
    return exact


def test_counts_decay_by_records_across_runs(here):
    keys = stream(30000, 50) + stream(10000, 50, seed=4)[::-1]
    exact = decayed(keys, 4000)
    options = ["-q", "-S", "half-life=4k", "--seed", "1"]
    run("top", *options, "--state", "s", input=text_of(keys[:17000]))
    rows = table(run("top", *options, "--state", "s", "-n", "50", input=text_of(keys[17000:])))
    assert len(rows) == 50
    for key, count, error, _ in rows:
        assert exact[key] * 0.997 - 0.01 <= count <= exact[key] * 1.003 + 1.01 and error <= 1
    (here / "asked").write_text("key0\nkey1\n")
    counts = [line.split("\t") for line in run("count", *options, "--query", "asked", input=text_of(keys)).lines]
    assert [key for key, _ in counts] == ["key0", "key1"]
    for key, count in counts:
        assert exact[key] * 0.997 <= int(count) <= exact[key] * 1.003 + 1.01


def test_counts_decay_by_time_across_runs(here):
    (here / "none").write_text("")
    options = ["-q", "-S", "half-life=500ms", "--state", "s"]
    run("top", *options, input="a\n" * 100000)
    start = time.time()
    time.sleep(1)
    count = table(run("top", *options, "none"))[0][1]
    longest = time.time() - start + 5
    assert 100000 * 2 ** (-longest / 0.5) <= count <= 25300


def test_heavykeeper_lists_keys_without_bounds(here):
    keys = stream()
    exact = collections.Counter(keys)
    options = ["-a", "heavykeeper", "-m", "8K", "-S", "keys=20", "--seed", "1", "--state", "s"]
    result = run("top", *options, input=text_of(keys))
    rows = [line.split("\t") for line in result.lines]
    assert len(rows) == 20 and all(r[2] == "-" for r in rows)
    assert len({r[0] for r in rows} & {k for k, _ in exact.most_common(20)}) >= 18
    assert all(0.9 * exact[r[0]] <= int(r[1]) <= exact[r[0]] for r in rows[:10])
    assert "without a bound" in result.err
    assert run("top", "-q", "--state", "s", input="").lines == result.lines  # the state contains the algorithm
    assert "50 keys requested, but at most 20" in run("top", "-n", "50", "--state", "s", input="").err
    assert json.loads(run("info", "--format", "json", "s").out)["error"] is None
    assert "unbounded" in run("info", "s").out.decode()
    refused("merge", "-o", "m", "s", "s", saying="heavykeeper cannot be merged")
    refused("top", "-a", "bloom", saying="no sketch 'bloom'")
    refused("top", "-a", "top", "--state", "s", saying="another sketch")


def test_invalid_combinations_are_refused(here):
    (here / "a").write_text("x\n")
    refused("count", input="x\n", saying=["reads files twice", "--query", "weir top"])
    refused("count", "a", "-", saying="reads files twice")
    refused("top", "-S", "half-life=soon", "a", saying="half-life=soon: invalid value")
    refused("top", "--resume", "a", saying="--resume: not an option of")
    refused("top", "-n", "5", "--share", "1%", "a", saying="--share")
    refused("top", "-i", "1", "a", saying="-i")
    run("top", "-q", "--state", "t", "--seed", "1", "a")
    run("top", "-q", "--state", "u", "--seed", "2", "a")
    refused("merge", "-o", "m", "t", "u", saying=["seed=1", "seed=2", "run all with --seed 1"])
    refused("count", "--state", "t", "a", saying="not a sketch of 'weir count'")
    refused("top", "--state", "t", "-m", "2M", "a", saying="another sketch")
    refused("ask", "t", "a", saying="counts, not a filter")
    run("build", "-q", "-o", "f", "a")
    refused("top", "--state", "f", "a", saying="not a sketch")
    (here / "cut").write_bytes((here / "t").read_bytes()[:-3])
    refused("top", "--state", "cut", "a", saying="truncated")


def test_an_unwritable_state_is_reported_before_anything_is_counted(here):
    (here / "link").symlink_to("nowhere")
    (here / "few").write_text("x\n")
    for command in ["top"], ["count", "--query", "few"]:
        told = refused(*command, "--state", "link", input="x\ny\n", saying="symbolic link to missing file")
        assert told.out == b""


def test_a_table_is_refreshed_on_a_terminal(here):
    out, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
    process = subprocess.Popen([WEIR, "top", "-n", "3"], stdin=subprocess.PIPE, stdout=terminal,
                               stderr=subprocess.DEVNULL)
    os.close(terminal)
    for _ in range(4):
        os.write(process.stdin.fileno(), b"a\nb\na\n")
        time.sleep(0.6)
    process.stdin.close()
    seen = b""
    try:
        while chunk := os.read(out, 65536):
            seen += chunk
    except OSError:
        pass
    assert process.wait(timeout=20) == 0
    assert seen.count(b"count") >= 2 and b"\033[4A" in seen
    last = seen.replace(b"\r", b"").decode().split("\033[J")[-1].splitlines()
    assert [line.split()[:2] for line in last] == [["key", "count"], ["a", "8"], ["b", "4"], ["12", "counted,"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_the_counts_shown_on_a_terminal(here, number):
    out, terminal = pty.openpty()
    process = subprocess.Popen([WEIR, "top", "--state", "s"], stdin=subprocess.PIPE, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    while b"a " not in (os.write(process.stdin.fileno(), b"a\n"), os.read(out, 65536))[1]:
        pass
    if number == signal.SIGHUP:
        os.close(out)  # the terminal is closed: nothing can be drawn
    process.send_signal(number)
    if number != signal.SIGHUP:
        with pytest.raises(OSError):
            while os.read(out, 65536):
                pass
        os.close(out)
    assert process.wait(timeout=20) == -number
    assert run("top", "-q", "--state", "s", input="").lines[0].startswith("a\t")


@pytest.mark.parametrize("options, tolerance", [(["-S", "half-life=10m"], 0.05), ([], 0.001), (["-a", "heavykeeper"], 0.001)])
def test_rates_follow_event_time(here, options, tolerance):
    """Three of four records per second are a, however long reading takes. Rates are per minute of event time."""
    (here / "log").write_text("".join(f"{'aaab'[i % 4]} {1_600_000_000 + i}\n" for i in range(14400)))
    out, terminal = pty.openpty()
    process = subprocess.Popen([WEIR, "top", *options, "-k", "1", "--time", "2", "log"], stdout=terminal,
                               stderr=subprocess.DEVNULL)
    os.close(terminal)
    assert process.wait(timeout=20) == 0
    rows = [line.split() for line in os.read(out, 65536).decode().splitlines()]
    os.close(out)
    assert rows[0][2:4] == ["per", "min"]
    assert abs(float(rows[1][2]) / 45 - 1) < tolerance and abs(float(rows[2][2]) / 15 - 1) < tolerance, rows
    assert abs(float(rows[3][2].removesuffix("/min")) / 60 - 1) < tolerance, rows


def test_times_change_no_count_without_a_half_life(here):
    (here / "log").write_text("a 1600000000\nb 1600000300\na 1600000200\na 1600000600\n")
    for more in [], ["-a", "heavykeeper"]:
        result = run("top", "-k", "1", "--time", "2", *more, "log")
        assert [line.split("\t")[:2] for line in result.lines] == [["a", "3"], ["b", "1"]]
    refused("count", "-k", "1", "--time", "2", "log", saying="--time: nothing here uses time; add -S half-life=1h")


def screen(data):
    """The lines of the last screen."""
    return data.replace(b"\r", b"").decode().split("\033[J")[-1].splitlines()


def test_the_last_screen_is_exact(here):
    (here / "log").write_text("1234567 a\n7654321 b\n4000000000 c\n")
    for columns, errors in (80, True), (50, False):
        out, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([WEIR, "top", "-k", "2", "--weight", "1", "log"], stdout=terminal, stderr=subprocess.DEVNULL)
        os.close(terminal)
        assert process.wait(timeout=20) == 0
        lines = screen(os.read(out, 65536))
        os.close(out)
        rows = [line.split() for line in lines]
        assert [row[:2] for row in rows[1:4]] == [["c", "4000000000"], ["b", "7654321"], ["a", "1234567"]]
        assert all(row[4:] == ["0"] * errors for row in rows[1:4])
        assert rows[4][:2] == ["4008888888", "counted,"] and "q quits" not in lines[4]
        assert len({len(line) for line in lines[:4]}) == 1 and len(lines[0]) < columns


def test_q_ends_the_run_and_restores_the_terminal(here):
    out, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    process = subprocess.Popen([WEIR, "top", "--state", "s"], stdin=subprocess.PIPE, stdout=terminal, stderr=subprocess.PIPE)
    seen = b""
    while b"q quits" not in seen:
        os.write(process.stdin.fileno(), b"a\nb\na\n")
        seen += os.read(out, 65536)
    assert not termios.tcgetattr(terminal)[3] & (termios.ECHO | termios.ICANON)
    os.write(out, b"x")
    os.write(out, b"q")
    assert process.wait(timeout=20) == 0
    assert b"counted in all" in process.stderr.read()
    assert termios.tcgetattr(terminal) == before
    os.close(terminal)
    while True:
        try:
            seen += os.read(out, 65536)
        except OSError:
            break
    os.close(out)
    process.stdin.close()
    process.stderr.close()
    rows = [line.split() for line in screen(seen)]
    counts = [line.split("\t")[:2] for line in run("top", "-q", "--state", "s", input="").lines]
    assert [row[:2] for row in rows[1:3]] == counts and int(counts[0][1]) == 2 * int(counts[1][1]) > 0


def test_a_q_that_is_typed_as_input_is_counted(here):
    ours, terminal = pty.openpty()
    process = subprocess.Popen([WEIR, "top"], stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    os.write(ours, b"q\nq\n\x04")
    assert process.wait(timeout=20) == 0
    seen = b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert ["q", "2"] in [line.split()[:2] for line in screen(seen)]


def test_an_empty_input_misses_no_key(here):
    result = run("top", "--share", "1%", input="")
    assert result.out == b"" and "may be missing" not in result.err


def test_a_state_contains_how_its_keys_were_made(here):
    """With tabs between fields; a later query needs no key options."""
    (here / "log").write_text("a b 1\na b 2\nc d 3\n")
    (here / "asked").write_text("a\tb\nc\td\n")
    run("count", "-q", "--state", "counts", "-k", "1,2", "log")
    run("top", "-q", "--state", "tops", "-k", "1,2", "log")
    for more in [], ["-k", "1,2"]:
        assert run("count", "-q", "--state", "counts", "--query", "asked", *more, "/dev/null").lines == [
            "a\tb\t2", "c\td\t1"]
        assert run("top", "-q", "--state", "tops", *more, "/dev/null").lines == [
            "a\tb\t2\t0\t0.666667", "c\td\t1\t0\t0.333333"]
