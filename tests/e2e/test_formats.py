"""--format: results as text, TSV and JSON; records as JSON objects, one per line."""
import gzip
import json
import os
import random
import sqlite3
import subprocess

import pytest

from conftest import EXACT, WEIR, refused, run

# Keys that a format can get wrong: quotes, backslashes, escapes, controls, every byte, other scripts.
HOSTILE = [b'"', b"\\", b'\\"', b"\\n", b"\\udcff", b"\x01\x1f\x7f\x08\x0c", b"\t", b"a\tb", b"\xff", b"a\xc3", b"\xe2\x82", b"\xed\xa0\x80",
           b"\xf4\x90\x80\x80", b"\xc0\xaf", "é€😀".encode(), "\u2028\ufeff".encode(), b"{}", b"null", b"", b"plain",
           bytes(b for b in range(1, 256) if b not in b"\n\r"), b"x" * 7 + b'"' + b"y" * 8 + b"\\", "ü".encode() * 9]


def text(value):
    """Returns the bytes that a string in the output represents."""
    return value.encode("utf-8", "surrogateescape")


def objects(*args, **more):
    """Every line is an object that ends in LF."""
    out = run(args[0], "--format", "json", *args[1:], **more).out
    assert out == b"" or out.endswith(b"\n")
    return [json.loads(line) for line in out.split(b"\n")[:-1]]


def unescaped(cell):
    names = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    parts = cell.split("\\\\")
    return "\\".join("".join(names[p[0]] + p[1:] if i else p for i, p in enumerate(part.split("\\"))) for part in parts)


def rows(out):
    """TSV as dicts; every row has as many cells as the header."""
    lines = out.decode("utf-8", "surrogateescape").split("\n")
    assert lines.pop() == ""
    cells = [[unescaped(cell) for cell in line.split("\t")] for line in lines]
    assert all(len(row) == len(cells[0]) for row in cells)
    return [dict(zip(cells[0], row)) for row in cells[1:]]


# ---- results ----

TABLES = {
    "eval": ["eval", "--synthetic", "uniform:n=2k,distinct=30%", "-a", "recent,bloom", "-m", "1K", "--seed", "1", "-q"],
    "plan": ["plan", "-m", "64K", "--stream", "uniform:n=100k,distinct=10%"],
    "plan --count": ["plan", "--count", "10k", "-e", "1%"],
    "plan --gap": ["plan", "--gap", "1k", "-m", "64K", "-a", "bsbf"],
    "info": ["info", "f"],
    "info of counts": ["info", "c"],
    "info of a state": ["info", "s"],
    "list": ["list"],
    "list NAME": ["list", "bloom"],
    "top": ["top", "-q", "log"],
    "top of fields": ["top", "-q", "-k", "1,2", "log"],
    "count": ["count", "-q", "log"],
    "count --query": ["count", "-q", "--query", "query", "log"],
    "count of fields": ["count", "-q", "-k", "1,2", "log"],
}


@pytest.fixture
def files(here):
    (here / "log").write_bytes(b"a b\na c\na b\n")
    (here / "query").write_bytes(b"a b\nx y\n")
    run("build", "-m", "4K", "-o", "f", "log")
    run("count", "-q", "--state", "c", "log")
    run("dedup", "-m", "4K", "--state", "s", "--resume", "log")
    return here


@pytest.mark.parametrize("command", TABLES.values(), ids=TABLES)
def test_every_result_is_one_document_and_a_table(command, files):
    assert run(*command).out == run(*command, "--format", "text").out != b""
    document = json.loads(run(*command, "--format", "json").out)
    table = rows(run(*command, "--format", "tsv").out)
    if command[0] == "list":
        assert [row["name"] for row in table] == [one["name"] for kind in document.values() for one in kind]
        return
    listed = document if isinstance(document, list) else [document]
    assert [list(row) for row in table] == [list(one) for one in listed], "the same names"
    for row, one in zip(table, listed):
        for name, cell in row.items():
            if name == "ns_per_record":
                continue
            if isinstance(one[name], (int, float)):
                assert float(cell) == pytest.approx(one[name], rel=1e-5)
            elif one[name] is None:
                assert cell == "-"
            else:
                assert cell == ("\t".join(one[name]) if isinstance(one[name], list) else one[name])


def test_empty_lists(here):
    for command in ["top", "-q"], ["count", "-q", "empty"]:
        (here / "empty").write_bytes(b"")
        assert json.loads(run(*command, "--format", "json").out) == []
        assert rows(run(*command, "--format", "tsv").out) == []
    assert json.loads(run("count", "-q", "--state", "s", "--format", "json", "empty").out) == []


