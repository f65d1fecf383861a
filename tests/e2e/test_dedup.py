"""weir dedup compared with exact results, for every record format."""
import csv
import io
import json
import os
import random
import subprocess

import pytest

from conftest import EXACT, WEIR, refused, run, unique


def dedup(text, *options):
    return run("dedup", *EXACT, *options, input=text).out.decode()


def test_each_line_is_printed_once_in_order():
    assert dedup("b\na\nb\nc\na\n") == "b\na\nc\n"


def test_empty_input_gives_empty_output():
    assert dedup("") == ""


def test_empty_lines_are_records():
    assert dedup("\n\na\n\n") == "\na\n"


def test_a_missing_last_line_break_is_added():
    assert dedup("a\nb") == "a\nb\n"
    assert dedup("a\na") == "a\n"


def test_files_are_separate_lines(here):
    (here / "1").write_text("a\nb")
    (here / "2").write_text("b\nc")
    assert run("dedup", "1", "2").lines == ["a", "b", "c"]


def test_dash_is_standard_input(here):
    (here / "1").write_text("a\n")
    assert run("dedup", "1", "-", input="a\nb\n").lines == ["a", "b"]


def test_bytes_that_are_not_text_are_unchanged():
    data = bytes(range(11, 256)) + b"\n" + bytes(10) + b"\n"
    assert run("dedup", input=data + data).out == data


def test_nul_records():
    assert run("dedup", "-z", input=b"a\nb\0c\0a\nb\0").out == b"a\nb\0c\0"


def test_a_large_stream_equals_an_exact_set():
    rng = random.Random(5)
    lines = [str(rng.randrange(60000)) for _ in range(200000)]
    assert dedup("\n".join(lines) + "\n").splitlines() == unique(lines)


def test_records_across_reads_stay_complete():
    rng = random.Random(6)
    for shape in ([1], [70], [0, 1, 200000], [131071], [131072], [131073], [30, 3000]):
        lines, size = [], 0
        while size < 900000 and len(lines) < 40000:
            body = str(rng.randrange(1000))
            lines.append(body.rjust(rng.choice(shape), "x")[:max(shape)])
            size += len(lines[-1])
        assert dedup("\n".join(lines) + "\n").splitlines() == unique(lines), shape


