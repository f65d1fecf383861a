"""weir as a co-process: one line of output for each line of input, immediately."""
import os
import pty
import select
import subprocess
import tty

import pytest

from conftest import WEIR, refused, run

PATIENCE = 20  # seconds; a line that waited for the next one would never arrive


class Helper:
    """Writes a line and waits for its answer."""

    def __init__(self, *args, terminal=False):
        self.pty = None
        inside = subprocess.PIPE
        if terminal:
            self.pty, inside = pty.openpty()
            tty.setraw(inside)
        self.process = subprocess.Popen([WEIR, *map(str, args)], stdin=inside, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        if terminal:
            os.close(inside)
        self.fd = self.pty if terminal else self.process.stdin.fileno()
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pty is None:
            self.process.stdin.close()
        else:
            os.close(self.pty)
        self.left = self.rest + self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait(PATIENCE)

    def write(self, data):
        os.write(self.fd, data)

    def lines(self, n, end=b"\n"):
        """Returns the next n lines; fails if there are more."""
        while self.rest.count(end) < n:
            assert select.select([self.process.stdout], [], [], PATIENCE)[0], f"no answer; {self.rest}"
            got = os.read(self.process.stdout.fileno(), 65536)
            assert got, "it ended"
            self.rest += got
        *lines, self.rest = self.rest.split(end)
        assert len(lines) == n and self.rest == b"", (lines, self.rest)
        return [line.decode() for line in lines]

    def ask(self, line):
        self.write(line.encode() + b"\n")
        return self.lines(1)[0]


@pytest.mark.parametrize("more", [[], ["-j", "2"], ["-j", "4", "--shards", "3"], ["-a", "bloom", "-m", "1M"]],
                         ids=" ".join)
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_every_line_is_answered_before_the_next_is_written(more, terminal):
    with Helper("dedup", "-q", "--emit", "all", *more, terminal=terminal) as helper:
        for i in range(40):
            assert helper.ask(f"k{i % 10}") == ("new" if i < 10 else "seen") + f"\tk{i % 10}"
        assert helper.ask("") == "new\t"
        assert helper.ask("") == "seen\t"
    assert helper.left == b"" and helper.process.returncode == 0


def test_incomplete_lines_wait_and_complete_lines_do_not():
    with Helper("dedup", "--emit", "all") as helper:
        helper.write(b"a\nb\nhal")
        assert helper.lines(2) == ["new\ta", "new\tb"]
        helper.write(b"f\na")
        assert helper.lines(1) == ["new\thalf"]
    assert helper.left == b"seen\ta\n"  # the end of input ends the last line


@pytest.mark.parametrize("more", [[], ["-j", "2"]], ids=" ".join)
def test_a_header_is_answered_before_the_first_record(more):
    with Helper("dedup", "--csv", "-k", "name", "--emit", "all", *more) as helper:
        assert helper.ask("id,name") == "verdict,id,name"
        assert helper.ask("1,ann") == "new,1,ann"
        assert helper.ask('2,"ann"') == 'seen,2,"ann"'
    with Helper("dedup", "--csv", "-k", "name", "--words", "NEW,SEEN", *more) as helper:
        assert [helper.ask(line) for line in ["id,name", "1,ann", "2,ann"]] == ["verdict", "NEW", "SEEN"]


@pytest.mark.parametrize("more", [[], ["-j", "2"]], ids=" ".join)
def test_a_blank_line_is_answered(more):
    with Helper("dedup", "--csv", "-k", "id", "--emit", "all", *more) as helper:
        assert [helper.ask(line) for line in ["id,name", "", "1,ann", ""]] == \
            ["verdict,id,name", "new,", "new,1,ann", "seen,"]
    with Helper("dedup", "--csv", "-k", "name", "--emit", "all", "--on-error", "skip", *more) as helper:
        assert [helper.ask(line) for line in ["id,name", "", "1,ann"]] == ["verdict,id,name", "skipped,", "new,1,ann"]


@pytest.mark.parametrize("more", [[], ["-j", "2"]], ids=" ".join)
def test_skipped_records_are_answered_too(more):
    with Helper("dedup", "--jsonl", "-k", "/id", "--on-error", "skip", "--emit", "all", *more) as helper:
        assert helper.ask('{"id":1}') == 'new\t{"id":1}'
        assert helper.ask('{"id":') == 'skipped\t{"id":'
        assert helper.ask('{"no":1}') == 'skipped\t{"no":1}'
        assert helper.ask('{"id":1}') == 'seen\t{"id":1}'
    with Helper("dedup", "--max-record", "1K", "--on-error", "skip", "--words", "OK,ERR,BH", *more) as helper:
        assert [helper.ask(line) for line in ["a", "x" * 500000, "a", "y" * 1025, "b"]] == \
            ["OK", "BH", "ERR", "BH", "OK"]
        helper.write(b"z" * 500000)
    assert helper.left == b"BH\n"


def test_the_words_of_every_command(here):
    (here / "keys").write_text("a\nb\n")
    run("build", "-o", "f", "keys")
    for command in [["filter", "f"], ["filter", "--keys", "keys"], ["filter", "--keys", "keys", "--strict", "keys"],
                    ["ask", "f"], ["check", "--store", "keys:keys"]]:
        with Helper(*command, "--words", "ERR,OK") as helper:
            assert [helper.ask(line) for line in ["a", "c", "b", "a", ""]] == ["OK", "ERR", "OK", "OK", "ERR"], command
    with Helper("check", "--store", "keys:keys", "--emit", "all") as helper:
        assert [helper.ask(line) for line in ["a", "c"]] == ["member\ta", "other\tc"]
    with Helper("dedup", "-z", "--words", "n,s") as helper:
        helper.write(b"a\0a\0")
        assert helper.lines(2, b"\0") == ["n", "s"]
    assert run("dedup", "--words", "n,s", "-o", "out", input="a\na\n").out == b""
    assert (here / "out").read_text() == "n\ns\n"


def test_a_line_for_each_line_of_a_long_stream():
    """Compared with an exact set, with malformed lines in between."""
    lines = [f"k{i * i % 70000}" if i % 97 else "no comma" for i in range(200000)]
    text = "".join(f"{i},{line}\n" if line != "no comma" else line + "\n" for i, line in enumerate(lines))
    said = run("dedup", "-d", ",", "-k", "2", "--on-error", "skip", "--words", "n,s,x", "-j", "2",
               "-a", "bloom", "-m", "4M", "-S", "k=8", "--seed", "1", input=text).lines
    seen, truth = set(), []
    for line in lines:
        truth.append("x" if line == "no comma" else "s" if line in seen else "n")
        seen.add(line)
    assert said == truth


@pytest.mark.parametrize("words", ["NEW", "NEW,", ",SEEN", "a,b,c,d", "", "a\n,b", "x" * 200 + ",y"])
def test_invalid_words_are_refused(words):
    refused("dedup", "--words", words, saying=["--words", "two words, such as NEW,SEEN"])


def test_words_answer_every_record_or_none():
    refused("dedup", "--words", "n,s", "--count-only", saying="--words: prints a word for every record")
    refused("dedup", "--words", "n,s", "--emit", "duplicates", saying="--words: prints a word for every record")
    refused("filter", "--words", "n,s", "--invert", "f", saying="--words: prints a word for every record")
