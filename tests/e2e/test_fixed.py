"""Immutable sets: weir build --fixed, and filter --keys."""
import json
import os
import resource
import signal
import subprocess
import time

import pytest

from conftest import SANITIZED, WEIR, refused, run


@pytest.fixture
def keys(here):
    (here / "keys").write_text("".join(f"key{i}\n" for i in range(20000)))
    return here


def others(n):
    return "".join(f"other{i}\n" for i in range(n))


@pytest.mark.parametrize("options", [[], ["-j", "3"], ["--shards", "5"], ["-a", "fuse"], ["-S", "bits=13"],
                                     ["-e", "1e-6"], ["-S", "hash=sip"]])
def test_a_fixed_set_has_all_its_keys_and_few_others(keys, options):
    run("build", "--fixed", "--seed", "3", "-o", "f", *options, "keys")
    info = json.loads(run("info", "--format", "json", "f").out)
    assert info["config"].startswith("fuse ") and info["observed"] == info["new"] == 20000
    assert run("filter", "--count-only", "f", "keys").lines == ["20000"]
    assert run("ask", "-q", "f", "keys").status == 0
    passed = int(run("filter", "--count-only", "f", input=others(100000)).lines[0])
    expected = 100000 * info["error"]
    assert abs(passed - expected) <= 5.2 * expected ** 0.5 + 1
    run("info", "--verify", "f")


def test_fixed_is_smaller_and_build_suggests_it(keys):
    told = run("build", "-o", "b", "keys").err
    assert told.startswith("weir: --fixed would take ") and told.count("\n") == 1
    assert run("build", "-q", "-o", "b", "keys").err == ""
    assert run("build", "-a", "bloom", "-o", "b", "keys").err == ""
    assert run("build", "--fixed", "-o", "f", "keys").err == ""
    assert os.path.getsize("f") < 0.9 * os.path.getsize("b")


def test_the_same_set_gives_the_same_file_in_any_order(keys):
    lines = (keys / "keys").read_text().splitlines()
    run("build", "--fixed", "--seed", "1", "-o", "a", "keys")
    run("build", "--fixed", "--seed", "1", "-o", "b", input="\n".join(reversed(lines)))
    assert (keys / "a").read_bytes() == (keys / "b").read_bytes()
    twice = json.loads(run("build", "--fixed", "--seed", "1", "--stats", "json", "-o", "c", "keys", "keys").err)
    assert twice["records"] == 40000 and twice["keys"] == 20000
    text = run("info", "c").out.decode()
    assert "40000 keys: 20000 new, 20000 seen" in text and "capacity=20000 " in text


@pytest.mark.parametrize("n", [0, 1, 2, 3, 100])
def test_small_sets(here, n):
    text = "".join(f"k{i}\n" for i in range(n))
    run("build", "--fixed", "-o", "f", input=text)
    assert run("filter", "f", input=text + "x\n", ok=True).lines[:n] == text.split()
    if n == 0:
        assert run("filter", "f", input=others(1000)).lines == []


def test_changing_it_is_refused_with_the_build_to_use(keys):
    run("build", "--fixed", "-o", "f", "keys")
    before = (keys / "f").read_bytes()
    refused("add", "f", "keys", saying=["f is fixed", "weir build --fixed -o F KEYS", "weir build -o F KEYS"])
    refused("forget", "f", "keys", saying=["fuse cannot remove a key", "weir build -a NAME -o F KEYS"])
    run("build", "--fixed", "-o", "f2", "keys")
    told = refused("merge", "-o", "g", "f", "f2", saying=["f is fixed", "weir build --fixed -o F KEYS"]).err
    assert "--seed" not in told
    refused("dedup", "-a", "fuse", "keys", saying="weir build --fixed")
    refused("eval", "-a", "fuse", "keys", saying="weir build --fixed")
    refused("plan", "-a", "fuse", "-m", "1M", saying="--count")
    assert (keys / "f").read_bytes() == before and not os.path.exists("g")


def test_incompatible_options_of_build(keys):
    for size in ["-m", "1M"], ["-S", "memory=1M"], ["-S", "capacity=10"]:
        refused("build", "--fixed", *size, "-o", "f", "keys", saying="follows from its keys")
    refused("build", "--fixed", "-a", "bloom", "-o", "f", "keys", saying="bloom is not fixed")
    refused("build", "--fixed", "-S", "bits=17", "-o", "f", "keys", saying="bits=17: invalid value; use 4 to 16")
    refused("build", "--fixed", "-a", "fus", "-o", "f", "keys", saying="there is no filter 'fus'")
    refused("build", "--fixed", "keys", saying="-o FILE")
    assert not os.path.exists("f")


def test_filter_keys_is_fixed_unless_a_filter_or_a_size_is_selected(keys):
    text = others(50000)
    told = json.loads(run("filter", "--keys", "keys", "--stats", "json", input=text).err)
    assert told["filter"]["config"].startswith("fuse ")
    told = json.loads(run("filter", "--keys", "keys", "-m", "64K", "--stats", "json", input=text).err)
    assert told["filter"]["config"].startswith("bloom ")
    with open("keys") as pipe:  # a pipe can be read only once
        cat = subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.PIPE)
        out = subprocess.run([WEIR, "filter", "--keys", f"/dev/fd/{cat.stdout.fileno()}", "--count-only", "keys"],
                             pass_fds=[cat.stdout.fileno()], stdout=subprocess.PIPE, check=True)
    assert out.stdout == b"20000\n"


