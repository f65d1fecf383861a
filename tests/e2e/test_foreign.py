"""Files that are not records are recognized by their first bytes, and rejected with the command to use."""
import bz2
import gzip
import io
import lzma
import sqlite3
import subprocess
import tarfile
import zipfile

import pytest

from conftest import EXACT, WEIR, refused, run, unique


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
    run("check", "-q", "-m", "64K", "--store", "keys:q", "--state", "check.weir", "q")
    (here / "a.bz2").write_bytes(bz2.compress(b"a\n"))
    with zipfile.ZipFile(here / "a.zip", "w") as archive:
        archive.writestr("a", "a\n")
    return here


@pytest.mark.parametrize("args, saying", [
    ("dedup A.weir", "A.weir is a filter file, not records; 'weir filter A.weir FILE' passes"),
    ("dedup q A.weir", "A.weir is a filter file, not records"),
    ("dedup state.weir", "state.weir is a state file, not records; 'weir dedup --state state.weir FILE'"),
    ("dedup bad.db", "bad.db is a SQLite database, not records; weir check --store 'sqlite:bad.db?table=T&column=C' FILE"),
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
    ("check -q --store keys:q check.weir", "check.weir is a state file, not records; 'weir info check.weir'"),
    # a store, or a filter, that is none
    ("check --store bad.db q", "SQLite database, not keys; use --store 'sqlite:bad.db?table=T&column=C'"),
    ("check --store keys:bad.db q", "SQLite database, not keys; use --store 'sqlite:bad.db?table=T&column=C'"),
    ("check --store A.weir q", "filter or state file, not keys"),
    ("filter --strict bad.db A.weir q", "SQLite database, not keys"),
    ("filter bad.db q", "bad.db is a SQLite database, not a filter file; weir check --store 'sqlite:bad.db?table=T&column=C' asks it"),
    ("filter q A.weir", "q is not a filter file; 'weir build -o F q' makes one"),
    ("check --store sqlite:q?table=t&column=c q", "file is not a database"),
])
def test_a_foreign_file_is_refused_with_the_command_to_use(files, args, saying):
    before = {p.name: p.read_bytes() for p in files.iterdir()}
    assert refused(*args.split(), saying=saying).out == b""
    assert {p.name: p.read_bytes() for p in files.iterdir()} == before


@pytest.mark.parametrize("call, want", [
    ("filter A.weir q", "a\nb\n"), ("filter --invert A.weir q", ""), ("dedup --state state.weir q", ""),
    ("count -q --state all.cm --query q /dev/null", "a\t1\nb\t1\n"),
    ("check --store sqlite:bad.db?table=t&column=c q", "a\n"),
])
def test_the_suggested_command_works(files, call, want):
    assert run(*call.split()).out.decode() == want


@pytest.mark.parametrize("name, what", [("bad.db", "SQLite database"), ("A.weir", "filter, sketch or state file"),
                                        ("a.bz2", "bzip2"), ("a.zip", "zip archive")])
def test_foreign_files_are_recognized_on_pipes(files, name, what):
    data = (files / name).read_bytes()
    refused("dedup", input=data, saying=[f"standard input: {what}, not records; ", "--plain"])
    with open(name) as regular:
        refused("dedup", stdin=regular, saying=["standard input is", "--plain"])


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
@pytest.mark.parametrize("name, what", [("bad.db", "SQLite database"), ("A.weir", "filter, sketch or state file"),
                                        ("a.bz2", "bzip2"), ("a.zip", "zip archive"), ("q.gz", "gzip")])
def test_foreign_files_are_recognized_when_compressed(files, name, what, pack):
    (files / "q.gz").write_bytes(gzip.compress(b"a\nb\n"))
    packed = pack((files / name).read_bytes())
    (files / "packed").write_bytes(packed)
    refused("dedup", "packed", saying=[f"packed: {what} inside ", "not records"])
    refused("dedup", input=packed, saying=[f"standard input: {what} inside ", "not records"])
    assert run("dedup", "--plain", "packed").out.startswith(packed[:6])


def test_a_filter_on_standard_input_is_recognized(files):
    with open("A.weir") as regular:
        refused("dedup", stdin=regular, saying="'weir filter F FILE' passes the records")


@pytest.mark.parametrize("name", ["bad.db", "A.weir", "state.weir", "all.cm", "a.bz2", "a.zip"])
def test_plain_reads_foreign_files_as_lines(files, name):
    data = (files / name).read_bytes()
    lines = unique(data.removesuffix(b"\n").split(b"\n"))
    for got in run("dedup", *EXACT, "--plain", name), run("dedup", *EXACT, "--plain", input=data):
        assert got.out == b"".join(line + b"\n" for line in lines)


def test_text_that_mentions_them_is_text(here):
    (here / "log").write_text("SQLite format 3 is a magic\nWEIR is a dam\nPK\n")
    assert run("dedup", "log").lines == ["SQLite format 3 is a magic", "WEIR is a dam", "PK"]


