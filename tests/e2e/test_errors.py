"""Every wrong call gets one helpful message, and records before an error are not lost."""
import fcntl
import os
import re
import signal
import stat
import struct
import subprocess
import termios
import threading
import time

import pytest

from conftest import EXACT, SANITIZED, WEIR, refused, run
from test_man import commands


def test_weir_alone_prints_what_to_try(here):
    result = run(ok=False)
    assert result.status == 2 and b"usage: weir" in result.out and b"'weir help' lists" in result.out
    assert all(len(line) < 80 for line in result.lines)
    (trial,) = re.findall(rb"^  (weir gen .*)$", result.out, re.M)
    path = os.path.dirname(WEIR) + ":" + os.environ["PATH"]
    assert int(subprocess.run(["sh", "-c", trial], capture_output=True, env={**os.environ, "PATH": path}).stdout) > 590000


def test_version_prints_what_a_bug_report_needs():
    first, *rest = run("version", "--verbose").lines
    assert first == run("version").out.decode().strip()
    assert [line.split()[0] for line in rest if line[0] != " "] == ["build", "processor", "libraries"]
    assert all(len(line) < 80 for line in rest)
    assert re.search(r"SQLite 3\.\d+", "\n".join(rest)) and re.search(r"xxHash 0\.\d+\.\d", "\n".join(rest))


def test_help_works_in_every_spelling():
    for args in (["help"], ["--help"], ["-h"], ["help", "dedup"], ["dedup", "--help"]):
        assert b"usage: weir" in run(*args).out
    assert run("version").out == run("--version").out


WRONG = [
    (["dedpu"], "did you mean 'dedup'"),
    (["frobnicate"], "frobnicate: unknown command; 'weir help' lists all"),
    (["uniq"], "did you mean 'dedup'"),
    (["-k", "2"], "no command before the option"),
    (["/etc/passwd"], "did you mean 'weir dedup /etc/passwd'"),
    (["help", "nothing"], "nothing: unknown command"),
    (["help", "dedpu"], "did you mean 'dedup'"),
    (["version", "x"], "x: unexpected argument"),
    (["count", "no-such-file"], "cannot open no-such-file: No such file"),
    (["count", "/tmp"], "cannot read /tmp: Is a directory"),
    (["dedup", "--state", "/tmp", "/dev/null"], "/tmp: directory, not a state file"),
    (["dedup", "--kye", "2"], "did you mean --key"),
    (["dedup", "-y"], "-y: unknown option"),
    (["dedup", "--key"], "no value"),
    (["dedup", "-k"], "-k: no value"),
    (["dedup", "--csv=x"], "takes no value"),
    (["dedup", "--invert"], "--invert: not an option of"),
    (["dedup", "-a", "blom"], "there is no filter 'blom'"),
    (["dedup", "-m", "lots"], "a size"),
    (["dedup", "-e", "2"], "a rate"),
    (["dedup", "-S", "k"], "PARAMETER=VALUE"),
    (["dedup", "-S", "foo=1"], "no parameter 'foo'"),
    (["dedup", "-k", "0"], "numbered from 1"),
    (["dedup", "-k", ""], "empty field"),
    (["dedup", "-k", "1,,2"], "empty field"),
    (["dedup", "--emit", "some"], "unique|duplicates|all"),
    (["dedup", "--checkpoint", "often"], "30s|1M"),
    (["dedup", "--resume"], "--resume: no state to continue from; add --state"),
    (["dedup", "--csv", "--jsonl"], "another record format"),
    (["dedup", "--csv", "-z"], "remove -z or --csv"),
    (["dedup", "--jsonl", "--header"], "--header: JSON lines have no header"),
    (["dedup", "-d", "ab"], "invalid value"),
    (["dedup", "-j", "0"], "a number from 1 to 256"),
    (["dedup", "--shards", "1000"], "a number from 1 to 256"),
    (["top", "--ngrams", "0"], "a number from 1 to 16"),
    (["eval", "--baseline-memory", "much"], "a size, such as"),
    (["top", "-n", "0"], "a number from 1 to 100000000"),
    (["top", "--share", "2"], "a rate above 0 and at most 1"),
    (["top", "-n", "5", "--share", "1%"], "without --number"),
    (["dedup", "--max-record", "2G"], "a size up to 1G"),
    (["dedup", "--checkpoint", "1s"], "--checkpoint: no state to save; add --state"),
    (["dedup", "--state", "x", "-o", "x"], "output and state at once"),
    (["dedup", "--state", "no/where"], "cannot save no/where: No such file"),
    (["build", "-o", "no/where"], "cannot save no/where: No such file"),
    (["build", "-o", "."], "cannot save .: Is a directory"),
    (["dedup", "--state", "/dev/null"], "not a state file"),
    (["dedup", "two\nlines"], "cannot open two?lines"),
    (["dedup", "-a", "bloom", "-i", "2"], "bloom has no parameter 'importance'"),
    (["dedup", "--max-record", "0"], "invalid value"),
    (["dedup", "nofile"], "cannot open nofile: No such file"),
    (["dedup", "."], "cannot read .: Is a directory"),
    (["dedup", "-o", "no/where"], "cannot write no/where"),
    (["build"], "needs -o FILE"),
    (["filter"], "needs a filter file"),
    (["filter", "nofile"], "cannot open nofile"),
    (["ask"], "needs a filter file"),
    (["merge", "-o", "f", "a"], "two or more"),
    (["merge", "a", "b"], "needs -o FILE"),
    (["grow", "a", "-m", "1M"], "needs -o FILE"),
    (["grow", "a", "-o", "b"], "needs -m SIZE"),
    (["grow", "-m", "1M", "-o", "b"], "needs one filter or state file"),
    (["grow", "nofile", "-m", "1M", "-o", "b"], "cannot open nofile"),
    (["info"], "expected one filter, sketch or state file"),
    (["gen"], "uniform:n=1M"),
    (["gen", "poisson"], "there are uniform, zipf, endless"),
    (["gen", "uniform:x=1"], "uniform has no parameter 'x'"),
    (["gen", "uniform:n"], "parameter=value"),
    (["gen", "uniform:alpha=2"], "no parameter 'alpha'"),
    (["gen", "zipf:bias=direct"], "bias= needs importance="),
    (["gen", "uniform:importance=0-9,bias=direct"], "importance= from 1 on"),
    (["gen", "uniform:importance=1-50,bias=direct,universe=49"], "at least as many keys"),
    (["gen", "endless:drift=10%/1k"], "drift= needs universe="),
    (["gen", "zipf:drift=10%"], "10%/100k"),
    (["gen", "zipf:drift=0/1k"], "10%/100k"),
    (["gen", "zipf:n=1G,universe=1000000G,drift=1%/1"], "more keys than the maximum"),
    (["plan", "--stream", "zipf:drift=10%/1k"], "no model of drift=; measure filters with 'weir eval --synthetic zipf:drift=10%/1k'"),
    (["list", "nothing"], "nothing: unknown filter, sketch or screen"),
]


