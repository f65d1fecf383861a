"""Type hints: the stub matches the extension, and mypy checks user code with it."""
import importlib.util
import subprocess
import sys

import pytest

needs_mypy = pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is missing")


def run(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd)


@needs_mypy
def test_the_stub_matches_the_extension(tmp_path):
    said = run("mypy.stubtest", "weir._weir", cwd=tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr


@needs_mypy
def test_the_package_passes_mypy_strict(tmp_path):
    """Except weir.scrapy, because Scrapy has no types."""
    said = run("mypy", "--strict", "--cache-dir", tmp_path / "cache", "-m", "weir", "-m", "weir._ready_made", "-m", "weir._support", cwd=tmp_path)
    assert said.returncode == 0, said.stdout


USE = '''
import array
import collections
import datetime
import io
import numpy
import weir

with weir.Filter("memory=1M") as f:
    a: bool = f.observe("a", importance=3)
    b: weir.Verdicts = f.observe_many(["a", b"b"], importance=[1, 2], times=array.array("Q", [1, 2]))
    c: weir.Verdicts = f.observe_many(array.array("Q"), size=8)
    d: bool = "a" in f
    e: int = f.stats().observed
s = weir.Screen("memory=1M", lambda keys: [None for _ in keys])
g: list[bool | None] = s.check_many(["a"])
h: bytes = weir.Sketch("top").top(3)[0].key
for i in weir.unique([1, 2, 3], key=str):
    j: int = i
k: float = weir.plan()[0].rank
l: list[bool] = [not v for v in ~b[1:]]
f.update(str(n) for n in range(3))
f.add(7)
f |= weir.Filter("bloom", memory="1M", fpr=0.01, span=datetime.timedelta(hours=1))
f.observe("a", time=datetime.datetime.now(datetime.timezone.utc))
f.save(io.BytesIO())
m: int = len(weir.Filter.load(open("f", "rb")))
n = f.observe_many(numpy.array([1, 2]), skipna=True)
f.ask_many({"a", "b"}), f.ask_many(("a", None), skipna=True), f.ask_many(collections.deque("ab")), f.ask_many({"a": 1})
f.ask_many({"a": 1}.keys()), f.ask_many(b"aabb", size=2), f.ask_many(line for line in open("f"))
'''

WRONG = '''
import weir

weir.Filter(5)
weir.Filter().observe(5.5)
weir.Filter().observe("a", weight=1)
x: str = weir.Filter().observe_many([])
weir.Screen("", lambda keys: 5)
for i in weir.unique([1, 2, 3], key=str):
    j: str = i
weir.Filter().observe_many("abc")
weir.Filter().observe_many([1.5])
weir.Filter(memory=None)
'''


@needs_mypy
def test_mypy_finds_wrong_calls(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "wrong.py").write_text(WRONG)
    said = run("mypy", "--strict", "--cache-dir", tmp_path / "cache", "use.py", "wrong.py", cwd=tmp_path)
    found = {int(line.split(":")[1]) for line in said.stdout.splitlines() if line.startswith("wrong.py")}
    assert not [line for line in said.stdout.splitlines() if line.startswith("use.py")], said.stdout
    assert found >= {4, 5, 6, 7, 8, 10, 11, 12, 13}, said.stdout