# ---- tables and archives of other programs ----

def tar(format, name="logs/a.txt"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        info = tarfile.TarInfo(name)
        info.size = 4
        archive.addfile(info, io.BytesIO(b"a\nb\n"))
    return out.getvalue()


BINARY = {
    "a.parquet": (b"PAR1\x15\x04\x15\x18\x15\x1cL\x15\x02\x15\x00\x12" + b"a\n" * 99 + b"PAR1", "Parquet file", "convert it to CSV"),
    "a.arrow": (b"ARROW1\0\0\xff\xff\xff\xff\xa8\0\0\0" + b"a\n" * 99 + b"ARROW1", "Arrow file", "convert it to CSV"),
    "a.avro": (b"Obj\x01\x04\x14avro.codec\x08null" + b"a\n" * 99, "Avro file", "convert it to CSV"),
    "plain.orc": (b"ORC\n\x06\x12\x04\x08\x01P\x00" + b"a\n" * 99, "ORC file", "convert it to CSV"),
    "zlib.orc": (b"ORC\x42\x00\x00\xe3\xe2\xe5\xe0\xe4\xe6" + b"a\n" * 99, "ORC file", "convert it to CSV"),
    "pax.tar": (tar(tarfile.PAX_FORMAT), "tar archive", "tar -xOf"),
    "gnu.tar": (tar(tarfile.GNU_FORMAT), "tar archive", "tar -xOf"),
    "ustar.tar": (tar(tarfile.USTAR_FORMAT, "n" * 100), "tar archive", "tar -xOf"),
    "a.lz4": (b"\x04\x22\x4d\x18\x64\x40\xa7" + b"a\n" * 99, "lz4 file", "lz4 -dc"),
    "a.7z": (b"7z\xbc\xaf\x27\x1c\0\x04" + b"a\n" * 99, "7-Zip archive", "7z x -so"),
    "a.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "Excel", "as CSV"),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_formats_are_rejected_by_kind(here, name):
    data, kind, fix = BINARY[name]
    (here / name).write_bytes(data)
    for command in (["dedup", name], ["top", name], ["build", "-o", "F", name], ["filter", "--keys", name, "/dev/null"]):
        refused(*command, saying=[f"{name}: {kind}", "not records", fix, "--plain"])
    assert not (here / "F").exists()
    refused("dedup", input=data, saying=[f"standard input: {kind}", fix, "--plain"])
    for pack in gzip.compress, lzma.compress:
        refused("dedup", input=pack(data), saying=[f"standard input: {kind}", " inside ", fix])
    lines = unique(data.removesuffix(b"\n").split(b"\n"))
    assert run("dedup", *EXACT, "--plain", name).out == b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.avro", "pax.tar", "gnu.tar"])
def test_foreign_files_are_not_key_lists(here, name):
    (here / name).write_bytes(BINARY[name][0])
    (here / "q").write_text("a\n")
    refused("check", "--store", f"keys:{name}", "q", saying=[", not keys; ", "first"])


@pytest.mark.parametrize("key", ["WEIR", "ORCHID", "PAR1", "ARROW1", "BZh9"])
def test_keys_may_begin_like_another_file(here, key):
    (here / "keys").write_text(f"{key}\nz\n")
    assert run("check", "-q", "--store", "keys:keys", input=f"{key}\ny\n").lines == [key]


TEXTS = ["PAR1\n", "PAR1", "PAR1 is a magic", "PAREN", "ORC", "ORC\n", "ORCHID\nb\n", "ORCHID and twelve more\n", "Obj", "Object\n",
         "ARROW1\n", "ustar\n", "7z\n", "ORC\tb\n", "PAR1,\x1b[31mred\x1b[0m\n", "OR\u00c7\n", "ORC\u00e9\u00e8\n",
         "a" * 256 + "\nustar\n" + "b" * 300, "x" * 257 + "ustar  " + "y" * 300]


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_begins_like_a_foreign_file_is_text(here, text):
    (here / "t").write_text(text)
    want = [line + "\n" for line in text.splitlines()]
    for got in (run("dedup", "t"), run("dedup", input=text), run("dedup", input=gzip.compress(text.encode()))):
        assert got.out.decode() == "".join(want) and got.err == ""
    nul = text.replace("\n", "\0")
    assert run("dedup", "-z", input=nul).out.decode().rstrip("\0") == nul.rstrip("\0")


@pytest.mark.parametrize("word", ["ORC", "PAR1", "O", "Obj", "ARROW1", "ORCHID"])
def test_such_a_line_is_answered_immediately(word):
    for end, options in (b"\n", []), (b"\0", ["-z"]):
        process = subprocess.Popen([WEIR, "dedup", "-q", "--emit", "all", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = word.encode() + end
        process.stdin.write(line)
        process.stdin.flush()
        want = b"new\t" + line
        assert process.stdout.read(len(want)) == want
        process.stdin.close()
        assert process.wait() == 0