@pytest.mark.parametrize("args,saying", WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_wrong_call(args, saying, here):
    refused(*args, saying=saying, input="a\n")


def test_a_key_instead_of_a_file_is_explained(here):
    (here / "keys").write_text("a\n")
    run("build", "-o", "f", "keys")
    refused("ask", "f", "alice", saying="echo 'alice' | weir ask f")


def test_other_files_and_damaged_filter_files_have_different_messages(here):
    (here / "text").write_text("hello\n")
    refused("info", "text", saying=["text is not a filter file", "weir build -o F text"])
    (here / "keys").write_text("a\n")
    run("build", "-o", "f", "keys")
    data = (here / "f").read_bytes()
    (here / "cut").write_bytes(data[:-5])
    refused("info", "cut", saying="truncated")
    (here / "bent").write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    refused("info", "bent", saying="damaged")
    (here / "none").write_bytes(b"")
    refused("info", "none", saying="empty")


@pytest.mark.skipif(SANITIZED, reason="it takes memory in its own way")
def test_a_small_file_uses_little_memory(here):
    """A sketch that may grow to 2G and contains one key: its file is small, and so is the memory it uses, also when
    it is merged."""
    run("top", "-q", "-m", "2G", "-S", "keys=1", "--seed", "1", "--state", "t", input="a\n")
    for args in (["info", "t"], ["merge", "-o", "m", "t", "t"]):
        # Meson sets MALLOC_PERTURB_, with which the C library writes to all memory that it allocates.
        plain = {**os.environ, "MALLOC_PERTURB_": "0"}
        process = subprocess.Popen([WEIR, *args], stdout=subprocess.DEVNULL, env=plain)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0 and used.ru_maxrss < 200 << 10, (args, used.ru_maxrss)


@pytest.mark.parametrize("weight", ["4294967296", "18446744073709551617", "1.5", "-1", "x"])
def test_a_weight_is_counted_exactly_or_refused(weight):
    refused("top", "-w", "2", input=f"a 1\na {weight}\n",
            saying=["line 2", f"the weight '{weight}' is not a number", "whole and below 2^32"])
    assert run("top", "-q", "-k", "1", "-w", "2", input="a 4294967295\na 1.0\n").lines[0].startswith("a\t4294967296\t")


# ---- waiting ----

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("args", [["dedup", "pipe"], ["dedup", "-o", "pipe", "in"]])
def test_a_signal_ends_the_wait_for_the_other_end_of_a_pipe(here, args, number):
    os.mkfifo("pipe")
    (here / "in").write_text("a\n")
    process = subprocess.Popen([WEIR, *args])
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.3)
    process.send_signal(number)
    assert process.wait(timeout=20) == -number


