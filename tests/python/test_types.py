"""Type hints: the stub says what the extension has, and users' code is checked by it."""
import importlib.util
import subprocess
import sys

import pytest

needs_mypy = pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not there")


def run(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd)


@needs_mypy
def test_the_stub_says_what_there_is(tmp_path):
    """Records have names for match besides, which all of them have."""
    (tmp_path / "allowed").write_text("weir._weir.[A-Za-z]+.__match_args__\n")
    said = run("mypy.stubtest", "weir._weir", "--allowlist", "allowed", cwd=tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr


@needs_mypy
def test_the_rest_has_types_too(tmp_path):
    """But for weir.scrapy: Scrapy has none."""
    said = run("mypy", "--strict", "--cache-dir", tmp_path / "cache", "-m", "weir", "-m", "weir._ready_made", cwd=tmp_path)
    assert said.returncode == 0, said.stdout


USE = '''
import array
import weir

with weir.open("memory=1M") as f:
    a: bool = f.observe("a", importance=3)
    b: bytes = f.observe_many(["a", b"b"], importance=[1, 2], times=array.array("Q", [1, 2]))
    c: bytes = f.observe_many(array.array("Q"), size=8)
    d: bool = "a" in f
    e: int = f.stats().observed
s = weir.screen("memory=1M", lambda keys: [None for _ in keys])
g: list[bool | None] = s.check_many(["a"])
h: bytes = weir.sketch("top").top(3)[0].key
for i in weir.unique([1, 2, 3], key=str):
    j: int = i
k: float = weir.plan()[0].cost
'''

WRONG = '''
import weir

weir.open(5)
weir.open().observe(5)
weir.open().observe("a", weight=1)
x: str = weir.open().observe_many([])
weir.screen("", lambda keys: 5)
for i in weir.unique([1, 2, 3], key=str):
    j: str = i
'''


@needs_mypy
def test_code_is_checked_by_it(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "wrong.py").write_text(WRONG)
    said = run("mypy", "--strict", "--cache-dir", tmp_path / "cache", "use.py", "wrong.py", cwd=tmp_path)
    found = {int(line.split(":")[1]) for line in said.stdout.splitlines() if line.startswith("wrong.py")}
    assert not [line for line in said.stdout.splitlines() if line.startswith("use.py")], said.stdout
    assert found >= {4, 5, 6, 7, 8, 10}, said.stdout
