"""SIGUSR1 opens -o, --rejects and --audit again, so that logrotate can rename them. The examples of docs/operations.md run
with the real logrotate; every record is in exactly one file, in order."""
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import WEIR, refused, run

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
EXAMPLES = dict(zip(("create", "copytruncate"), re.findall(r"^```logrotate\n(.*?)^```$", (SOURCE / "docs/operations.md").read_text(), re.M | re.S)))
DEADLINE = 60


def until(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.01)


def records(start, n):
    """Each second record repeats a key."""
    return [f"k{i // 2},{i}" for i in range(start, start + n)]


def has_open(pid, path):
    open_files = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            open_files.add(os.stat(f"/proc/{pid}/fd/{fd}").st_ino)
    return path.exists() and path.stat().st_ino in open_files


def catches_usr1(pid):
    mask = re.search(r"^SigCgt:\t(.*)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]
    return int(mask, 16) >> (signal.SIGUSR1 - 1) & 1


class Weir:
    """A run that reads from a pipe."""

    def __init__(self, here, *options):
        self.here, self.sent = here, []
        self.process = subprocess.Popen([WEIR, "dedup", "-q", "--csv", "-k", "key", "--seed", "1", "-m", "1M", *options],
                                        cwd=here, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.write("key,n\n")

    def write(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def send(self, n, *names):
        """Feed n records, and wait until they are written: the last one to each file."""
        new = records(len(self.sent), n)
        self.sent += new
        self.write("\n".join(new) + "\n")
        for name, last in zip(names, new[-2:]):
            until(lambda: (self.here / name).exists() and (self.here / name).read_text().endswith(last + "\n"))

    def has_open(self, *names):
        return all(has_open(self.process.pid, self.here / name) for name in names)

    def reopen(self, *names):
        self.process.send_signal(signal.SIGUSR1)
        until(lambda: self.has_open(*names))

    def end(self):
        self.process.stdin.close()
        error = self.process.stderr.read().decode()
        self.process.stderr.close()
        assert self.process.wait(DEADLINE) == 0 and error == "", error


def content(paths):
    """All records of these files, each of which begins with the header."""
    lines = []
    for path in paths:
        data = path.read_bytes()
        head, *rest = (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()
        assert head == "key,n"
        lines += rest
    return lines


@pytest.mark.parametrize("state", [[], ["--state", "s"]])
def test_records_are_in_the_file_that_had_the_name(here, state):
    weir = Weir(here, "-o", "out", "--rejects", "rejects", "--audit", "audit", *state)
    for i in range(3):
        weir.send(100, "out", "rejects")
        for name in "out", "rejects", "audit":
            (here / name).rename(here / f"{name}.{i}")
        weir.reopen("out", "rejects")
        until(lambda: (here / "audit").exists())
        assert json.loads((here / "audit").read_text())["records"]["in"] == len(weir.sent)
    weir.send(100)
    weir.end()
    for name, first in ("out", 0), ("rejects", 1):
        assert content([here / f"{name}.0", here / f"{name}.1", here / f"{name}.2", here / name]) == weir.sent[first::2]
        assert content([here / f"{name}.1"]) == weir.sent[100 + first:200:2]
    audit = json.loads((here / "audit").read_text())["records"]
    assert (audit["in"], audit["passed"], audit["rejected"]) == (400, 200, 200)


def test_a_signal_without_a_renamed_file_changes_nothing(here):
    weir = Weir(here, "-o", "out", "--rejects", "rejects", "--state", "s")
    for i in range(3):
        weir.send(10, "out", "rejects")
        weir.process.send_signal(signal.SIGUSR1)
    weir.end()
    assert content([here / "out"]) == weir.sent[::2] and content([here / "rejects"]) == weir.sent[1::2]
    for command in ["top"], ["ask", "F"], ["dedup"]:
        run("build", "-q", "-o", "F", input="a\n")
        process = subprocess.Popen([WEIR, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(lambda: catches_usr1(process.pid))
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(b"a\n", DEADLINE)[0] and process.returncode == 0


@pytest.mark.parametrize("append", [[], ["--append"]])
def test_a_killed_run_continues_after_a_rotation(here, append):
    """The state describes the new files as soon as they are open, and only then is it saved here."""
    count = 1500000  # the runs are killed long before the end
    everything = records(0, count)
    (here / "in.csv").write_text("key,n\n" + "\n".join(everything) + "\n")
    options = ["dedup", "-q", "--csv", "-k", "key", "--seed", "1", "-m", "32M", "-o", "out", "--rejects", "rejects", "--state", "s", "--resume",
               "--checkpoint", "1h", "--audit", "audit", *append, "in.csv"]
    rotated = {"out": [], "rejects": []}
    for i in range(3):
        process = subprocess.Popen([WEIR, *options], cwd=here)
        until(lambda: process.poll() is not None or (has_open(process.pid, here / "rejects") and (here / "rejects").stat().st_size > 1000))
        process.send_signal(signal.SIGSTOP)
        if process.poll() is not None:
            break
        for name in rotated:
            rotated[name].append(here / f"{name}.{i}")
            (here / name).rename(rotated[name][-1])
        before = (here / "s").stat().st_mtime_ns if (here / "s").exists() else 0
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGCONT)
        until(lambda: (here / "s").exists() and (here / "s").stat().st_mtime_ns != before)
        process.kill()
        process.wait()
    run(*options)
    assert rotated["out"]
    for name, first in ("out", 0), ("rejects", 1):
        assert content([*rotated[name], here / name]) == everything[first::2]
    audit = json.loads((here / "audit").read_text())["records"]
    assert (audit["in"], audit["passed"], audit["rejected"]) == (count, count // 2, count // 2)


def test_a_file_that_cannot_be_opened_again_ends_the_run(here):
    (here / "dir").mkdir()
    weir = Weir(here, "-o", "dir/out")
    weir.send(10, "dir/out")
    (here / "dir").rename(here / "gone")
    weir.process.send_signal(signal.SIGUSR1)
    assert weir.process.wait(DEADLINE) == 2
    assert weir.process.stderr.read() == b"weir: cannot write dir/out: No such file or directory\n"
    weir.process.stderr.close()
    assert content([here / "gone/out"]) == weir.sent[::2]


def test_files_renamed_between_two_runs_need_append(here):
    (here / "log").write_text("a\nb\na\n")
    options = ["dedup", "-q", "--state", "s", "--resume", "-o", "once", "--rejects", "rejects", "log"]
    run(*options)
    for name in "once", "rejects":
        (here / name).rename(here / f"{name}.1")
    with open("log", "a") as log:
        log.write("c\nb\n")
    refused(*options, saying=["once has 0 bytes, but had 4 when s was saved", "--append"])
    assert not (here / "once").exists()
    run(*options, "--append")
    files = [(here / name).read_text() for name in ("once.1", "rejects.1", "once", "rejects")]
    assert files == ["a\nb\n", "a\n", "c\n", "b\n"]


def test_a_truncated_file_is_continued_at_its_end(here):
    weir = Weir(here, "-o", "out", "--state", "s", "--checkpoint", "1")
    weir.send(10, "out")
    os.truncate(here / "out", 0)
    weir.send(10, "out")
    weir.end()
    assert (here / "out").read_text().splitlines() == weir.sent[10::2]
    run("dedup", "-q", "--csv", "-k", "key", "-o", "out", "--state", "s", "--append", input="key,n\nnew,1\n")
    assert (here / "out").read_text().splitlines() == [*weir.sent[10::2], "new,1"]


@pytest.mark.skipif(not shutil.which("logrotate", path="/usr/sbin:/usr/bin:/sbin:/bin"), reason="logrotate is not installed")
@pytest.mark.parametrize("kind", ["create", "copytruncate"])
def test_the_logrotate_examples_lose_no_record(here, kind):
    weir = Weir(here, "-o", "once", "--rejects", "rejects", "--state", "s")
    text = EXAMPLES[kind].replace("/var/lib/weir/orders/", f"{here}/").replace("create 0640 weir weir", "create 0640")
    if kind == "create":
        assert "systemctl kill --signal=SIGUSR1 weir@orders.service || true" in text
        text = text.replace("systemctl kill --signal=SIGUSR1 weir@orders.service || true", f"kill -USR1 {weir.process.pid}")
    (here / "conf").write_text(text)
    os.chmod(here / "conf", 0o644)
    os.chmod(here, 0o755)
    for i in range(4):
        weir.send(1000, "once", "rejects")
        done = subprocess.run(["logrotate", "-f", "-s", here / "status", here / "conf"], capture_output=True, text=True,
                              env={**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        assert done.returncode == 0 and done.stderr == "", done.stderr
        if kind == "create":
            until(lambda: weir.has_open("once", "rejects"))
    weir.send(1000, "once", "rejects")
    weir.end()
    for name, first in ("once", 0), ("rejects", 1):
        paths = [here / name] + [next(p for p in (here / f"{name}.{i}", here / f"{name}.{i}.gz") if p.exists()) for i in range(1, 5)]
        assert [p.suffix for p in paths[2:]] == [".gz"] * 3
        if kind == "create":
            assert content(reversed(paths)) == weir.sent[first::2]
        else:  # the header is in the first file only
            parts = [gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes() for p in reversed(paths)]
            assert b"".join(parts).decode().splitlines() == ["key,n", *weir.sent[first::2]]