def test_a_named_pipe_is_read_and_written(here):
    os.mkfifo("from")
    os.mkfifo("to")
    process = subprocess.Popen([WEIR, "dedup", "-o", "to", "from"])
    with open("to", "rb") as result:
        with open("from", "wb") as keys:
            keys.write(b"a\nb\na\n")
        assert result.read() == b"a\nb\n"
    assert process.wait(timeout=20) == 0


def test_a_waiting_writer_of_a_pipe_is_read(here):
    """Opening the pipe to inspect it, and closing it, would leave the writer without a reader."""
    os.mkfifo("from")
    for _ in range(20):
        process = subprocess.Popen([WEIR, "dedup", "-q", *EXACT, "from"], stdout=subprocess.PIPE)
        keys = os.open("from", os.O_WRONLY)
        os.write(keys, b"a\nb\n")
        os.close(keys)
        assert process.communicate(timeout=20)[0] == b"a\nb\n"


def test_a_non_blocking_output_is_waited_for(here):
    lines = run("gen", "uniform:n=200k,distinct=100%").out
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    process = subprocess.Popen([WEIR, "dedup", "-q", *EXACT], stdin=subprocess.PIPE, stdout=theirs)
    os.close(theirs)
    feeder = threading.Thread(target=lambda: (process.stdin.write(lines), process.stdin.close()))
    feeder.start()
    time.sleep(0.3)
    with open(ours, "rb") as result:
        assert result.read() == lines
    feeder.join()
    assert process.wait(timeout=20) == 0


def wait_until_full(pipe, most=61440):
    """Until less than a page is free."""
    for _ in range(400):
        if struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0] >= most:
            break
        time.sleep(0.05)
    time.sleep(0.2)  # for one more write


@pytest.mark.parametrize("command", ["gen uniform:n=50k,distinct=100%,seed=1", "top -q -n 50000 -m 16M keys", "count -q -m 1M keys"])
def test_results_wait_for_a_non_blocking_output(command, here):
    (here / "keys").write_bytes(run("gen", "uniform:n=50k,distinct=100%,seed=1").out)
    args = command.split() if command.startswith("gen") else [*command.split(), "--seed", "1"]
    wanted = run(*args).out
    assert len(wanted) > 2 * 65536, "it must be more than a pipe holds"
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    process = subprocess.Popen([WEIR, *args], stdout=theirs)
    os.close(theirs)
    wait_until_full(ours)
    with open(ours, "rb") as result:
        assert result.read() == wanted
    assert process.wait(timeout=20) == 0


# ---- malformed records: file, line, and the records before ----

BAD = [
    ("--csv -k 1", 'a,1\nb,2\nc"d,3\ne,4\n', 3, "a quote inside an unquoted field"),
    ("--csv -k 1", 'a,1\n"b\nx",2\n"c"d,3\ne,4\n', 4, "text after a closing quote"),
    ("--csv -k 2", "a,1\nb,2\nc\n", 3, "has 1 field, field 2 is requested"),
    ("--csv -k 1", 'a,1\nb,2\n"c,3\ne,4\n', 3, "never closed"),
    ("--jsonl -k /k", '{"k":1}\n{"k":2}\n{"k":\n{"k":4}\n', 3, "not JSON"),
    ("--jsonl -k /k", '{"k":1}\n{"k":2}\n{"q":3}\n{"k":4}\n', 3, "has no /k"),
    ("--jsonl", '{"k":1}\n{"k":2}\nnull null\n{"k":4}\n', 3, "not JSON"),
    ("--tsv -k 2", "a\t1\nb\t2\nc\nd\t4\n", 3, "field 2 is requested"),
    ("-k 2", "a 1\nb 2\nc\nd 4\n", 3, "has 1 field"),
    ("--max-record 4", "aaaa\nb\nccccc\nd\n", 3, "longer than 4 bytes"),
    ("-a ibf-mc -S importance=1-9 --tsv -k 1 -i 2", "a\t1\nb\t2\nc\tx\nd\t1\n", 3, "not a number"),
    ("-a ibf-mc -S importance=1-9 --tsv -k 1 -i 2", "a\t1\nb\t2\nc\t-3\nd\t1\n", 3, "0 or more"),
    ("--jsonl -k /k", '{"k":1}\n{"k":2}\n{"k":3,"x":"\\ud800"}\n{"k":4}\n', 3, "half of a surrogate pair, at byte 13"),
    ("--jsonl -k /k", '{"k":1}\n{"k":2}\n' + '{"k":' * 2049 + '\n{"k":4}\n', 3, "nested too deeply"),
]


