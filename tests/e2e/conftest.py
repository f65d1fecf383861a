"""Runs the command as users do; WEIR is its path."""
import collections
import os
import pathlib
import random
import signal
import subprocess

import pytest

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and child processes inherit that

WEIR = os.environ["WEIR"]
SANITIZED = b"__asan_init" in pathlib.Path(WEIR).read_bytes()  # AddressSanitizer replaces the allocator
RACES_SEEN = b"__tsan_init" in pathlib.Path(WEIR).read_bytes()
LONG = os.environ.get("WEIR_LONG") == "1"
QUICK = os.environ.get("WEIR_QUICK") == "1"  # under sanitizers: all paths, fewer repetitions

# Tests of rates and rankings: other tests execute the same code with sanitizers.
statistics = pytest.mark.skipif(QUICK and not LONG, reason="statistics; make test-all runs it with sanitizers")

CASES_MAX = 12

# A filter so large that the streams of these tests have no false positives: verdicts equal those of an exact set.
EXACT = ["-a", "bloom", "-m", "4M", "-S", "k=8", "--seed", "1"]


def pytest_collection_modifyitems(config, items):
    """Under sanitizers, runs at most CASES_MAX cases of a parametrized test, always the same; make test-all runs all."""
    if not SANITIZED or LONG:
        return
    cases = collections.defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    kept = {item for name, all in cases.items() for item in random.Random(name).sample(all, min(len(all), CASES_MAX))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


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
    """Fails unless the command prints one message on standard error and exits with status 2."""
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
