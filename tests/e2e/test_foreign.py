"""Files that hold no records are known by their first bytes, and refused with the call that is meant."""
import bz2
import gzip
import lzma
import sqlite3
import zipfile

import pytest

from conftest import EXACT, refused, run, unique


@pytest.fixture
def files(here):
    with sqlite3.connect(here / "bad.db") as db:
        db.execute("CREATE TABLE t (c TEXT PRIMARY KEY)")
        db.execute("INSERT INTO t VALUES ('a')")
    (here / "q").write_text("a\nb\n")
    run("build", "-q", "--seed", "1", "-o", "A.weir", "q")
    run("build", "-q", "--seed", "1", "-o", "B.weir", "q")
    run("dedup", "-q", "-m", "64K", "--state", "state.weir", "q")
    run("count", "-q", "-m", "64K", "--state", "all.cm", "q")
    run("top", "-q", "-m", "64K", "--state", "all.top", "q")
    run("check", "-q", "-m", "64K", "--oracle", "keys:q", "--state", "check.weir", "q")
    (here / "a.bz2").write_bytes(bz2.compress(b"a\n"))
    with zipfile.ZipFile(here / "a.zip", "w") as archive:
        archive.writestr("a", "a\n")
    return here


@pytest.mark.parametrize("args, saying", [
    ("dedup A.weir", "A.weir is a filter file, not records; 'weir filter A.weir FILE' passes"),
    ("dedup q A.weir", "A.weir is a filter file, not records"),
    ("dedup state.weir", "state.weir is a state file, not records; 'weir dedup --state state.weir FILE'"),
    ("dedup bad.db", "bad.db is a SQLite database, not records; weir check --oracle 'sqlite:bad.db?table=T&column=C' FILE"),
    ("dedup a.bz2", "bzcat a.bz2 | weir dedup"),
    ("dedup a.zip", "unzip -p a.zip | weir dedup"),
    ("count --query q all.cm", "all.cm holds counts, not records; 'weir count --state all.cm --query KEYS /dev/null'"),
    ("count --query all.cm q", "all.cm holds counts, not records"),
    ("top all.top", "all.top holds counts, not records; 'weir top --state all.top /dev/null'"),
    ("ask A.weir B.weir q", "B.weir is a filter file, not records; 'weir ask' takes one filter, the first file"),
    ("filter A.weir B.weir", "'weir filter' takes one filter"),
    ("filter --keys A.weir q", "A.weir is a filter file, not records; 'weir filter' takes one filter, the first file"),
    ("build -o F A.weir", "A.weir is a filter file, not keys; 'weir merge -o F A A.weir' joins"),
    ("add A.weir B.weir", "'weir merge -o F A B.weir' joins"),
    ("eval A.weir", "A.weir is a filter file, not records"),
    ("check -q --oracle keys:q check.weir", "check.weir is a state file, not records; 'weir info check.weir'"),
    # a store, or a filter, that is none
    ("check --oracle bad.db q", "it is a SQLite database; name it 'sqlite:bad.db?table=T&column=C'"),
    ("check --oracle keys:bad.db q", "it is a SQLite database; name it 'sqlite:bad.db?table=T&column=C'"),
    ("check --oracle A.weir q", "it is a filter or state file, not keys"),
    ("filter --strict bad.db A.weir q", "it is a SQLite database"),
    ("filter bad.db q", "bad.db is a SQLite database, not a filter file; weir check --oracle 'sqlite:bad.db?table=T&column=C' asks it"),
    ("filter q A.weir", "q is not a filter file; 'weir build -o F q' makes one"),
    ("check --oracle sqlite:q?table=t&column=c q", "file is not a database"),
])
def test_it_is_refused_with_the_right_call(files, args, saying):
    before = {p.name: p.read_bytes() for p in files.iterdir()}
    assert refused(*args.split(), saying=saying).out == b""
    assert {p.name: p.read_bytes() for p in files.iterdir()} == before


@pytest.mark.parametrize("call, want", [
    ("filter A.weir q", "a\nb\n"), ("filter --invert A.weir q", ""), ("dedup --state state.weir q", ""),
    ("count -q --state all.cm --query q /dev/null", "a\t1\nb\t1\n"),
    ("check --oracle sqlite:bad.db?table=t&column=c q", "a\n"),
])
def test_the_call_that_is_told_works(files, call, want):
    assert run(*call.split()).out.decode() == want


@pytest.mark.parametrize("name, what", [("bad.db", "a SQLite database"), ("A.weir", "a filter, sketch or state file"),
                                        ("a.bz2", "compressed by bzip2"), ("a.zip", "a zip archive")])
def test_so_it_is_from_a_pipe_and_standard_input(files, name, what):
    data = (files / name).read_bytes()
    refused("dedup", input=data, saying=["standard input is", what, "--plain"])
    with open(name) as regular:
        refused("dedup", stdin=regular, saying=["standard input is", "--plain"])


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
@pytest.mark.parametrize("name, what", [("bad.db", "a SQLite database"), ("A.weir", "a filter, sketch or state file"),
                                        ("a.bz2", "compressed by bzip2"), ("a.zip", "a zip archive"),
                                        ("q.gz", "compressed once more")])
def test_so_it_is_compressed(files, name, what, pack):
    (files / "q.gz").write_bytes(gzip.compress(b"a\nb\n"))
    packed = pack((files / name).read_bytes())
    (files / "packed").write_bytes(packed)
    refused("dedup", "packed", saying=["packed holds compressed data", what])
    refused("dedup", input=packed, saying=["standard input holds compressed data", what])
    assert run("dedup", "--plain", "packed").out.startswith(packed[:6])


def test_a_filter_on_standard_input_is_named_as_a_file(files):
    with open("A.weir") as regular:
        refused("dedup", stdin=regular, saying="'weir filter F FILE' passes the records")


@pytest.mark.parametrize("name", ["bad.db", "A.weir", "state.weir", "all.cm", "a.bz2", "a.zip"])
def test_plain_reads_it_as_lines(files, name):
    data = (files / name).read_bytes()
    lines = unique(data.removesuffix(b"\n").split(b"\n"))
    for got in run("dedup", *EXACT, "--plain", name), run("dedup", *EXACT, "--plain", input=data):
        assert got.out == b"".join(line + b"\n" for line in lines)


def test_text_about_them_is_text(here):
    (here / "log").write_text("SQLite format 3 is a magic\nWEIR is a dam\nPK\n")
    assert run("dedup", "log").lines == ["SQLite format 3 is a magic", "WEIR is a dam", "PK"]