@pytest.mark.parametrize("options,text,line,saying", BAD, ids=[b[0] + ": " + b[3] for b in BAD])
def test_a_malformed_record_is_reported_and_those_before_it_are_printed(options, text, line, saying, here):
    (here / "in").write_text(text)
    result = refused("dedup", *options.split(), "in", saying=[f"in, line {line}: ", saying])
    before = "".join(text.splitlines(True)[:line - 1])
    assert result.out.decode() == before


@pytest.mark.parametrize("options,text,line,saying", BAD, ids=[b[0] + ": " + b[3] for b in BAD])
def test_a_malformed_record_can_be_skipped(options, text, line, saying, here):
    (here / "in").write_text(text)
    result = run("dedup", *options.split(), "--on-error", "skip", "--stats", "text", "in")
    lines = text.splitlines(True)
    assert result.out.decode() == "".join(lines[:line - 1] + lines[line:])
    assert "1 malformed and skipped" in result.err


def test_a_record_longer_than_every_buffer(here):
    (here / "in").write_bytes(b"a\n" + b"x" * 3000000 + b"\nb\n")
    result = refused("dedup", "--max-record", "1M", "in", saying="in, line 2: the record is longer")
    assert result.out == b"a\n"
    result = run("dedup", "--max-record", "1M", "--on-error", "skip", "--stats", "json", "in")
    assert result.out == b"a\nb\n" and '"skipped": 1' in result.err
    assert len(run("dedup", "in").out) == 3000005


@pytest.mark.parametrize("length", [10, 60000, 70000, 200000, 3000000])
def test_a_stray_quote_loses_only_its_line(here, length):
    rows = [f"{i},x" for i in range(1000)]
    for place in 0, 500, 999:
        bad = rows[:place] + ['"' + "x" * length] + rows[place:]
        (here / "in").write_text("\n".join(bad) + "\n")
        result = run("dedup", *EXACT, "--csv", "--max-record", "64K", "--on-error", "skip",
                     "--stats", "json", "in")
        assert result.lines == rows and '"skipped": 1' in result.err
        refused("dedup", *EXACT, "--csv", "--max-record", "64K", "in", saying=f"in, line {place + 1}: ")


def test_lines_are_counted_after_a_header_of_several_lines(here):
    (here / "in").write_text('id,"a\nname\nof three lines"\n1,a\n' + "2,b\n" * 100000 + '3,"c"d\n')
    refused("dedup", "--csv", "-k", "1", "--header", "in", saying="in, line 100005: ")


def test_a_header_is_not_skipped(here):
    (here / "in").write_text('i"d,k\n1,a\n')
    refused("dedup", "--csv", "--header", "--on-error", "skip", "in", saying="a header that is not CSV")
    (here / "in").write_text("x" * 300000 + "\n1\n")
    refused("dedup", "--header", "--max-record", "64K", "--on-error", "skip", "in",
            saying="line 1: the record is longer")


def test_a_header_that_is_too_long_is_refused_in_one_read_too(here):
    (here / "in").write_text("x" * 100 + "\n1\n")
    refused("dedup", "--header", "--max-record", "64", "--on-error", "skip", "in",
            saying="in has a header that is longer than --max-record allows")


def test_a_byte_order_mark_counts_only_at_the_start_of_a_record():
    text = b'a,\xef\xbb\xbf"x,y",z\n'
    refused("dedup", "--csv", "-k", "2", input=text, saying="line 1: not CSV: a quote inside")