def many(n):
    """More keys than the 32 MiB that stay in memory."""
    return subprocess.Popen(["seq", str(n)], stdout=subprocess.PIPE)


MANY = 5_000_000


def test_a_full_disk_is_reported_and_leaves_no_file(here):
    (here / "tmp").mkdir()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (34 << 20, 34 << 20))

    done = subprocess.run([WEIR, "build", "--fixed", "-o", "f"], stdin=many(MANY).stdout, stderr=subprocess.PIPE,
                          preexec_fn=limit, env={**os.environ, "TMPDIR": str(here / "tmp")}, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "cannot spill the keys of the set to" in done.stderr and "TMPDIR" in done.stderr
    assert not os.path.exists("f") and os.listdir(here / "tmp") == []


def test_a_missing_directory_for_keys_is_reported(here):
    done = subprocess.run([WEIR, "build", "--fixed", "-o", "f"], stdin=many(MANY).stdout, stderr=subprocess.PIPE,
                          env={**os.environ, "TMPDIR": "/nowhere"}, text=True)
    assert done.returncode == 2 and "cannot create a file for the keys of the set in /nowhere" in done.stderr
    assert not os.path.exists("f")
    subprocess.run([WEIR, "build", "--fixed", "-o", "f"], stdin=many(1000).stdout, check=True,
                   env={**os.environ, "TMPDIR": "/nowhere"})  # spills nothing to disk


def test_a_killed_build_leaves_no_file(here):
    (here / "tmp").mkdir()
    weir = subprocess.Popen([WEIR, "build", "--fixed", "-o", "f"], stdin=subprocess.PIPE,
                            env={**os.environ, "TMPDIR": str(here / "tmp")})
    weir.stdin.write(subprocess.run(["seq", str(MANY)], stdout=subprocess.PIPE).stdout)
    weir.stdin.flush()
    deadline = time.time() + 60
    while str(here / "tmp") not in "".join(os.readlink(f"/proc/{weir.pid}/fd/{fd}")
                                           for fd in os.listdir(f"/proc/{weir.pid}/fd")):
        assert time.time() < deadline
        time.sleep(0.01)
    weir.send_signal(signal.SIGKILL)
    weir.wait()
    weir.stdin.close()
    assert os.listdir(here / "tmp") == [] and not os.path.exists("f")


@pytest.mark.skipif(SANITIZED, reason="sanitizers take memory of their own")
def test_spilled_keys_give_the_same_set_in_little_memory(here):
    numbers = many(MANY)
    weir = subprocess.Popen([WEIR, "build", "--fixed", "-e", "0.4%", "--seed", "1", "--stats", "json", "-o", "f"],
                            stdin=numbers.stdout, stderr=subprocess.PIPE)
    told = weir.stderr.read()
    _, status, used = os.wait4(weir.pid, 0)
    assert status == 0 and used.ru_maxrss < 256 << 10  # KiB
    told = json.loads(told)
    assert told["keys"] == MANY and 8 * told["filter"]["memory"] < 9.1 * MANY
    assert run("filter", "--count-only", "f", stdin=many(MANY).stdout).lines == [str(MANY)]


def test_a_full_cuckoo_filter_is_an_error_of_build_and_add(keys):
    run("build", "-q", "-a", "cuckoo", "-e", "0.2%", "-o", "f", "keys")
    assert run("filter", "--count-only", "f", "keys").lines == ["20000"]
    before = (keys / "f").read_bytes()
    refused("add", "f", input=others(5000), saying=["do not fit", "cuckoo", "capacity="])
    assert (keys / "f").read_bytes() == before
    refused("build", "-a", "cuckoo", "-S", "capacity=1000", "-o", "g", "keys", saying="do not fit")
    refused("build", "-a", "cuckoo", "-S", "capacity=1000", "-o", "g", input="same\n" * 9, saying="eight times")
    assert not os.path.exists("g")
    run("forget", "-q", "f", input="".join(f"key{i}\n" for i in range(0, 20000, 2)))
    odd = "".join(f"key{i}\n" for i in range(1, 20000, 2))
    assert run("filter", "--count-only", "f", input=odd).lines == ["10000"]
    run("add", "-q", "f", input=others(5000))
    assert run("filter", "--count-only", "f", input=odd + others(5000)).lines == ["15000"]
    told = run("dedup", "-a", "cuckoo", "-S", "capacity=100", "--stats", "text", "keys").err
    assert "did not fit into the filter, and were not added" in told


@pytest.mark.parametrize("memory, fixed", [("40K", True), ("8K", False)])
def test_a_strict_screen_uses_a_fixed_set_if_it_fits(keys, memory, fixed):
    text = "".join(f"key{i}\n" for i in range(0, 20000, 7)) + others(50000)
    done = run("check", "--screen", "strict", "-m", memory, "--store", "keys:keys", "--seed", "1", "--stats", "json",
               input=text)
    assert done.lines == text.split()[:2858]
    told = json.loads(done.err)
    assert (told.get("set", "").startswith("fuse ")) == fixed
    if fixed:  # 13 bits per key: 2^-11 instead of 2^-9.4 for one Bloom filter
        assert "bits=11 " in told["set"] or "bits=12 " in told["set"] or "bits=13 " in told["set"]
        assert 2858 <= told["asked"] < 2858 + 50000 / 2 ** 11 * 1.8
