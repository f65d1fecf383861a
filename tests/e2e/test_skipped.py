"""Skipped records are counted and reported; records without a key are handled by option; a likely format is
suggested. Each test compares with exact results in Python."""
import gzip
import json

import pytest

from conftest import EXACT, refused, run

JSON = ['{"a": 1}', '{"a": 1}', '{"b": 2}', '{"a": 3}', '{"a": 4', '{"a": 5}', "[", '{"a": 3}', '{"b": 2}']


def text(items):
    return "".join(item + "\n" for item in items)


def parse(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def dedup(items, missing):
    """Returns the output and the number of skipped records."""
    seen, out, skipped = set(), [], []
    for number, line in enumerate(items, 1):
        record = parse(line)
        if record is None or ("a" not in record and missing == "skip"):
            skipped.append(number)
        elif "a" not in record:
            out.append(line)
        elif record["a"] not in seen:
            seen.add(record["a"])
            out.append(line)
    return out, skipped


@pytest.mark.parametrize("threads", ["-j1", "-j3"])
def test_skipped_records_are_counted_and_the_first_is_named(here, threads):
    items = JSON * 1000
    (here / "log").write_text(text(items))
    out, skipped = dedup(items, "skip")
    command = ["dedup", *EXACT, threads, "--jsonl", "-k", "/a", "--on-error", "skip"]
    got = run(*command, "log")
    assert got.lines == out and got.err == f"weir: {len(skipped)} of {len(items)} records skipped, first at line {skipped[0]}\n"
    assert run(*command, "-q", "log").err == ""
    (here / "good").write_text('{"a": 9}\n')
    assert run(*command, "good", "log").err.endswith(f"skipped, first at line {skipped[0]} of log\n")
    assert run(*command, "good").err == ""


def test_every_command_reports_skipped_records_once(here):
    (here / "log").write_text(text(JSON))
    run("build", *EXACT, "-q", "-o", "F", input="1\n")
    options = ["--jsonl", "-k", "/a", "--on-error", "skip", "log"]
    said = "weir: 4 of 9 records skipped, first at line 3\n"
    for command in (["filter", "F"], ["ask", "F"], ["build", *EXACT, "-o", "G"], ["add", "F"], ["top"], ["count"],
                    ["eval", "-a", "recent", "-m", "64K"], ["check", "--store", "keys:log"]):
        assert run(*command, *options).err.count(said) == 1, command
        assert said not in run(*command, "-q", *options, ok=False).err


@pytest.mark.parametrize("missing", ["skip", "pass"])
def test_on_missing_decides_about_records_without_the_key(here, missing):
    items = JSON * 20
    (here / "log").write_text(text(items))
    command = ["dedup", *EXACT, "--jsonl", "-k", "/a", "--on-missing", missing]
    out, skipped = dedup(items, missing)
    got = run(*command, "--on-error", "skip", "log")
    assert got.lines == out and f"weir: {len(skipped)} of {len(items)} records skipped" in got.err
    keyless = sum("b" in (parse(line) or {}) for line in items)
    assert (f"weir: {keyless} of {len(items)} records lack a required field and were passed\n" in got.err) == (missing == "pass")
    refused(*command, "-q", "log", saying="log, line 5: ")  # malformed records are handled separately


def test_missing_keys_may_stop_a_run_that_skips_malformed_records(here):
    (here / "log").write_text(text(["{"] + JSON))
    command = ["dedup", *EXACT, "-q", "--jsonl", "-k", "/a", "--on-error", "skip", "--on-missing", "stop"]
    assert refused(*command, "log", saying="log, line 4: the record has no /a").lines == JSON[:1]


def test_records_printed_without_a_key_are_tagged_and_not_added(here):
    lines = ["x 1", "y", "x 1", "y", "z 2"]
    tagged = run("dedup", *EXACT, "-k", "2", "--on-missing", "pass", "--emit", "all", input=text(lines))
    assert tagged.lines == ["new\tx 1", "keyless\ty", "seen\tx 1", "keyless\ty", "new\tz 2"]
    assert "2 of 5 records lack a required field" in tagged.err
    got = run("dedup", *EXACT, "-k", "2", "--on-missing", "pass", "--stats", "json", input=text(lines))
    assert got.lines == ["x 1", "y", "y", "z 2"] and '"records": 3,' in got.err
    run("build", "-q", *EXACT, "-o", "F", "-k", "2", "--on-missing", "skip", input=text(lines))
    assert run("filter", "-k", "2", "--on-missing", "pass", "--invert", "F", input=text(lines)).lines == ["y", "y"]
    assert run("top", "-q", "-k", "2", "--on-missing", "pass", input=text(lines)).lines[0].startswith("1\t2")


# ---- suggested formats ----

USERS = "id,email\n1,ann@x\n2,ann@x\n3,bob@x\n"


@pytest.mark.parametrize("name, option", [("users.csv", "--csv"), ("users.tsv", "--tsv"), ("users.jsonl", "--jsonl"),
                                          ("users.csv.gz", "--csv"), ("users.jsonl.gz", "--jsonl")])
def test_a_file_name_selects_the_format_if_a_column_is_named(here, name, option):
    content = USERS.replace(",", "\t") if option == "--tsv" else USERS
    if option == "--jsonl":
        content = '{"email": "ann@x", "n": "1, 2"}\n{"email": "ann@x"}\n'
    (here / name).write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
    told = run("dedup", *EXACT, "-k", "email", name)
    assert told.err == f"weir: {name}: reading with {option}, because of its name\n"
    plainly = run("dedup", *EXACT, option, "-k", "email", name)
    assert plainly.err == "" and plainly.out == told.out != b""
    assert run("dedup", *EXACT, "-q", "-k", "email", name).err == ""
    # nothing is guessed without a column name
    assert run("dedup", *EXACT, name).err == "" and "because of its name" not in run("dedup", *EXACT, "-k", "1", name).err


def test_conflicting_file_names_select_nothing(here):
    (here / "users.csv").write_text(USERS)
    (here / "users.txt").write_text(USERS)
    (here / "u.jsonl").write_text('{"email": 1}\n')
    for other in "users.txt", "u.jsonl":
        refused("dedup", "-k", "email", "users.csv", other, saying="there is no column 'email'")
    run("build", "-q", *EXACT, "-o", "F", input="ann@x\n")
    assert run("filter", "-k", "email", "F", "users.csv").lines == ["id,email", "1,ann@x", "2,ann@x"]


@pytest.mark.parametrize("content, saying", [
    (USERS, "did you mean --csv?"), (USERS.replace(",", ";"), "did you mean --csv -d ';'?"),
    ('{"email": 1}\n', "did you mean --jsonl?")])
def test_a_likely_format_is_suggested(here, content, saying):
    refused("dedup", "-k", "email", input=content, saying=["there is no column 'email'", saying])
    refused("dedup", "-k", "9", input=content, saying=["field 9 is requested", saying])
    assert "did you mean" not in refused("dedup", "-k", "email", input="id name\n1 2\n").err
    assert "did you mean" not in refused("dedup", "--csv", "-k", "mail", input=USERS).err
    for separated, saying in (";", "--csv -d ';'?"), ("\t", "--tsv?"):
        refused("dedup", "--csv", "-k", "email", input=USERS.replace(",", separated), saying=f"did you mean {saying}")


AGENTS = ["Mozilla/5.0 (X11; Linux x86_64; rv:109.0)", "curl/8.5", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0, like Mac OS X)"]


@pytest.mark.parametrize("content", [
    "".join(f'1.2.3.{i} - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 23 "-" "{agent}"\n' for i, agent in enumerate(AGENTS)),
    "".join(f"1.2.3.4 {agent}\n" for agent in AGENTS), "one, two\nthree\n", "only, one line\n"])
def test_a_delimiter_that_splits_lines_unevenly_is_not_suggested(content):
    for key in "user", "50":
        for options in [], ["-i", "51"]:
            assert "did you mean" not in refused("dedup", "-k", key, *options, input=content).err


def test_the_last_line_of_a_table_without_a_field_gets_the_hint():
    content = "a b;c\n" * 20 + "x;y\n"
    refused("dedup", "-k", "2", input=content, saying="line 21: the record has 1 field, field 2 is requested; did you mean --csv -d ';'?")


@pytest.mark.parametrize("name, option", [("users.csv", "--csv"), ("users.csv.gz", "--csv"), ("u.tsv", "--tsv")])
def test_a_numbered_field_of_a_csv_file_gets_a_hint(here, name, option):
    (here / name).write_text(USERS)
    done = run("dedup", "-k", "1", name)
    assert done.err == f"weir: {name}: reading lines with fields separated by blanks; did you mean {option}?\n"
    assert run("dedup", "-q", "-k", "1", name).err == run("dedup", "-d", ",", "-k", "1", name).err == run("dedup", name).err == ""


def test_duplicate_column_names_are_reported(here):
    table = "id,k,k\n1,a,x\n2,a,y\n"
    got = run("dedup", *EXACT, "--csv", "-k", "k", input=table)
    assert got.lines == ["id,k,k", "1,a,x"]
    assert got.err == "weir: columns 2 and 3 are both called 'k'; the first is used; for the other, use --key 3\n"
    assert run("dedup", *EXACT, "-q", "--csv", "-k", "k", input=table).err == ""
    assert run("dedup", *EXACT, "--csv", "-k", "id", input=table).err == ""
    assert run("dedup", *EXACT, "--csv", "--header", "-k", "3", input=table).lines == ["id,k,k", "1,a,x", "2,a,y"]


@pytest.mark.parametrize("options", [[], ["--csv", "-k", "1"]])
def test_bytes_of_a_record_that_is_too_long_are_counted(here, options):
    content = "a\n" + "x" * 3_000_000 + "\nb\n"
    (here / "in").write_text(content)
    command = ["dedup", *EXACT, *options, "--max-record", "100K", "--on-error", "skip", "--stats", "json"]
    for got in run(*command, "in"), run(*command, input=content), run(*command, "-j", "2", "in"):
        stats = json.loads(got.err.splitlines()[-1])
        assert got.lines == ["a", "b"] and (stats["bytes"], stats["skipped"]) == (len(content), 1)