def test_a_long_record_that_arrives_in_pieces_is_counted(here):
    pieces = f"(echo a; head -c 3M /dev/zero; sleep 0.2; echo; sleep 0.2; echo b; head -c 3M /dev/zero) |" \
             f" '{WEIR}' dedup --max-record 1M --on-error skip --stats json"
    done = subprocess.run(pieces, shell=True, capture_output=True, timeout=60)
    assert done.stdout == b"a\nb\n" and b'"skipped": 2' in done.stderr, done.stderr


def test_a_malformed_record_stops_at_the_same_place_with_threads(here):
    rows = [f"{i},x" for i in range(100000)]
    rows[77777] = '1"2,x'
    (here / "in").write_text("\n".join(rows) + "\n")
    for threads in 1, 3:
        result = refused("dedup", *EXACT, "--csv", "-k", "1", "-j", threads, "--shards", "3", "in",
                         saying="in, line 77778: ")
        assert result.lines == rows[:77777]


def test_an_unreadable_file_among_several(here):
    (here / "1").write_text("a\n")
    result = refused("dedup", "1", "2", saying="cannot open 2")
    assert result.out == b"a\n"


def test_files_with_different_headers(here):
    (here / "1").write_text("a,b\n1,2\n")
    (here / "2").write_text("b,a\n1,2\n")
    result = refused("dedup", "--csv", "-k", "b", "1", "2", saying="another header")
    assert result.lines == ["a,b", "1,2"]


def test_a_missing_column():
    result = refused("dedup", "--csv", "-k", "c", input="a,b\n1,2\n", saying=["no column 'c'", "a,b"])
    assert result.out == b""


def test_a_long_header_is_abbreviated():
    result = refused("dedup", "--csv", "-k", "c", input="a," * 5000 + "b\n1\n", saying="a,...")
    assert len(result.err) < 600


# ---- output that fails ----

def test_a_full_disk_is_reported(here):
    lines = run("gen", "uniform:n=100k,distinct=100%").out
    refused("dedup", "-o", "/dev/full", input=lines, saying=["/dev/full", "No space left"])
    with open("/dev/full", "wb") as full:
        done = subprocess.run([WEIR, "dedup"], input=lines, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2 and b"standard output: No space left" in done.stderr
        for args in (["gen", "uniform:n=10"], ["list"], ["version"]):
            done = subprocess.run([WEIR, *args], stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 2 and done.stderr.count(b"\n") == 1, (args, done.stderr)


def test_a_small_disk_keeps_the_old_state(here):
    disk = here / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk],
                      stderr=subprocess.DEVNULL).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        run("dedup", "-m", "64K", "--state", "disk/s", input="a\nb\n")
        old = (disk / "s").read_bytes()
        (disk / "filler").write_bytes(bytes(80000))
        refused("dedup", "--state", "disk/s", input="c\n", saying=["cannot save disk/s", "No space"])
        assert (disk / "s").read_bytes() == old
        assert sorted(p.name for p in disk.iterdir()) == ["filler", "s"]
        refused("dedup", "-o", "disk/out", input=run("gen", "uniform:n=50k").out,
                saying=["disk/out", "No space"])
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_failed_output_does_not_change_the_state(here):
    run("dedup", "-m", "64K", "--state", "s", input="a\n")
    old = (here / "s").read_bytes()
    refused("dedup", "--state", "s", "-o", "/dev/full", input="b\n", saying="/dev/full")
    assert (here / "s").read_bytes() == old
    assert run("dedup", "--state", "s", input="a\nb\n").lines == ["b"]


def test_output_over_the_input_is_refused(here):
    (here / "f").write_text("a\na\n")
    refused("dedup", "-o", "f", "f", saying="input and output at once")
    with open("f", "ab") as f:
        refused("dedup", "f", stdout=f, saying="input and output at once")
    assert (here / "f").read_text() == "a\na\n"


@pytest.mark.parametrize("command", ["build", "add", "dedup"])
def test_a_filter_is_not_saved_over_its_keys(command, here):
    run("dedup" if command == "dedup" else "build", "--state" if command == "dedup" else "-o", "f",
        "-m", "1K", input="a\n")
    old = (here / "f").read_bytes()
    option = {"build": ["-o"], "add": [], "dedup": ["--state"]}[command]
    refused(command, *option, "f", "f", saying="input and output at once")
    refused(command, "--plain", *option, "f", "f", saying="input and output at once")
    assert (here / "f").read_bytes() == old