def test_the_size_of_reads_changes_nothing():
    rng = random.Random(7)
    rows = [[str(rng.randrange(30)), rng.choice(['a"b', "x\ny", "p,q", ""])] for _ in range(300)]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    data = text.getvalue().encode()
    expected = run("dedup", *EXACT, "--csv", "-k", "1,2", input=data).out
    for round in range(8):
        process = subprocess.Popen([WEIR, "dedup", *EXACT, "--csv", "-k", "1,2"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        at = 0
        while at < len(data):
            step = rng.choice([1, 2, 3, 17, 400])
            os.write(process.stdin.fileno(), data[at:at + step])
            at += step
        assert process.communicate(timeout=30)[0] == expected


# ---- keys ----

def test_fields_between_spaces_are_those_of_awk():
    assert dedup("x  1 a\n y\t1 b\nz 2\n", "-k", "2") == "x  1 a\nz 2\n"


def test_fields_between_delimiters():
    assert dedup("a::1\nb::1\na:x:2\n", "-d", ":", "-k", "3") == "a::1\na:x:2\n"
    assert dedup("a::1\nb::1\nc:x:1\n", "-d", ":", "-k", "2") == "a::1\nc:x:1\n"


def test_tsv_keeps_empty_fields():
    assert dedup("a\t\tb\nc\t\td\n", "--tsv", "-k", "2") == "a\t\tb\n"


def test_a_key_of_two_fields_is_not_their_concatenation():
    assert dedup("a,bc\nab,c\na,bc\n", "--csv", "-k", "1,2") == "a,bc\nab,c\n"


def test_ignore_case_folds_unicode():
    assert dedup("Élan\nélan\nELAN\nelan\n", "--ignore-case") == "Élan\nELAN\n"


def test_csv_quoted_and_plain_fields_are_the_same_key():
    assert dedup('a,1\n"a",2\n"a""b",3\n"a""b",4\n', "--csv", "-k", "1") == 'a,1\n"a""b",3\n'


def test_csv_line_breaks_inside_quotes_do_not_end_a_record():
    assert dedup('1,"x\ny"\n2,"x\ny"\n3,x\n', "--csv", "-k", "2") == '1,"x\ny"\n3,x\n'


def test_csv_lines_may_end_with_crlf():
    assert dedup('1,a\r\n2,"a"\r\n3,a\n', "--csv", "-k", "2") == "1,a\r\n"


def test_csv_accepts_another_delimiter():
    assert dedup('1;"a;b"\n2;"a;b"\n', "--csv", "-d", ";", "-k", "2") == '1;"a;b"\n'


def test_csv_equals_pythons_csv_module():
    rng = random.Random(8)
    alphabet = ["a", "b", ",", '"', "\n", "\r\n", " "]
    rows = [["".join(rng.choices(alphabet, k=rng.randrange(4))) for _ in range(3)]
            for _ in range(20000)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    seen, expected = set(), []
    for row in rows:
        if row[1] not in seen:
            seen.add(row[1])
            expected.append(row)
    got = dedup(text.getvalue(), "--csv", "-k", "2")
    assert list(csv.reader(io.StringIO(got, newline=""))) == expected


def test_columns_by_name_and_one_header_for_all_files(here):
    (here / "1").write_text("id,mail\n1,a\n2,b\n")
    (here / "2").write_text("id,mail\n3,b\n4,c\n")
    assert run("dedup", "--csv", "-k", "mail", "1", "2").lines == ["id,mail", "1,a", "2,b", "4,c"]


def test_a_header_without_records_is_printed():
    assert dedup("id,mail\n", "--csv", "-k", "mail") == "id,mail\n"


def test_json_pointers():
    rows = [{"u": {"id": 1}}, {"u": {"id": 1}, "x": 1}, {"u": {"id": 2}}]
    text = "".join(json.dumps(r) + "\n" for r in rows)
    assert dedup(text, "--jsonl", "-k", "/u/id").splitlines() == [json.dumps(rows[0]),
                                                                  json.dumps(rows[2])]


def test_json_pointers_reach_into_arrays_and_escapes():
    text = '{"a/b":[{"~":"x"},7]}\n{"a/b":[{"~":"x"},8]}\n'
    assert dedup(text, "--jsonl", "-k", "/a~1b/0/~0").count("\n") == 1
    assert dedup(text, "--jsonl", "-k", "/a~1b/1").count("\n") == 2


def test_json_members_by_bare_name_and_objects_by_content():
    text = '{"o":{"a":1,"b":2}}\n{"o":{"b":2, "a":1}}\n{"o":"\\u00e9"}\n{"o":"é"}\n'
    assert dedup(text, "--jsonl", "-k", "o").count("\n") == 2


def test_json_numbers_are_keys_as_written():
    keys = ["1", '"1"', "1.0", "1e0", "0.1", '"0.1"', "0.10", "18446744073709551616", "1e400"]
    text = "".join(f'{{"k":{k}}}\n' for k in keys)
    expected = [f'{{"k":{k}}}' for k in keys if k not in ('"1"', '"0.1"')]
    assert dedup(text, "--jsonl", "-k", "/k").splitlines() == expected


def test_json_numbers_of_any_size_are_accepted_elsewhere_in_the_record():
    text = '{"id":1,"h":18446744073709551615}\n{"h":1e400,"id":2}\n{"h":-1e-400,"id":1}\n'
    assert dedup(text, "--jsonl", "-k", "/id") == "".join(text.splitlines(True)[:2])


def test_json_weights_may_have_an_exponent():
    text = '{"k":"a","w":2.5e3}\n{"k":"b","w":1E1}\n{"k":"a","w":1}\n'
    rows = run("top", "--jsonl", "-k", "/k", "--weight", "/w", input=text).lines
    assert [row.split("\t")[:2] for row in rows] == [["a", "2501"], ["b", "10"]]
    for weight in "2.5e0", "1e10", "1e-1":
        refused("top", "--jsonl", "-k", "/k", "--weight", "/w", input=f'{{"k":"a","w":{weight}}}\n', saying=weight)


def test_json_blank_lines_and_a_byte_order_mark_are_accepted():
    text = '\ufeff{"k":1}\n\n{"k":2}\n  \r\n{"k":1}\n'
    assert dedup(text, "--jsonl", "-k", "/k") == '\ufeff{"k":1}\n\n{"k":2}\n'


@pytest.mark.parametrize("more", [[], ["--jsonl"]])
def test_a_path_with_dots_is_refused_with_the_pointer_to_use(more):
    for path, pointer in (".user.id", "/user/id"), (".users[0].id", "/users/0/id"), (".[2]", "/2"), ("$.user.id", "/user/id"), (
            '.["a"].b', "/a/b"):
        refused("dedup", *more, "-k", path, input='{"user":{"id":1}}\n', saying=[f"use {pointer} with --jsonl"])


# ---- output ----

def test_emit_duplicates_prints_the_rest():
    assert dedup("a\nb\na\na\n", "--emit", "duplicates") == "a\na\n"


def test_emit_all_tags_each_record():
    assert dedup("a\na\n", "--emit", "all") == "new\ta\nseen\ta\n"
    assert dedup("n\na\na\n", "--csv", "-k", "n", "--emit", "all") == "verdict,n\nnew,a\nseen,a\n"


def test_count_only_prints_a_number(here):
    assert dedup("a\nb\na\n", "--count-only") == "2\n"
    assert dedup("a\nb\na\n", "--count-only", "--emit", "duplicates") == "1\n"
    assert dedup("a\nb\na\n", "--count-only", "-o", "n") == ""
    assert (here / "n").read_text() == "2\n"


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_by_its_file_name_is_not_truncated(name, here):
    (here / "log").write_text("kept\n")
    with open(here / "log", "a") as log:
        subprocess.run([WEIR, "dedup", "-q", "-o", name], input=b"a\na\n", stdout=log, cwd=here, check=True)
    assert (here / "log").read_text() == "kept\na\n"
    assert not (here / "-").exists()


def test_output_goes_to_a_file(here):
    (here / "out").write_text("what was there before, and longer")
    assert dedup("a\na\n", "-o", "out") == ""
    assert (here / "out").read_text() == "a\n"


def test_stats_in_json():
    result = run("dedup", *EXACT, "--stats", "json", input="a\nb\na\n")
    stats = json.loads(result.err)
    assert (stats["records"], stats["new"], stats["seen"], stats["passed"]) == (3, 2, 1, 2)
    assert stats["bytes"] == 6 and stats["filter"]["config"].startswith("bloom memory=4194304")


def test_a_report_is_printed_on_request_or_on_a_terminal():
    assert run("dedup", input="a\n").err == ""
    assert "2 records" in run("dedup", "--stats", "text", input="a\nb\n").err


# ---- the filter ----

def test_same_seed_same_output():
    lines = run("gen", "uniform:n=50k,distinct=60%").out
    small = ["-m", "4K", "--seed", "7"]
    first = run("dedup", *small, input=lines).out
    assert first == run("dedup", *small, input=lines).out
    assert first != run("dedup", "-m", "4K", "--seed", "8", input=lines).out


def test_the_filter_is_optional():
    config = json.loads(run("dedup", "--stats", "json", input="a\n").err)["filter"]["config"]
    listed = run("list").lines
    assert config.split()[0] in listed


def test_any_parameter_can_be_set():
    result = run("dedup", "-a", "sbf", "-S", "k=3", "-S", "cell=2", "--stats", "json", input="a\n")
    config = json.loads(result.err)["filter"]["config"]
    assert " k=3 " in config and " cell=2 " in config


def test_importance_reaches_the_filter():
    """From a stream far too long for the filter, it keeps the important keys."""
    keys = [f"key{i}\t{50 if i % 2 else 1}" for i in range(300)]
    noise = [f"noise{i}\t1" for i in range(1000)]
    text = "\n".join(keys + noise + keys) + "\n"
    out = run("dedup", "-a", "ibf-mc", "-m", "4K", "-S", "importance=1-50", "--seed", "3", "--tsv",
              "-k", "1", "-i", "2", input=text).lines
    twice = [line for line in keys if out.count(line) == 2]
    important = sum(line.endswith("\t50") for line in twice)
    assert len(twice) > 20 and important < len(twice) / 4, (important, len(twice))


@pytest.mark.parametrize("header", ["id,name", '"id",name', '"id","a, b"'])
def test_a_byte_order_mark_is_not_part_of_the_first_name(header):
    text = b"\xef\xbb\xbf" + header.encode() + b"\n1,x\n1,y\n2,x\n"
    result = run("dedup", *EXACT, "--csv", "-k", "id", input=text)
    assert result.out == b"\xef\xbb\xbf" + header.encode() + b"\n1,x\n2,x\n"
    assert run("dedup", *EXACT, "--csv", "-k", "2", "--header", input=text).out.count(b"\n") == 3
