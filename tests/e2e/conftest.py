"""The real binary, run as its users run it. WEIR names it."""
import os
import pathlib
import signal
import subprocess

import pytest

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, which children inherit

WEIR = os.environ["WEIR"]
SANITIZED = b"__asan_init" in pathlib.Path(WEIR).read_bytes()  # it takes memory in its own way
RACES_SEEN = b"__tsan_init" in pathlib.Path(WEIR).read_bytes()
LONG = os.environ.get("WEIR_LONG") == "1"
QUICK = os.environ.get("WEIR_QUICK") == "1"  # under sanitizers: every path, but fewer repetitions for the sake of figures

# A filter so large for the streams of these tests that its errors do not
# show: verdicts equal those of an exact set.
EXACT = ["-a", "bloom", "-m", "4M", "-S", "k=8", "--seed", "1"]


class Result:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr.decode()

    @property
    def lines(self):
        return self.out.decode().splitlines()


def run(*args, input=b"", cwd=None, ok=True, **more):
    if isinstance(input, str):
        input = input.encode()
    if "stdin" not in more:
        more["input"] = input
    done = subprocess.run([WEIR, *map(str, args)], cwd=cwd, timeout=120,
                          stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, **more)
    result = Result(done)
    if ok:
        assert result.status == 0, result.err
    return result


def refused(*args, saying=(), **more):
    """One message on stderr, exit 2."""
    result = run(*args, ok=False, **more)
    assert result.status == 2, (result.status, result.err)
    assert result.err.startswith("weir: ") and result.err.count("\n") == 1, result.err
    for word in [saying] if isinstance(saying, str) else saying:
        assert word in result.err, result.err
    return result


def unique(items):
    return list(dict.fromkeys(items))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