@pytest.fixture
def files(here):
    """One file of each kind; no call may change a file that it reads."""
    (here / "keys").write_text("a\nb\n")
    (here / "log").write_text("a\nc\na\n")
    run("build", "-q", "-m", "1K", "--seed", "1", "-o", "set", "keys")
    run("dedup", "-q", "-m", "1K", "--state", "state", "keys")
    run("top", "-q", "-m", "64K", "--state", "tops", "keys")
    (here / "link").symlink_to("log")
    os.link("log", "hard")
    yield {name: (here / name).read_bytes() for name in os.listdir(here)}


@pytest.mark.parametrize("call, said", [
    ("dedup -o link log", "log is input and output at once"),
    ("dedup -o hard keys log", "log is input and output at once"),
    ("dedup --append -o log log", "log is input and output at once"),
    ("filter -o set set log", "set is input and output at once"),
    ("filter -o keys --keys keys log", "keys is input and output at once"),
    ("filter -o keys --strict keys set log", "keys is input and output at once"),
    ("filter --metrics set set log", "set is input and output at once"),
    ("ask -o set set log", "set is input and output at once"),
    ("ask -o set --which set set -- log", "set is input and output at once"),
    ("check -o keys --store keys:keys log", "keys:keys is input and output at once"),
    ("check --metrics keys --store keys:keys log", "keys:keys is input and output at once"),
    ("check --state keys --store keys:keys log", "keys:keys is input and output at once"),
    ("count --state log log", "log is input and output at once"),
    ("count --state keys --query keys log", "keys is input and output at once"),
    ("top --state log log", "log is input and output at once"),
    ("build -o log log", "log is input and output at once"),
    ("add set set", "set is input and output at once"),
    ("eval --report log log", "log is input and output at once"),
    ("dedup --metrics new --state new log", "new cannot be state and --metrics at once"),
    ("dedup --metrics ./new -o new log", "cannot be output and --metrics at once"),
    # not read, but of another kind than the output
    ("eval --report log keys", "log: not a report of weir, so it is not replaced; remove it first"),
    ("dedup --metrics log keys", "log: not metrics of weir, so it is not replaced; remove it first"),
    ("build -o log keys", "log: not a filter file, so it is not replaced; remove it first"),
    ("merge -o log set set", "log: not a filter file, so it is not replaced; remove it first"),
    ("save --at redis://127.0.0.1:1/x -o log", "log: not a filter file, so it is not replaced; remove it first"),
    ("dedup --state log keys", "log: not a state file"),
    ("top --state log keys", "log: "),
    ("add log keys", "log is not a filter file"),
])
def test_no_output_replaces_an_input_or_an_unrelated_file(files, here, call, said):
    refused(*call.split(), saying=said)
    assert {name: (here / name).read_bytes() for name in os.listdir(here)} == files


@pytest.mark.parametrize("call, redirected", [
    ("dedup -o log", "<log"), ("dedup --metrics log", "<log"), ("build -o log", "<log"), ("top --state log", "<log"),
    ("dedup log", ">>log"), ("dedup", "<log >>log"), ("top log", ">>log"), ("count log", ">>log"), ("filter set log", ">>log"),
    ("ask set log", ">>set"), ("eval -m 64K log", ">>log"), ("dedup --state state log", ">>state"),
    ("dedup -o - log", ">>log"), ("check --store keys:keys log", ">>keys"),
])
def test_a_redirection_onto_the_input_is_refused(files, here, call, redirected):
    done = subprocess.run(f"'{WEIR}' {call} {redirected}", shell=True, capture_output=True, timeout=60)
    assert done.returncode == 2 and b"at once" in done.stderr, done
    assert {name: (here / name).read_bytes() for name in os.listdir(here)} == files


def test_a_file_of_the_same_kind_is_replaced(files, here):
    for _ in range(2):
        run("dedup", "-q", "--metrics", "m.prom", "-o", "out", "log")
        run("build", "-q", "-m", "1K", "--seed", "1", "-o", "set", "keys")
    (here / "empty").write_text("")
    run("build", "-q", "-o", "empty", "keys")
    run("build", "-q", "-m", "1K", "--seed", "1", "-o", "more", input="z\n")
    run("merge", "-o", "set", "set", "more")  # into one of the inputs: it keeps all its keys
    assert run("ask", "set", input="a\nz\n").lines == ["seen\ta", "seen\tz"]
    assert run("filter", "set", "-o", "/dev/null", "log").out == b""


# ---- other than regular files ----

