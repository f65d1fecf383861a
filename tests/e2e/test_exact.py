"""weir dedup --exact DIR: the output equals that of an exact set in Python, whatever the input format, the
batches, the time, and after kill -9 and failing system calls."""
import collections
import concurrent.futures
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import LONG, QUICK, WEIR, refused, run, unique

FAULT = os.environ.get("WEIR_FAULT_LIB")
SMALLEST = ["--exact", "index", "-m", "16M"]
DAY = 86400


def some_lines(n, distinct, seed=1):
    pick = random.Random(seed)
    return [f"key-{pick.randrange(distinct)}" for _ in range(n)]


def text(lines):
    return "".join(line + "\n" for line in lines)


def test_the_first_record_of_each_key_passes(here):
    lines = some_lines(200_000, 150_000)
    expected = unique(lines)
    for options in [], ["-j", "2"], ["-S", "hash=sip"]:
        shutil.rmtree("index", ignore_errors=True)
        assert run("dedup", *SMALLEST, *options, input=text(lines)).lines == expected
    assert run("dedup", *SMALLEST, input=text(lines + ["one more"])).lines == ["one more"]


def test_every_reader(here):
    lines = some_lines(3000, 1000)
    expected = unique(lines)
    csv = "id,word\n" + "".join(f'{i},"{line}"\n' for i, line in enumerate(lines))
    got = run("dedup", "--exact", "csv", "--csv", "-k", "word", input=csv).lines
    assert [row.split(",")[1].strip('"') for row in got[1:]] == expected
    rows = "".join(json.dumps({"n": i, "word": line}) + "\n" for i, line in enumerate(lines))
    got = run("dedup", "--exact", "json", "-k", "/word", input=rows).lines
    assert [json.loads(row)["word"] for row in got] == expected
    got = run("dedup", "--exact", "nul", "-z", input=text(lines).replace("\n", "\0").replace("key", "k\ny"))
    assert got.out.decode().split("\0")[:-1] == [line.replace("key", "k\ny") for line in expected]
    with gzip.open("packed.gz", "wt") as out:
        out.write(text(lines))
    assert run("dedup", "--exact", "gz", "packed.gz").lines == expected
    got = run("dedup", "--exact", "tags", "--emit", "all", input=text(lines)).lines
    assert sum(line.startswith("new") for line in got) == len(expected)


