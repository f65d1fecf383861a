"""make static: the command runs in a root directory that has no library and no other file."""
import gzip
import json
import lzma
import os
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

import servers
from conftest import LONG, SANITIZED

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
pytestmark = pytest.mark.skipif(not LONG or SANITIZED or os.getuid() != 0, reason="builds the command again, and needs chroot(); make test-all runs it as root")


@pytest.fixture(scope="module")
def binary():
    done = subprocess.run([SOURCE / "scripts/static"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return SOURCE / "build/static/tool/weir"


@pytest.fixture
def root(binary, tmp_path):
    shutil.copy(binary, tmp_path / "weir")
    return tmp_path


def weir(root, *args, input="", status=0):
    done = subprocess.run(["/weir", *args], input=input.encode(), capture_output=True, preexec_fn=lambda: (os.chroot(root), os.chdir("/")), env={})
    assert done.returncode == status, done.stderr
    return done.stderr.decode() if status else done.stdout.decode()


def test_it_needs_no_library(binary):
    segments = subprocess.run(["readelf", "-l", binary], capture_output=True, text=True, check=True).stdout
    assert "LOAD" in segments and "INTERP" not in segments and "DYNAMIC" not in segments


def test_the_commands_run_in_an_empty_root(root):
    lines = "".join(f"k{i % 700}\n" for i in range(2000))
    first = "".join(f"k{i}\n" for i in range(700))
    assert weir(root, "dedup", "-q", input=lines) == first
    assert weir(root, "dedup", "-q", "-j", "3", "--near", "0.8", input="a b c d e f g\na b c d e f g\n") == "a b c d e f g\n"
    assert weir(root, "dedup", "-q", "--exact", "dir", input=lines) == first
    (root / "log").write_text(lines)
    weir(root, "dedup", "-q", "--state", "s", "--resume", "-o", "out", "--rejects", "rejects", "--audit", "audit", "log")
    (root / "log").write_text(lines + "new\n")
    weir(root, "dedup", "-q", "--state", "s", "--resume", "-o", "out", "--rejects", "rejects", "--audit", "audit", "log")
    assert (root / "out").read_text() == first + "new\n"
    assert json.loads((root / "audit").read_text())["records"]["in"] == 2001
    for extra in [], ["--fixed"]:
        weir(root, "build", "-q", *extra, "-o", "F", "log")
        assert weir(root, "ask", "-q", "F", input="k1\n") == ""
    weir(root, "build", "-q", "--cidr", "-o", "N", input="10.0.0.0/8\n2001:db8::/32\n")
    assert weir(root, "filter", "N", input="10.1.1.1\n11.1.1.1\n2001:db8::1\n") == "10.1.1.1\n2001:db8::1\n"
    assert weir(root, "top", "-q", "-n", "1", input="a\nb\na\n") == "a\t2\t0\t0.666667\n"
    assert weir(root, "plan", "-q", "-m", "1M", "--stream", "uniform:n=1M", "--format", "json").startswith("[")
    assert weir(root, "dedup", "-q", "--once-per", "1h", "-k", "1", "--time", "2", input="a 2026-01-01T00:00:00Z\na 2026-01-01T00:30:00Z\n").count("\n") == 1
    assert "no libpq" in weir(root, "version", "--verbose")


def test_libraries_work_without_files(root):
    keys = "https://a.example.co.uk/\nhttps://b.example.co.uk/x\nhttps://bücher.example/\nhttps://xn--bcher-kva.example/y\n"
    assert weir(root, "dedup", "-q", "--key-as", "domain", input=keys).splitlines() == [keys.split("\n")[0], keys.split("\n")[2]]
    assert weir(root, "dedup", "-q", "--key-as", "nfc", input="é\ne\u0301\n") == "é\n"
    assert weir(root, "dedup", "-q", "--ignore-case", input="É\né\n") == "É\n"
    assert weir(root, "dedup", "-q", "--jsonl", "-k", "/a", input='{"a":1}\n{"a":1}\n') == '{"a":1}\n'
    (root / "x.gz").write_bytes(gzip.compress(b"a\na\n"))
    (root / "x.xz").write_bytes(lzma.compress(b"b\na\n"))
    (root / "x.zst").write_bytes(subprocess.run(["zstd", "-qc"], input=b"c\nb\n", capture_output=True, check=True).stdout)
    assert weir(root, "dedup", "-q", "x.gz", "x.xz", "x.zst") == "a\nb\nc\n"


def test_stores(root):
    with sqlite3.connect(root / "db") as db:
        db.execute("CREATE TABLE t (c TEXT)")
        db.execute("INSERT INTO t VALUES ('a')")
    db.close()
    assert weir(root, "check", "-q", "--store", "sqlite:db?table=t&column=c", input="a\nb\n") == "a\n"
    for scheme in "postgres", "postgresql":
        error = weir(root, "check", "-q", "--store", f"{scheme}://u:secret@127.0.0.1/d?table=t&column=c&sslmode=require", input="a\n", status=2)
        assert error.count("\n") == 1 and "built without PostgreSQL" in error and "secret" not in error
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    redis = servers.Redis()
    try:
        subprocess.run(["redis-cli", "-p", str(redis.port), "SADD", "set", "a"], check=True, capture_output=True)
        assert weir(root, "check", "-q", "--store", f"redis://127.0.0.1:{redis.port}/set", input="a\nb\n") == "a\n"
    finally:
        redis.close()