@pytest.mark.parametrize("more,end", [([], b"\n"), (["-z"], b"\0")], ids=["lines", "NUL"])
def test_hostile_keys_of_lists_round_trip(here, more, end):
    keys = HOSTILE + ([b"line\nbreak", b"\r\n", b"end\r"] if more else [b"a\0b"])
    (here / "log").write_bytes(b"".join(key + end for key in keys))
    for command in ["top", "-n", "100"], ["count"]:
        got = json.loads(run(*command, "-q", *more, "--format", "json", "log").out)
        assert sorted(text(one["key"]) for one in got) == sorted(keys)
        got = rows(run(*command, "-q", *more, "--format", "tsv", "log").out)
        assert sorted(text(one["key"]) for one in got) == sorted(keys)


def test_fields_of_a_key_are_separate(here):
    (here / "log").write_bytes(b'"a\tb",1\n"a\tb",1\n')
    for command in "top", "count":
        asked = [command, "-q", "--csv", "-k", "1,2", "log", "--format"]
        assert json.loads(run(*asked, "json").out)[0]["key"] == ["a\tb", "1"]
        assert run(*asked, "tsv").lines[1].startswith("a\\tb\\t1\t2")


def test_top_without_a_bound_has_none(here):
    one, = json.loads(run("top", "-q", "-a", "heavykeeper", "--format", "json", input="a\na\n").out)
    assert one == {"key": "a", "count": 2, "error": None, "share": 1}
    assert rows(run("top", "-q", "-a", "heavykeeper", "--format", "tsv", input="a\na\n").out)[0]["error"] == "-"


# ---- records ----

@pytest.fixture
def words(here):
    (here / "set").write_bytes(b"ann\nbob\n")
    run("build", "-q", "-m", "4K", "-o", "f", "set")
    run("build", "-q", "-m", "4K", "-o", "g,1", input="bob\n")
    return here