def expected_with_keep(rows, keep):
    """A key passes if it did not within 33 of keep / 32, counted in whole ones."""
    width, passed, slot, out = keep * 1000 // 32, {}, 0, []
    for seconds, key in rows:
        slot = max(slot, seconds * 1000 // width)
        if key not in passed or slot >= passed[key] + 33:
            passed[key] = slot
            out.append(f"{seconds} {key}")
    return out


@pytest.mark.parametrize("batches", [1, 7])
def test_keys_are_forgotten_by_event_time(here, batches):
    pick, now, rows = random.Random(3), 1_700_000_000, []
    for _ in range(20_000):
        now += pick.choice([0, 0, 1, 600, 3 * DAY if pick.random() < 0.01 else 60])
        rows.append((now - (pick.randrange(3600) if pick.random() < 0.2 else 0), f"k{pick.randrange(4000)}"))
    expected, got = expected_with_keep(rows, 30 * DAY), []
    for i in range(batches):
        part = rows[len(rows) * i // batches : len(rows) * (i + 1) // batches]
        got += run("dedup", *SMALLEST, "--keep", "30d", "--time", "1", "-k", "2", "-d", " ",
                   input=text(f"{t} {key}" for t, key in part)).lines
    assert got == expected
    assert 3900 < len(expected) < 12_000  # forgotten, but not always


def test_a_record_older_than_the_kept_time_is_malformed(here):
    now = 20_000 * DAY
    rows = f"{now} a\n{now} z\n{now - 40 * DAY} b\n{now - 20 * DAY} c\n"
    options = ["--keep", "30d", "--time", "1", "--time-format", "s", "-k", "2", "-d", " "]
    refused("dedup", *SMALLEST, *options, input=rows, saying="older than the newest")
    shutil.rmtree("index")
    got = run("dedup", *SMALLEST, *options, "--on-error", "skip", input=rows)
    assert got.lines == [f"{now} a", f"{now} z", f"{now - 20 * DAY} c"]


def test_disk_is_limited(here):
    keys = [f"{i}" for i in range(QUICK and 400_000 or 3_500_000)]
    got = run("dedup", "--exact", "index", "-m", "16M", "--disk", "40M", "--count-only", "--stats", "json", input=text(keys))
    figures = json.loads(got.err)
    assert int(got.out) == len(keys)
    assert sum(p.stat().st_size for p in (here / "index").iterdir()) <= 40 << 20
    if not QUICK:
        assert figures["index"]["forgotten"] > 0


REFUSED = [
    (["-a", "bloom"], "remove -a"), (["-e", "1%"], "remove -e"), (["-S", "k=4"], "-S"),
    (["--at", "redis://localhost/x"], "--at"), (["--state", "s"], "remove --state"), (["--once-per", "1h"], "--keep"),
    (["--shards", "4"], "--shards"), (["-m", "1M"], "16.0 MiB"), (["--time", "1"], "--keep"), (["--keep", "10s"], "from 1m"),
    (["--disk", "1M"], "too small"),
]


@pytest.mark.parametrize("options, saying", REFUSED)
def test_what_makes_no_sense_is_refused(here, options, saying):
    refused("dedup", "--exact", "index", *options, input="a\n", saying=saying)


def test_other_settings_are_refused(here):
    run("dedup", *SMALLEST, "--keep", "30d", "--seed", "5", input="a\n")
    refused("dedup", *SMALLEST, "--keep", "7d", input="b\n", saying="30.0 days")
    refused("dedup", *SMALLEST, "-k", "1", input="b\n", saying="other keys")
    refused("dedup", *SMALLEST, "--seed", "6", input="b\n", saying="another seed")
    refused("dedup", *SMALLEST, "-S", "hash=sip", input="b\n", saying="hash=xxh3")
    refused("dedup", "--keep", "3d", input="b\n", saying="--exact DIR")
    run("dedup", "--exact", "forever", input="a\n")
    refused("dedup", "--exact", "forever", "--keep", "7d", input="b\n", saying="forever")
    assert run("dedup", *SMALLEST, input="a\nb\n").lines == ["b"]


def test_a_directory_of_others_is_left_alone(here):
    (here / "photos").mkdir()
    (here / "photos" / "a.jpg").write_text("x")
    refused("dedup", "--exact", "photos", input="a\n", saying="a.jpg")
    for name in "log-2026.txt", "run-0000000001.sh", "manifest.json":  # looks like a file of an index
        (here / "photos" / "a.jpg").rename(here / "photos" / name)
        refused("dedup", "--exact", "photos", input="a\n", saying="name a new directory")
        assert [p.name for p in (here / "photos").iterdir()] == [name]
        (here / "photos" / name).rename(here / "photos" / "a.jpg")
    (here / "file").write_text("x")
    refused("dedup", "--exact", "file", input="a\n", saying="Not a directory")
    refused("dedup", "--exact", "no/such/place", input="a\n", saying="No such file")


def test_info(here):
    run("dedup", *SMALLEST, "--keep", "30d", "-k", "1", input="a\nb\na\n")
    assert "keys        2 in" in run("info", "index").out.decode() and "30.0 days" in run("info", "index").out.decode()
    figures = json.loads(run("info", "--format", "json", "index").out)
    assert figures["keys"] == 2 and figures["keep"] == 30 * DAY and figures["records"].startswith("lines -k 1")
    (here / "empty").mkdir()
    refused("info", "empty", saying="not an exact index")


def test_a_lost_or_damaged_file_is_refused(here):
    run("dedup", *SMALLEST, input="a\nb\n")
    run("dedup", *SMALLEST, input="c\n")
    shutil.copytree("index", "whole")
    for path in [p for p in (here / "whole").iterdir() if p.stat().st_size]:
        for at in [None, *range(0, path.stat().st_size, 7)]:
            damaged = bytearray(path.read_bytes())
            if at is None:
                (here / "index" / path.name).unlink()
            else:
                damaged[at] ^= 1
                (here / "index" / path.name).write_bytes(damaged)
            refused("dedup", *SMALLEST, input="c\n")
            shutil.copy(path, here / "index")
    assert run("dedup", *SMALLEST, input="c\nd\n").lines == ["d"]


def test_a_long_path(here):
    path = "/".join(["x" * 90] * 6)
    (here / path).mkdir(parents=True)
    assert run("dedup", "--exact", path + "/index", input="a\na\n").lines == ["a"]
    assert (here / path / "index" / "manifest").exists()


def test_build_makes_an_index_of_a_list(here):
    run("build", "--exact", "index", "-q", input="a\nb\na\n")
    run("build", "--exact", "index", "-q", input="c\n")
    assert run("check", "--store", "exact:index", input="a\nc\nd\n").lines == ["a", "c"]
    refused("build", "--exact", "index", "-o", "f", input="a\n", saying="remove -o")
    refused("build", "--exact", "index", "--fixed", input="a\n", saying="--fixed")
    refused("build", "--exact", "index", "-a", "bloom", input="a\n", saying="-a")


def test_an_index_is_a_store(here):
    run("dedup", *SMALLEST, input=text(f"{i}" for i in range(20_000)))
    asked = [f"{i}" for i in range(19_990, 20_010)]
    assert run("check", "--store", "exact:index", input=text(asked)).lines == asked[:10]
    many = [f"{i}" for i in range(0, 400_000, 3)]  # an approximate screen would err
    assert run("check", "-m", "4K", "--store", "exact:index", input=text(many)).lines == many[:6667]
    run("build", "-q", "-o", "all.weir", input=text(f"{i}" for i in range(30_000)))
    assert run("filter", "--strict", "exact:index", "all.weir", input=text(asked)).lines == asked[:10]
    refused("check", "--store", "exact:index", "--ignore-case", input="a\n", saying="other keys")
    refused("check", "--store", "exact:none", input="a\n", saying="No such file")


def test_two_at_once_are_refused(here):
    first = subprocess.Popen([WEIR, "dedup", *SMALLEST], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    first.stdin.write(b"a\n")
    first.stdin.flush()
    assert first.stdout.readline() == b"a\n"
    refused("dedup", *SMALLEST, input="b\n", saying="in use by another process")
    assert first.communicate()[1] is None and first.returncode == 0


def test_resume_after_a_kill_gives_the_same_output(here):
    lines = some_lines(QUICK and 100_000 or 400_000, 300_000, seed=5)
    (here / "input").write_text(text(lines))
    command = [WEIR, "dedup", *SMALLEST, "--resume", "--checkpoint", "5000", "-o", "out", "--rejects", "repeats", "input"]
    kills, pick = 0, random.Random(7)
    for _ in range(LONG and 400 or QUICK and 20 or 60):
        run_once = subprocess.Popen(command, stderr=subprocess.PIPE)
        time.sleep(pick.random() * 0.05)
        run_once.send_signal(signal.SIGKILL)
        kills += run_once.wait() == -signal.SIGKILL
        assert run_once.returncode in (0, -signal.SIGKILL), run_once.stderr.read()
        run_once.stderr.close()
    assert kills > 5
    subprocess.run(command, check=True)
    assert (here / "out").read_text() == text(unique(lines))
    seen = set()
    assert (here / "repeats").read_text() == text(line for line in lines if line in seen or seen.add(line))


Fault = collections.namedtuple("Fault", "call how most")
FAULTS = [Fault(call, how, LONG and 300 or 12) for call, how in [
    ("write", "ENOSPC"), ("fsync", "EIO"), ("open", "EMFILE"), ("rename", "EIO"), ("pread", "EIO"), ("malloc", "ENOMEM"),
    ("mmap", "ENOMEM"), ("thread", "EAGAIN"), ("ftruncate", "EIO"), ("flock", "EIO"), ("write", "short"), ("write", "EINTR")]]


@pytest.mark.skipif(not FAULT, reason="WEIR_FAULT_LIB names no library")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.call} {f.how}")
def test_a_failing_call_leaves_a_state_to_resume(here, fault):
    lines = some_lines(160_000, 140_000, seed=8)
    (here / "input").write_text(text(lines))
    command = [WEIR, "dedup", *SMALLEST, "--checkpoint", "20000", "--resume", "-o", "out", "../input"]

    def counted():
        (here / "counts").mkdir()
        env = {**os.environ, "LD_PRELOAD": FAULT, "WEIR_FAULT_COUNTS": str(here / "calls")}
        subprocess.run(command, cwd=here / "counts", env=env, check=True)
        return int(dict(line.split() for line in (here / "calls").read_text().splitlines())[fault.call])

    def attempt(n):
        folder = here / str(n)
        folder.mkdir()
        env = {**os.environ, "LD_PRELOAD": FAULT, "WEIR_FAULT": f"{fault.call}:{n}:{fault.how}"}
        first = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=60)
        again = subprocess.run(command, cwd=folder, capture_output=True, timeout=60)
        right = (folder / "out").read_text() == text(unique(lines))
        shutil.rmtree(folder)
        fine = first.returncode in (0, 2) and (first.returncode == 0 or first.stderr.startswith(b"weir: "))
        return (n, first.returncode, first.stderr, again.stderr) if not (fine and again.returncode == 0 and right) else None

    calls = counted()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        tried = sorted({1 + i * calls // fault.most for i in range(fault.most)})
        assert [bad for bad in pool.map(attempt, tried) if bad] == []