def device(path, major_minor):
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(*major_minor))
        open(path, "rb").close()
    except OSError:
        pytest.skip("devices cannot be made here")


def test_a_device_is_written_to_and_not_replaced(here):
    (here / "keys").write_text("a\n")
    device(here / "null", (1, 3))
    device(here / "full", (1, 7))
    run("build", "-o", "null", "keys")
    refused("build", "-o", "full", "keys", saying="cannot save full: No space left")
    assert stat.S_ISCHR(os.stat("null").st_mode) and stat.S_ISCHR(os.stat("full").st_mode)


def test_a_filter_can_be_written_to_a_pipe(here):
    (here / "f").write_bytes(run("build", "-o", "/dev/stdout", "-m", "1K", input="a\n").out)
    assert run("ask", "f", input="a\nb\n").lines == ["seen\ta", "new\tb"]


def test_a_saved_file_keeps_its_link_and_its_mode(here):
    run("build", "-m", "1K", "-o", "f", input="a\n")
    (here / "f").chmod(0o600)
    (here / "link").symlink_to("f")
    run("add", "link", input="b\n")
    assert (here / "link").is_symlink() and (here / "f").stat().st_mode & 0o777 == 0o600
    assert run("ask", "f", input="b\n").lines == ["seen\tb"]


@pytest.mark.parametrize("closed,args,saying", [
    ([0], ["dedup"], "cannot read standard input"),
    ([1], ["dedup", "in"], "cannot write standard output"),
])
def test_a_closed_stream_is_reported(closed, args, saying, here):
    (here / "in").write_text("a\n")
    done = subprocess.run([WEIR, *args], stderr=subprocess.PIPE, timeout=20,
                          preexec_fn=lambda: [os.close(fd) for fd in closed])
    assert done.returncode == 2 and saying in done.stderr.decode()


def test_an_output_is_not_written_to_a_closed_stream(here):
    (here / "in").write_text("a\n")
    done = subprocess.run([WEIR, "dedup", "-o", "out", "in"], timeout=20,
                          preexec_fn=lambda: [os.close(fd) for fd in (0, 1, 2)])
    assert done.returncode == 0 and (here / "out").read_text() == "a\n"