RECORDS = [
    (["dedup", *EXACT], [("bob", "new"), ("zed", "new")]),
    (["dedup", *EXACT, "--emit", "duplicates"], [("bob", "seen")]),
    (["dedup", *EXACT, "--emit", "all"], [("bob", "new"), ("zed", "new"), ("bob", "seen")]),
    (["filter", "f"], [("bob", "member"), ("bob", "member")]),
    (["filter", "f", "--invert"], [("zed", "other")]),
    (["filter", "--keys", "set"], [("bob", "member"), ("bob", "member")]),
    (["filter", "f", "--strict", "set", "-q"], [("bob", "member"), ("bob", "member")]),
    (["check", "-q", "--store", "keys:set"], [("bob", "member"), ("bob", "member")]),
    (["check", "-q", "--store", "keys:set", "--emit", "others"], [("zed", "other")]),
    (["check", "-q", "--store", "keys:set", "--emit", "all"], [("bob", "member"), ("zed", "other"), ("bob", "member")]),
    (["ask", "f"], [("bob", "seen"), ("zed", "new"), ("bob", "seen")]),
    (["ask", "--any", "f", "g,1"], [("bob", "seen"), ("zed", "new"), ("bob", "seen")]),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("command,expected", RECORDS, ids=[" ".join(a for a in command if a not in EXACT) for command, _ in RECORDS])
def test_every_record_is_an_object(command, expected, threads, words):
    (words / "in").write_text("bob\nzed\nbob\n")
    operands = ["--", "in"] if "--any" in command else ["in"]
    got = objects(*command, "-j", threads, *operands)
    assert got == [{"record": key, "key": key, "verdict": verdict} for key, verdict in expected]


def test_which_names_the_filters(words):
    got = objects("ask", "--which", "f", "g,1", input="ann\nbob\nzed\n")
    assert [one["filters"] for one in got] == [["f"], ["f", "g,1"], []] and [one["verdict"] for one in got] == ["seen", "seen", "new"]
    os.rename(words / "f", os.fsencode(words) + b'/a"\n\xff')
    got = objects("ask", "--which", b'a"\n\xff'.decode("utf-8", "surrogateescape"), input="ann\n")
    assert text(got[0]["filters"][0]) == b'a"\n\xff'


@pytest.mark.parametrize("more,end", [([], b"\n"), (["-z"], b"\0")], ids=["lines", "NUL"])
@pytest.mark.parametrize("command", [["dedup", *EXACT, "--emit", "all"], ["ask", "f"], ["check", "-q", "--store", "keys:set", "--emit", "all"],
                                     ["filter", "f", "--invert"]], ids=lambda c: c[0])
def test_hostile_records_round_trip(command, more, end, here):
    records = HOSTILE + ([b"line\nbreak", b"\r\n", b"end\r"] if more else [b"a\0b"])
    (here / "set").write_bytes(b"\n")
    run("build", "-q", "-o", "f", "-m", "4K", input="nothing else\n")
    got = objects(*command, *more, input=end.join(records) + end)
    assert [text(one["record"]) for one in got] == records
    assert [text(one["key"]) for one in got] == records


def test_random_bytes_and_long_records_round_trip():
    random.seed(3)
    records = [bytes(random.choices(range(1, 256), k=random.randrange(40))).replace(b"\n", b"").replace(b"\r", b"") for _ in range(3000)]
    records += [random.choice([b"\x01", b"plain text ", "ü".encode(), b"\xff", b'"'] * 2) * random.randrange(30000, 90000) for _ in range(12)]
    got = objects("dedup", *EXACT, "--emit", "all", input=b"\n".join(records) + b"\n")
    assert [text(one["record"]) for one in got] == records == [text(one["key"]) for one in got]


def test_the_printed_key_is_the_hashed_one():
    got = objects("dedup", *EXACT, "--ignore-case", "--ignore-space", "-d", ";", "-k", "2,1", input=" A  b ;X\na B;x\n")
    assert got == [{"record": " A  b ;X", "key": ["x", "a b"], "verdict": "new"}]
    got = objects("dedup", *EXACT, "--tsv", "-k", "1", "--emit", "all", input="a\x1fb\t1\n")
    assert got[0]["key"] == "a\x1fb"


def test_line_endings_are_not_part_of_a_record():
    assert objects("dedup", *EXACT, input=b"a\r\nb") == [{"record": r, "key": r, "verdict": "new"} for r in "ab"]
    assert objects("dedup", *EXACT, "--keep-cr", input=b"a\r\n")[0]["record"] == "a\r"
    assert objects("dedup", *EXACT, "--csv", "-k", "1", input=b'"x\r\ny",1\r\n')[0] == {"record": '"x\r\ny",1', "key": "x\r\ny", "verdict": "new"}


def test_a_header_is_not_a_record(here):
    (here / "a.csv").write_text("name,n\nann,1\nann,2\n")
    for more in [], ["--emit", "all"]:
        got = objects("dedup", *EXACT, "-q", "--csv", "-k", "name", *more, "a.csv")
        assert [one["record"] for one in got] == ["ann,1", "ann,2"][:1 + len(more) // 2]


# ---- JSON records ----

JSON = [(b'{"a": 1}', {"a": 1}), (b' {"a":[1, "\\u0000\\n\xc3\xbc"]}\t', {"a": [1, "\0\nü"]}), (b'"x"', "x"), (b"7", 7), (b"null", None), (b"", None), (b"  ", None)]


def test_json_records_are_embedded():
    got = objects("dedup", *EXACT, "--jsonl", "--emit", "all", input=b"".join(record + b"\n" for record, _ in JSON))
    assert [one["record"] for one in got] == [value for _, value in JSON]
    got = objects("dedup", *EXACT, "-k", "/a", input=b'\xef\xbb\xbf{"a":1.50}\r\n{"a":"1.50"}\n{"a":{"c":1, "b":2}}\n')
    assert [(one["record"]["a"], one["key"]) for one in got] == [(1.5, "1.50"), ({"c": 1, "b": 2}, '{"b":2,"c":1}')]


def test_json_over_several_lines_becomes_one_line():
    got = objects("dedup", *EXACT, "--jsonl", "-z", "-k", "/a", input=b'{\r\n "a":\n1}\0{"a":\n\n"x\\ny"}\0')
    assert [one["record"] for one in got] == [{"a": 1}, {"a": "x\ny"}]


def test_invalid_json_is_malformed():
    for bad in b"{", b'"\xff"', b"nope", b'{"a":1}{}':
        refused("dedup", *EXACT, "--jsonl", "--format", "json", input=bad + b"\n", saying="not JSON")
        got = objects("dedup", *EXACT, "--jsonl", "--on-error", "skip", "--emit", "all", input=bad + b"\n1\n")
        assert got == [{"record": 1, "key": "1", "verdict": "new"}]


# ---- records without a verdict ----

def test_malformed_records_are_omitted(here):
    lines = "a 1\nb\nc 1\n"
    for more in [], ["--emit", "all"]:
        skipped = run("dedup", *EXACT, "-k", "2", "--on-error", "skip", "--format", "json", *more, input=lines)
        assert [json.loads(line)["record"] for line in skipped.lines] == ["a 1", "c 1"][:1 + len(more) // 2]
        assert "1 of 3 records" in skipped.err
    got = objects("dedup", *EXACT, "-k", "2", "--on-missing", "pass", input=lines)
    assert got[1] == {"record": "b", "key": None, "verdict": "keyless"}
    stopped = run("dedup", *EXACT, "-k", "2", "--format", "json", input=lines, ok=False)
    assert stopped.status == 2 and json.loads(stopped.out)["record"] == "a 1"


@pytest.mark.parametrize("command", [["check", "--screen", "none", "--store"], ["filter", "f", "--strict"]], ids=lambda c: c[0])
def test_a_store_without_an_answer_is_unknown(command, words):
    database = sqlite3.connect("db", isolation_level=None)
    database.execute("CREATE TABLE t (k TEXT)")
    database.execute("INSERT INTO t VALUES ('bob')")
    process = subprocess.Popen([WEIR, *command, "sqlite:db?table=t&column=k", "--timeout", "50ms", "--retries", "0", "-q",
                                "--on-store-error", "pass", "--format", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for verdict in "member", "unknown":
        process.stdin.write(b"bob\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"record": "bob", "key": "bob", "verdict": verdict}
        if verdict == "member":
            database.execute("BEGIN EXCLUSIVE")
    database.close()
    process.stdin.close()
    process.stdout.close()
    assert process.wait(20) == 0


# ---- kinds of runs ----

def test_threads_and_batches_change_nothing(here):
    random.seed(4)
    lines = b"".join(b"%d \xff\"%d\n" % (random.randrange(9000), i % 7) for i in range(60000))
    (here / "in").write_bytes(lines)
    (here / "in.gz").write_bytes(gzip.compress(lines))
    asked = ["dedup", *EXACT, "-k", "1", "--shards", "2", "--format", "json", "--emit", "all"]
    expected = run(*asked, "in").out
    assert [text(json.loads(line)["record"]) for line in expected.splitlines()] == lines.split(b"\n")[:-1]
    assert run(*asked, "-j", "2", "in").out == expected == run(*asked, "in.gz").out == run(*asked, "-j", "3", input=lines).out


def test_a_run_resumes_after_the_last_object(here):
    asked = ["dedup", "-q", *EXACT, "--csv", "-k", "name", "--format", "json", "--state", "s", "--resume", "-o", "out", "in.csv"]
    (here / "in.csv").write_text("name\nann\nbob\n")
    run(*asked)
    with open(here / "in.csv", "a") as log:
        log.write("bob\ncid\n")
    with open(here / "out", "a") as out:
        out.write('{"record":"of a run that was cut off')
    run(*asked)
    assert [json.loads(line)["record"] for line in open(here / "out")] == ["ann", "bob", "cid"]
    run("dedup", "-q", *EXACT, "--format", "json", "-o", "out", "--append", input="zed\n")
    assert [json.loads(line)["record"] for line in open(here / "out")] == ["ann", "bob", "cid", "zed"]


def test_each_record_is_answered_immediately():
    process = subprocess.Popen([WEIR, "dedup", *EXACT, "--emit", "all", "--format", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for verdict in "new", "seen":
        process.stdin.write(b"a\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["verdict"] == verdict
    process.stdin.close()
    process.stdout.close()
    assert process.wait(20) == 0


# ---- refusals ----

@pytest.mark.parametrize("command,saying", [
    (["info", "--json", "f"], "--json: unknown option; use --format json\n"),
    (["list", "--json"], "--json: unknown option; use --format json\n"),
    (["top", "--json"], "--json: unknown option; use --format json (--jsonl is for JSON input)"),
    (["dedup", "--json"], "--json: unknown option; use --format json (--jsonl is for JSON input)"),
    (["plan", "--keys", "1M", "-e", "1%"], "--keys: unknown option; use --count N"),
    (["eval", "--format", "table", "in"], "--format table: invalid value; expected text|tsv|json"),
    (["plan", "--format", "table"], "--format table: invalid value; expected text|tsv|json"),
    (["info", "--format", "", "f"], "expected text|tsv|json"),
    *[([command, "--format", "tsv"], "--format tsv: invalid value; expected text|json") for command in ("dedup", "filter", "check", "ask")],
    (["dedup", "--format", "json", "--words", "A,B"], "--format json: writes an object for each record; remove --words"),
    (["ask", "--format", "json", "--count-only", "f"], "--format json: writes an object for each record; remove --count-only"),
    (["build", "--format", "json", "-o", "x"], "--format: not an option of 'weir build'"),
])
def test_invalid_combinations_are_refused(command, saying, here):
    refused(*command, saying=saying)
