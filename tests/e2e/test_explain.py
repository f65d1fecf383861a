"""--explain prints how records are read, and does nothing else."""
import gzip

import pytest

from conftest import refused, run

TABLE = "user,page,ts\nBob,/index,2026-11-18T10:00:00Z\nbob,/index,2026-11-18T10:00:01.5Z\nx\ny,/,\nz,a\"q,1\n"


def explain(*args, **more):
    result = run(*args, "--explain", **more)
    assert result.err == "", result.err
    return result.out.decode().split("\n\n")


def test_a_table_is_explained(here):
    (here / "a.csv").write_text(TABLE)
    head, *records = explain("dedup", "--csv", "-k", "user,page", "--time", "ts", "--ignore-case", "a.csv")
    assert head == ("input: a.csv\nformat: CSV, delimiter ',', header: user,page,ts\n"
                    "key: user (field 1), page (field 2), ignoring case\ntime: ts (field 3), RFC 3339")
    assert records[0] == 'line 2: Bob,/index,2026-11-18T10:00:00Z\n  key "bob" "/index", time 2026-11-18T10:00:00.000Z'
    assert records[1].endswith('key "bob" "/index", time 2026-11-18T10:00:01.500Z (same key as line 2)')
    assert "line 4: x\n  missing: the record has 1 field" in records[2] and "the run stops here" in records[2]
    assert "missing: the time is empty" in records[3]
    assert "line 6" in records[4] and "malformed: not CSV" in records[4] and len(records) == 5


def test_bad_records_are_explained_by_the_options():
    def fates(*options):
        return [part.splitlines()[-1].strip() for part in explain("dedup", "--jsonl", "-k", "/a", *options, input="{}\nx\n")[1:]]
    assert fates() == ["the run stops here; --on-missing skip or pass continues",
                       "the run stops here; --on-error skip drops the record"]
    assert fates("--on-error", "skip") == ["the record is skipped"] * 2
    assert fates("--on-missing", "pass")[0] == "passed on without a verdict (--on-missing pass)"
    assert fates("--on-missing", "skip") == ["the record is skipped", fates()[1]]


def test_control_characters_are_visible():
    text = b"a\tb\r\nk\x1f\x85\xc2\x85\x1b[31m\xc3\xa9\\\"\n"
    _, first, second = explain("dedup", "-d", "|", input=text)
    assert first == r'line 1: a\tb\r' + "\n" + r'  key "a\tb"'
    assert second.rstrip().endswith(r'key "k\x1f\x85\xc2\x85\x1b[31m' + "\u00e9" + r'\\\""')


def test_long_records_are_cut():
    out = explain("dedup", input="x" * 5000)[1]
    assert len(out) < 500 and "x... (5000 bytes)" in out


@pytest.mark.parametrize("text", ["", "a,b\n"])
def test_no_records_are_reported(text):
    out = explain("dedup", "--csv", "-k", "1", "--header", input=text)
    assert out[0].startswith("input: standard input\nformat: CSV") and out[1] == "no records\n"


def test_five_records_of_any_input(here):
    (here / "one").write_text("h\n1\n2\n")
    (here / "two.gz").write_bytes(gzip.compress(b"h\n3\n4\n5\n6\n"))
    text = run("top", "--header", "--explain", "one", "two.gz").out.decode()
    assert [part.split('key "')[1][0] for part in text.split("line ")[1:]] == list("12345")
    assert "input: one\n" in text and "input: two.gz (gzip)\n" in text


@pytest.mark.parametrize("command", [
    ["dedup", "--state", "s", "-o", "out", "--metrics", "m"], ["dedup", "--at", "redis://127.0.0.1:1/x"], ["build", "-o", "F"],
    ["check", "--store", "postgres://127.0.0.1:1/x?table=t&column=c", "--state", "s"], ["filter", "none.weir"], ["ask", "none.weir"],
    ["add", "none.weir"], ["forget", "none.weir"], ["count", "--state", "s"], ["top", "--state", "s"], ["eval", "--report", "r.html"],
    ["ask", "--which", "none.weir", "--"]])
def test_nothing_else_is_opened_or_written(here, command):
    (here / "in").write_text("a\nb\n")
    head, first, second = explain(*command[:1], "-k", "1", *command[1:], "in") if "--" not in command else \
        run(*command[:1], "-k", "1", "--explain", *command[1:], "in").out.decode().split("\n\n")
    assert head.startswith("input: in\n") and 'key "a"' in first and 'key "b"' in second
    assert [p.name for p in here.iterdir()] == ["in"]


def test_lists_of_keys_are_explained_too(here):
    (here / "keys").write_bytes(b"a\r\n")
    (here / "in").write_text("a b\n")
    for command in ["filter", "-k", "1", "--keys", "keys"], ["count", "-k", "1", "--query", "keys"]:
        out = run(*command, "--explain", "in").out.decode()
        assert "input: keys\n" in out and out.index("input: keys") < out.index("input: in")
        assert 'line 1: a\\r\n' in out


def test_errors_equal_those_of_a_run(here):
    (here / "a.csv").write_text(TABLE)
    failed = refused("dedup", "--csv", "-k", "nope", "--explain", "a.csv", saying="there is no column 'nope'")
    assert b"header: user,page,ts" in failed.out
    refused("dedup", "--explain", "absent", saying="absent")
    refused("filter", "--explain", saying="needs a filter file")
    refused("eval", "--explain", "--synthetic", "uniform:n=10", saying="--synthetic")
    refused("info", "--explain", "F", saying="--explain")
