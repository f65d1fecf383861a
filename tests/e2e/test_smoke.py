"""Each command of `weir help` runs once and prints what it should; make check runs this file."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import SANITIZED, run
from servers import Redis

# The records are a b a, and f.weir has the keys a and b. Standard output is matched from its start to its end.
COMMANDS = {
    "dedup": ("dedup t", "a\nb\n"),
    "build": ("build -m 4K -o new.weir t", ""),
    "filter": ("filter f.weir other", "b\n"),
    "check": ("check --store keys:t other", "b\n"),
    "ask": ("ask f.weir other", "new\tz\nseen\tb\n"),
    "add": ("add f.weir other", ""),
    "forget": ("forget f.weir t", ""),
    "count": ("count t", "a\t2\nb\t1\n"),
    "top": ("top -n 1 t", "a\t2\t0\t0.666667\n"),
    "info": ("info f.weir", r"filter +counting memory=4096 .*"),
    "merge": ("merge -o new.weir f.weir f.weir", ""),
    "grow": ("grow r.weir -m 8K -o new.weir", ""),
    "eval": ("eval -a recent,bloom -m 1K t", r"algorithm .*\nrecent .* 0% +0%\nbloom .* 0% +0%\n"),
    "plan": ("plan -a bloom -m 1K --count 100", r"algorithm .*\nbloom +capacity=100 .*"),
    "gen": ("gen uniform:n=3,seed=1", "(\\w+\n){3}"),
    "list": ("list", r"recent\n.*\nbloom\n.*"),
    "help": ("help dedup", r"usage: weir dedup .*"),
    "version": ("version", r"weir \d+\.\d+\.\d+\n"),
}
AFTERWARDS = {  # the answers of the written file for z and b
    "build": ("new.weir", ["new\tz", "seen\tb"]),
    "add": ("f.weir", ["seen\tz", "seen\tb"]),
    "forget": ("f.weir", ["new\tz", "new\tb"]),
    "merge": ("new.weir", ["new\tz", "seen\tb"]),
    "grow": ("new.weir", ["new\tz", "seen\tb"]),
}


@pytest.fixture
def files(here):
    (here / "t").write_text("a\nb\na\n")
    (here / "other").write_text("z\nb\n")
    run("build", "-a", "counting", "-m", "4K", "--seed", "1", "-o", "f.weir", "t")
    run("build", "-a", "recent", "-m", "4K", "--seed", "1", "-o", "r.weir", "t")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_what_it_should(files, command):
    words, printed = COMMANDS[command]
    done = run(*words.split(), "-q") if command in ("build", "add", "forget", "check") else run(*words.split())
    assert re.fullmatch(printed, done.out.decode(), re.S), done.out
    if command in AFTERWARDS:
        file, answers = AFTERWARDS[command]
        assert run("ask", file, "other").lines == answers


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
@pytest.mark.skipif(SANITIZED, reason="a server cannot load a sanitized module")
def test_load_and_save_move_a_filter_into_a_server_and_back(files):
    server = Redis("--loadmodule", os.environ["WEIR_MODULE"])
    try:
        run("load", "-q", "--at", server.url("key"), "f.weir")
        run("save", "-q", "--at", server.url("key"), "-o", "back.weir")
    finally:
        server.close()
    assert run("ask", "back.weir", "other").lines == ["new\tz", "seen\tb"]


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
@pytest.mark.skipif(SANITIZED, reason="a server cannot load a sanitized module")
@pytest.mark.parametrize("shards", ["1", "3"])
def test_a_filter_in_servers_grows_as_a_file(here, shards):
    server = Redis("--loadmodule", os.environ["WEIR_MODULE"])
    keys = "".join(f"{i}\n" for i in range(9000))
    try:
        run("dedup", "-q", "--at", server.url("key"), "-m", "96K", "--shards", shards, "--seed", "1", input=keys)
        run("save", "-q", "--at", server.url("key"), "-o", "saved.weir")
        run("grow", "saved.weir", "-m", "384K", "-o", "larger.weir")
        run("load", "-q", "--at", server.url("larger"), "larger.weir")
        assert run("dedup", "-q", "--at", server.url("larger"), input=keys + "new\n").lines == ["new"]
    finally:
        server.close()


def test_every_command_is_run():
    listed = re.findall(r"^  (\w+)  ", run("help").out.decode(), re.M)
    assert sorted(listed) == sorted([*COMMANDS, "load", "save"])


@pytest.mark.skipif(SANITIZED, reason="once is enough")
def test_the_demo_completes(tmp_path):
    source = pathlib.Path(os.environ["WEIR_SOURCE"])
    (tmp_path / "scripts").mkdir()
    (tmp_path / "build/tool").mkdir(parents=True)
    shutil.copy(source / "scripts/demo", tmp_path / "scripts")
    (tmp_path / "build/tool/weir").symlink_to(os.environ["WEIR"])
    done = subprocess.run([tmp_path / "scripts/demo"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--screen cache" in done.stderr
