"""Inputs that end just before, at and just after the limits of a batch: 16384 records and 128 KiB, or 16 records and
4 KiB in the build weir-tiny. Each reader in each command, compared with an exact result."""
import pytest

from conftest import EXACT, QUICK, WEIR, run, unique

RECORDS = 16 if WEIR.endswith("weir-tiny") else 16384
COUNTS = [c for k in (1, 2) for c in (k * RECORDS - 1, k * RECORDS, k * RECORDS + 1, k * RECORDS + 64)]

# How each reader encodes (id, other): the record with its end, and the options that select the id as the key.
READERS = {
    "lines": (lambda i: f"{i}\n", []),
    "nul": (lambda i: f"{i}\0", ["-z"]),
    "fields": (lambda i: f"x {i} y\n", ["-k", "2"]),
    "delimited": (lambda i: f"x:{i}\n", ["-d", ":", "-k", "2"]),
    "csv": (lambda i: f"x,{i}\n", ["--csv", "-k", "2"]),
    "csv quoted": (lambda i: f'"a\n""b",{i}\r\n', ["--csv", "-k", "2"]),
    "csv header": (lambda i: f"x,{i}\n", ["--csv", "--header", "-k", "id"]),
    "jsonl": (lambda i: f'{{"a":[1],"id":{i}}}\n', ["--jsonl", "-k", "/id"]),
}


def stream(reader, ids):
    encode, options = READERS[reader]
    records = [encode(i).encode() for i in ids]
    header = b"x,id\n" if "--header" in options else b""
    return header, records, options


@pytest.mark.parametrize("blank", ["", "\n", '"', "a,", "\r"], ids=["empty", "two", "quote", "comma", "cr"])
@pytest.mark.parametrize("format", [[], ["-z"], ["--csv"], ["--csv", "-k", "1"], ["--tsv"], ["-k", "1"]])
def test_empty_records(format, blank):
    """Regression: 20000 empty lines overflowed a batch of CSV records."""
    end = "\0" if "-z" in format else "\n"
    text = (blank + end) * (RECORDS + RECORDS // 4)
    result = run("dedup", "-q", "-m", "1M", "--on-error", "skip", *format, input=text, ok=False)
    assert result.status in (0, 1, 2), (result.status, result.err)
    assert len(result.out) <= 2 * (len(blank) + 1)  # one record; a quote may enclose the line break


@pytest.mark.parametrize("lead", range(0, 66, 1 if RECORDS == 16 else 13))
def test_a_csv_block_that_fills_a_batch(lead):
    """A 64-byte block ends exactly with the batch's last record, at every offset."""
    text = b"".join(b"%d\n" % (i % 10) for i in range(lead)) + b"\n" * (2 * RECORDS) + b"end\n"
    out = run("dedup", *EXACT, "--csv", input=text).out
    assert out == b"".join(line + b"\n" for line in unique(text.split(b"\n")[:-1]))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("count", COUNTS)
def test_dedup_at_the_batch_limit(reader, count):
    ids = [i * 7 % (count // 2 + 1) for i in range(count)]
    header, records, options = stream(reader, ids)
    expected = header + b"".join(unique(records))
    for jobs in ([], ["-j", "2"]):
        assert run("dedup", *EXACT, *options, *jobs, input=header + b"".join(records)).out == expected


@pytest.mark.parametrize("reader", READERS)
def test_every_command_at_the_batch_limit(here, reader):
    count = RECORDS + 3
    header, records, options = stream(reader, range(count))
    text = header + b"".join(records)
    end = "\0" if "-z" in options else "\n"
    (here / "in").write_bytes(text)
    (here / "half").write_bytes(header + b"".join(records[: count // 2]))
    (here / "keys").write_text("".join(f"{i}{end}" for i in range(count // 2)))
    run("build", *EXACT, *options, "-o", "s.weir", "half")
    half = header + b"".join(records[: count // 2])
    assert run("filter", *options, "s.weir", "in").out == half
    assert run("filter", "--invert", *options, "s.weir", "in").out == header + b"".join(records[count // 2 :])
    answers = run("ask", "--words", "n,y", *options, "s.weir", "in").out
    assert answers.count(b"y") - header.count(b"y") == count // 2
    assert run("check", "--store", "keys:keys", "-m", "1M", *options, "in").out == half
    run("add", *options, "s.weir", "in")
    assert run("filter", *options, "s.weir", "in").out == text
    counts = run("count", "-m", "4M", "--seed", "1", *options, "in").out.decode().split(end)
    assert [line.split("\t") for line in counts if line] == [[str(i), "1"] for i in range(count)]
    top = run("top", "-n", "1", "-m", "4M", "--seed", "1", *options, input=text + records[1] * 4).out.decode()
    assert top.split("\t")[:3] == ["1", "5", "0"]
    run("eval", "-a", "bloom", "-m", "1M", *options, "in")


@pytest.mark.skipif(QUICK and RECORDS > 16, reason="weir-tiny reads the same code")
@pytest.mark.parametrize("size", [4094, 4095, 4096, 4097, 8191, 8192, 131071, 131072, 131073])
@pytest.mark.parametrize("reader", ["lines", "csv", "jsonl"])
def test_records_as_long_as_a_read(reader, size):
    encode, options = READERS[reader]
    ids = ["1" * (size - len(encode("")))] + [str(2), str(3), str(2)]
    text = "".join(map(encode, ids))
    assert run("dedup", *EXACT, *options, input=text).out.decode() == "".join(map(encode, unique(ids)))
