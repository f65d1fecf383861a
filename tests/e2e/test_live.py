"""Long runs: immediate answers, a progress bar on a terminal, and signals."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

from conftest import EXACT, SANITIZED, WEIR, run

FAULT = os.environ.get("WEIR_FAULT_LIB")
needs_fault = pytest.mark.skipif(not FAULT, reason="WEIR_FAULT_LIB names no library that sets the clock")
A_SECOND_A_LOOK = {**os.environ, "LD_PRELOAD": str(FAULT), "WEIR_FAULT_FAST": "1"}


def read_within(fd, seconds=20):
    ready, _, _ = select.select([fd], [], [], seconds)
    assert ready, "no answer in time"
    return os.read(fd, 65536)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_each_line_is_answered_before_the_next_arrives(threads):
    process = subprocess.Popen([WEIR, "dedup", *EXACT, "-j", threads], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    for line in b"a\n", b"b\n", b"c\n":
        os.write(process.stdin.fileno(), line)
        assert read_within(process.stdout.fileno()) == line
    os.write(process.stdin.fileno(), b"a\nb\nd")
    time.sleep(0.05)
    os.write(process.stdin.fileno(), b"d\n")
    assert read_within(process.stdout.fileno()) == b"dd\n"
    process.stdin.close()
    assert process.wait(timeout=20) == 0


def test_input_from_tail_f(here):
    (here / "log").write_text("a\na\n")
    tail = subprocess.Popen(["tail", "-n", "+1", "-f", "log"], stdout=subprocess.PIPE)
    weir = subprocess.Popen([WEIR, "dedup"], stdin=tail.stdout, stdout=subprocess.PIPE)
    tail.stdout.close()
    try:
        assert read_within(weir.stdout.fileno()) == b"a\n"
        with open("log", "a") as log:
            log.write("a\nb\n")
        assert read_within(weir.stdout.fileno()) == b"b\n"
    finally:
        tail.kill()
        tail.wait()
    assert weir.wait(timeout=20) == 0


def test_a_non_blocking_input_is_waited_for():
    source, sink = os.pipe()
    os.set_blocking(source, False)
    process = subprocess.Popen([WEIR, "dedup"], stdin=source, stdout=subprocess.PIPE)
    time.sleep(0.1)
    os.write(sink, b"a\na\n")
    os.close(sink)
    assert process.communicate(timeout=20)[0] == b"a\n"


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_idle_run(number, threads):
    process = subprocess.Popen([WEIR, "dedup", "-j", threads], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    os.write(process.stdin.fileno(), b"a\n")
    assert read_within(process.stdout.fileno()) == b"a\n"
    process.send_signal(number)
    assert process.wait(timeout=20) == -number


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("passed", [1, 1 << 20, 10 << 20])
def test_a_signal_ends_a_busy_run_at_a_record(here, passed, threads):
    """The input does not end, so the run does not either."""
    data = b"".join(b"%019d\n" % i for i in range(1_500_000))
    with open("out", "wb") as out:
        process = subprocess.Popen([WEIR, "dedup", "-a", "bloom", "-m", "64M", "-S", "k=8", "--seed", "1", "-j", threads],
                                   stdin=subprocess.PIPE, stdout=out)
    feeder = threading.Thread(target=feed_until_it_ends, args=(process.stdin, data))
    feeder.start()
    until = time.monotonic() + 60
    while os.path.getsize("out") < passed and time.monotonic() < until:
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    status = process.wait(timeout=20)
    feeder.join()
    process.stdin = None
    out = (here / "out").read_bytes()
    assert status == -signal.SIGTERM and len(out) >= passed
    assert len(out) % 20 == 0 and data.startswith(out)


def feed_until_it_ends(stdin, data):
    try:
        stdin.write(data)
        stdin.flush()
        while True:  # keep it busy
            stdin.write(data[-20:])
            stdin.flush()
            time.sleep(0.001)
    except BrokenPipeError:
        pass


# ---- memory ----

@pytest.mark.skipif(SANITIZED, reason="sanitizers take memory of their own")
@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 1), reason="huge pages are taken at once")
@pytest.mark.parametrize("args", [["dedup"], ["dedup", "-j", "2"], ["dedup", "-a", "bloom"], ["dedup", "--shards", "4"]], ids=" ".join)
def test_a_few_records_use_little_memory(args):
    """Regression: the first key in each huge page used 2 MiB, so 100 records used all 64 MiB of the filter."""
    process = subprocess.Popen([WEIR, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    os.write(process.stdin.fileno(), b"".join(b"%d\n" % i for i in range(100)))
    assert all(process.stdout.readline() == b"%d\n" % i for i in range(100))
    with open(f"/proc/{process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    process.communicate()
    assert peak < 16 << 10, f"{peak} KiB"


# ---- a terminal ----

def terminal(columns=200):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return ours, theirs


def on_terminal(args, columns=200, feed=None, env=None):
    """Returns what a command writes to standard error if that is a terminal."""
    ours, theirs = terminal(columns)
    process = subprocess.Popen([WEIR, *args], stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=theirs, env=env)
    os.close(theirs)
    if feed:
        feed(process.stdin)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    assert process.wait(timeout=60) == 0
    os.close(ours)
    return seen.decode()


def slow_feed(stdin):
    for i in range(6):
        stdin.write(b"".join(b"%d\n" % (j % 700) for j in range(1000)))
        stdin.flush()
        time.sleep(0.12)
    stdin.close()


def test_the_bar_shows_progress():
    seen = on_terminal(["dedup", *EXACT], feed=slow_feed)
    assert "\r" in seen and "records" in seen and "/s" in seen
    assert "% seen" in seen and "filter" in seen and "full" in seen
    assert "left" not in seen  # the size of a pipe is not known


def test_no_bar_is_drawn_while_the_user_types():
    ours, theirs = pty.openpty()
    process = subprocess.Popen([WEIR, "dedup", *EXACT, "--stats", "none"], stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    for _ in range(4):
        os.write(ours, b"a\n")
        time.sleep(0.15)  # the bar is drawn every 0.1 s
    os.write(ours, b"\x04")
    assert process.wait(timeout=20) == 0
    seen = os.read(ours, 65536).split(b"\r\n")
    assert [line for line in seen if not line.startswith(b"weir: reading from the terminal")] == [b"a"] * 4 + [b""], "the echo alone"
    os.close(ours)


@needs_fault
def test_the_bar_shows_the_remaining_time_if_the_size_is_known(here):
    run("gen", "uniform:n=300k,distinct=60%", stdout=open("in", "wb"))
    seen = on_terminal(["dedup", "-k", "1", "--ignore-case", "in"], env=A_SECOND_A_LOOK)
    assert "[#" in seen and "%" in seen and "left" in seen


@needs_fault
def test_an_evaluation_has_a_bar_and_a_report():
    seen = on_terminal(["eval", "--synthetic", "uniform:n=600k", "-a", "recent,sbf", "-m", "1M"], env=A_SECOND_A_LOOK)
    assert "[#" in seen and "left" in seen and "% seen" in seen and "full" not in seen
    assert "600000 records" in seen and "2 filters in" in seen and "the exact baseline took" in seen


@pytest.mark.parametrize("more, lines", [([], 2), (["--permutations", "9"], 0)])
def test_a_signal_ends_an_evaluation_with_results_so_far(more, lines):
    ours, theirs = terminal()
    process = subprocess.Popen([WEIR, "eval", "--synthetic", "uniform:n=50M", "-a", "bloom", "-m", "1M", *more],
                               stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = b""
    while b"seen" not in seen:  # the bar is drawn: it has read some records
        seen += read_within(ours)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    os.close(ours)
    assert process.returncode == -signal.SIGINT and out.count(b"\n") == lines


def test_the_bar_fits_the_width_and_is_removed():
    seen = on_terminal(["dedup", *EXACT, "--stats", "none"], columns=40, feed=slow_feed)
    drawn = [piece.split("\x1b")[0] for piece in seen.split("\r")]
    assert any(drawn) and max(map(len, drawn)) < 40
    assert seen.endswith("\r\x1b[K")


def test_a_report_is_printed_on_a_terminal_unless_quiet(here):
    (here / "in").write_text("a\na\n")
    brief = on_terminal(["dedup", "in"])
    assert brief.startswith("weir: 2 records: 1 new, 1 seen (50.00 %) in ") and brief.count("\n") == 1
    assert "; filter 0.0 % full, false-positive rate " in brief
    assert on_terminal(["dedup", "--stats", "text", "in"]).count("\n") == 2
    for command in ["build", "-o", "F"], ["build", "--fixed", "-o", "F"], ["filter", "F"], ["ask", "F"], ["dedup", "--exact", "x"], ["ask", "--which", "F", "--"]:
        assert on_terminal([*command, "in"]).count("\n") == 1, command
    assert on_terminal(["dedup", "-q", "in"]) == ""


def test_reading_from_a_terminal_is_announced():
    ours, theirs = pty.openpty()
    process = subprocess.Popen([WEIR, "dedup"], stdin=theirs, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    assert b"reading from the terminal" in read_within(process.stderr.fileno())
    os.write(ours, b"\x04")
    assert process.wait(timeout=20) == 0
    os.close(ours)
    os.close(theirs)


@needs_fault
@pytest.mark.parametrize("command", [["dedup", "-S", "span=1h", "-m", "64K"], ["dedup", "--once-per", "1h"]])
def test_a_span_follows_elapsed_time_not_the_system_clock(here, command):
    env = {**os.environ, "LD_PRELOAD": FAULT, "WEIR_FAULT_CLOCK": "set", "WEIR_FAULT_BOOT": "passed"}
    process = subprocess.Popen([WEIR, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def pass_through(text):
        os.write(process.stdin.fileno(), text)
        return read_within(process.stdout.fileno())
    assert pass_through(b"a\na\nb\n") == b"a\nb\n"
    (here / "set").touch()  # the system clock jumps by a day
    assert pass_through(b"a\nc\n") == b"c\n"
    (here / "set").unlink()  # and back
    assert pass_through(b"a\nd\n") == b"d\n"
    (here / "passed").touch()  # a day passes
    assert pass_through(b"a\n") == b"a\n"
    process.stdin.close()
    assert process.wait(timeout=20) == 0