def test_a_closed_reader_is_quiet():
    done = subprocess.run(f"'{WEIR}' gen uniform:n=1M,distinct=100% | '{WEIR}' dedup | head -n 1",
                          shell=True, capture_output=True, timeout=60)
    assert done.stderr == b"" and done.stdout.count(b"\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(here):
    (here / "f").write_text("a\n")
    (here / "f").chmod(0)
    refused("dedup", "f", saying="cannot open f: Permission denied")


# ---- repeated options ----

VALUES = {"SIZE": "1M", "SIZE,...": "1M", "RATE": "1%", "TIME": "1s", "AGE": "30d", "SIMILARITY": "0.8", "30s|1M": "1M", "NEW,SEEN": "a,b", "FP:FN": "1:2", "C": ";",
          "PARAMETER=VALUE": "k=4"}
REPEATED = {"key", "set", ("eval", "algorithm"), ("eval", "memory")}


def valued_options():
    """(command, option, a valid value) for every row of the option table, from help."""
    for command in commands():
        rows = run("help", command).out.decode().split("options:")[-1]
        for name, takes in re.findall(r"^ +(?:-\w, | +)--([a-z-]+) ([^a-z ]\S*|[a-z0-9]+\|\S+)(?: |$)", rows, re.M):
            yield command, name, VALUES.get(takes, takes.split("|")[0] if "|" in takes and takes.islower() else "1")


def test_a_second_value_is_refused_joined_or_collected():
    options = list(valued_options())
    assert len(options) > 150 and ("dedup", "once-per", "1s") in options and ("eval", "format", "text") in options
    for command, name, value in options:
        twice = run(command, f"--{name}", value, f"--{name}={value}", "/no/such/file", ok=False)
        assert twice.status == 2
        once = name in REPEATED or (command, name) in REPEATED
        assert (twice.err == f"weir: --{name}: given twice; give it once\n") == (not once), (command, twice.err)


def test_a_parameter_of_a_store_is_given_once(here):
    (here / "keys").write_text("a\n")
    refused("check", "--store", "keys:keys?latency=1ms&latency=1ms", input="a\n", saying="latency is given twice; give it once")
    refused("check", "--store", "sqlite:db?table=a&column=b&table=c", input="a\n", saying="table is given twice; give it once")


def test_short_and_long_names_are_one_option():
    refused("dedup", "-m", "1M", "--memory", "1M", saying="--memory: given twice; give it once")
    refused("dedup", "--tsv", "--time", "1", "--time", "2", saying="--time: given twice; give it once")
    assert run("dedup", "-q", "-q", "--csv", "--csv", "-k", "1", input="a,1\na,2\n").out == b"a,1\n"


@pytest.mark.parametrize("options,text", [
    (["--csv", "-ku", "-kp"], "u,p,x\n1,1,a\n1,2,b\n2,1,c\n1,2,d\n"),
    (["--csv", "-k1", "--key=2"], "1,1,a\n1,2,b\n2,1,c\n1,2,d\n"),
    (["-k1", "-k2", "-k3"], "1 1 1\n1 2 1\n1 1 1\n1 1 2\n"),
    (["-k3,1", "-k2"], "1 1 1\n1 2 1\n1 1 1\n1 1 2\n"),
    (["-k/u/a~1b", "-k/p/0"], '{"u":{"a/b":1},"p":[1]}\n{"u":{"a/b":1},"p":[2]}\n{"u":{"a/b":1},"p":[1],"x":0}\n'),
])
def test_a_repeated_key_joins_its_fields(options, text, here):
    fields = ",".join(re.sub("^(-k|--key=)", "", o) for o in options if o != "--csv")
    joined = [o for o in options if o == "--csv"] + ["-k", fields]
    kept = run("dedup", *EXACT, *options, input=text)
    assert kept.out == run("dedup", *EXACT, *joined, input=text).out
    assert kept.out.count(b"\n") == text.count("\n") - 1
    run("dedup", *EXACT, "--state", "s", *options, input=text)
    run("dedup", "--state", "s", *joined, input=text)  # the state is the same, too


def test_a_repeated_key_with_a_wrong_field_is_refused():
    refused("dedup", "-k", "1", "-k", "", input="a b\n", saying=": empty field")
    refused("dedup", *["-k", "1"] * 17, input="a b\n", saying="more than 16 fields")
    refused("dedup", "-k", "x" * 600, "-k", "y" * 600, saying="at most 1023 bytes")


@pytest.mark.parametrize("args, meant", [
    ("dedup -a blom", "bloom"), ("dedup -a bloom -S capcity=3", "capacity"), ("dedup -S widht=3", "width"), ("build -o F -a fuze", "fuse"),
    ("top -a heavykeper", "heavykeeper"), ("top -S hafl-life=1h", "half-life"), ("check --store keys:/etc/passwd --screen strct", "strict"),
    ("list blom", "bloom"), ("list heavykeper", "heavykeeper"), ("eval -a recent,blom", "bloom"), ("eval -S widht=3", "width"),
    ("plan -a blom", "bloom"), ("plan --gap 5 -m 1M -a recnet", "recent")])
def test_a_misspelled_name_gets_a_hint(here, args, meant):
    refused(*args.split(), saying=f"did you mean {meant}?")
    assert not (here / "F").exists()


def test_an_unknown_name_gets_no_hint(here):
    for args in "dedup -a zzzzzzz", "dedup -S zzzzzzz=3", "list zzzzzzz", "top -a zzzzzzz", "dedup -S width=zzz":
        assert "did you mean" not in refused(*args.split()).err


def test_messages_contain_no_control_characters(here):
    """Neither C0 nor C1, as UTF-8 or as bytes: a terminal would execute them."""
    name = b"a\x1b[2J\xc2\x9b2J\x9b2J\x80\x7fz\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
    done = subprocess.run([WEIR, b"dedup", name], capture_output=True)
    assert done.returncode == 2 and b"a?[2J?2J?2J??z\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80: No such file" in done.stderr


@pytest.mark.parametrize("record, path, pointer", [
    ('{"user":{"id":1}}', "user.id", "/user/id"), ('{"users":[{"id":1}]}', "users[0].id", "/users/0/id")])
def test_a_path_instead_of_a_pointer_gets_a_hint(record, path, pointer):
    refused("dedup", "--jsonl", "-k", path, input=record, saying=f"the record has no /{path}; did you mean {pointer}?")
    refused("dedup", "--jsonl", "-k", pointer, "--importance", path, input=record, saying=f"did you mean {pointer}?")
    assert "did you mean" not in refused("dedup", "--jsonl", "-k", path, input='{"other":1}').err
    assert run("dedup", "--jsonl", "-k", path, input='{"%s":1}' % path).lines == ['{"%s":1}' % path]
