"""Filter files: build, filter, ask, add, forget, info, merge."""
import json
import random
import struct

import pytest

from conftest import refused, run


@pytest.fixture
def keys(here):
    (here / "keys").write_text("".join(f"key{i}\n" for i in range(0, 2000, 2)))
    return here


def test_filter_passes_what_is_in_and_invert_what_is_not(keys):
    run("build", "-o", "f", "-e", "1e-6", "keys")
    lines = [f"key{i}" for i in range(2000)]
    text = "\n".join(lines) + "\n"
    assert run("filter", "f", input=text).lines == lines[::2]
    assert run("filter", "--invert", "f", input=text).lines == lines[1::2]
    assert run("filter", "--keys", "keys", "-e", "1e-6", input=text).lines == lines[::2]


def test_a_set_never_loses_a_member(keys):
    run("build", "-o", "f", "-m", "64", "keys")  # far too small: all false positives, no negatives
    assert len(run("filter", "f", "keys").lines) == 1000


def test_build_fits_its_keys(keys):
    run("build", "-o", "f", "--seed", "1", "keys")
    info = json.loads(run("info", "--json", "f").out)
    assert info["memory"] < 2500 and 0.0003 < info["error"] <= 0.0011
    run("build", "-o", "f", "-e", "10%", "keys")
    assert json.loads(run("info", "--json", "f").out)["memory"] < info["memory"] / 2
    run("build", "-o", "f", "-m", "1M", "keys")
    assert json.loads(run("info", "--json", "f").out)["memory"] == 1 << 20


def test_a_filter_file_of_one_shard_is_what_the_library_loads(keys):
    """One part of kind 1 and nothing else: weir_load() takes it."""
    run("build", "-o", "f", "keys")
    data = (keys / "f").read_bytes()
    assert data[:4] == b"WEIR" and data[6:8] == b"\1\0"
    assert int.from_bytes(data[8:16], "little") == len(data)
    assert data[32:40] == struct.pack("<II", 0, 1)  # shard 0 of 1


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_strict_lets_nothing_false_pass(keys, order):
    members = (keys / "keys").read_text().splitlines()
    if order == "sorted":
        members.sort()
    else:
        random.Random(2).shuffle(members)
    (keys / "exact").write_text("\n".join(members))
    run("build", "-o", "f", "-m", "512", "keys")  # errs often
    lines = [f"key{i}" for i in range(4000)]
    text = "\n".join(lines) + "\n"
    assert len(run("filter", "f", input=text).lines) > 1100
    assert run("filter", "--strict", "exact", "f", input=text).lines == lines[:2000:2]
    assert run("filter", "--strict", "exact", "--invert", "f", input=text).lines == [
        line for i, line in enumerate(lines) if i >= 2000 or i % 2]


def test_strict_folds_case_as_the_filter_does(here):
    (here / "keys").write_text("Beta\nÉLAN\nALPHA\n")
    text = "alpha\nBETA\nélan\ngamma\n"
    assert run("filter", "--keys", "keys", "--strict", "keys", "--ignore-case",
               input=text).lines == ["alpha", "BETA", "élan"]


def test_strict_with_empty_keys_and_odd_ends(here):
    (here / "keys").write_text("\na\nab\nb")
    text = "a\n\nab\nabc\nb\n"
    for order in "keys", "mixed":
        (here / "mixed").write_text("b\nab\n\na\n")
        assert run("filter", "--keys", order, "--strict", order, input=text).lines == [
            "a", "", "ab", "b"]


def test_filter_by_a_column(keys):
    run("build", "-o", "f", "-e", "1e-6", "keys")
    text = "n,k\n1,key2\n2,key3\n3,\"key4\"\n"
    assert run("filter", "f", "--csv", "-k", "k", input=text).lines == ["n,k", "1,key2", '3,"key4"']


def test_filter_refuses_options_of_a_new_filter(keys):
    run("build", "-o", "f", "keys")
    refused("filter", "-m", "1M", "f", input="a\n", saying="go with --keys")
    refused("filter", "--strict", "nofile", "f", input="a\n", saying="nofile")


def test_ask_answers_without_remembering(keys):
    run("build", "-o", "f", "-m", "64K", "keys")
    before = (keys / "f").read_bytes()
    assert run("ask", "f", input="key0\nnew one\nnew one\n").lines == [
        "seen\tkey0", "new\tnew one", "new\tnew one"]
    assert (keys / "f").read_bytes() == before


def test_ask_quietly_answers_by_exit_status(keys):
    run("build", "-o", "f", "-m", "64K", "keys")
    yes = run("ask", "-q", "f", input="key0\nkey2\n")
    assert (yes.status, yes.out, yes.err) == (0, b"", "")
    no = run("ask", "-q", "f", input="key0\nkey1\n", ok=False)
    assert (no.status, no.out, no.err) == (1, b"", "")


def test_add_and_forget(here):
    run("build", "-o", "f", "-a", "counting", "-m", "64K", input="a\nb\n")
    run("add", "f", input="c\n")
    assert run("ask", "f", input="a\nb\nc\n").out.count(b"seen") == 3
    result = run("forget", "f", "--stats", "json", input="b\nz\n")
    assert json.loads(result.err)["seen"] == 1  # z was never there
    assert run("ask", "f", input="a\nb\nc\n").lines == ["seen\ta", "new\tb", "seen\tc"]


def test_forget_is_refused_where_the_filter_cannot(here):
    run("build", "-o", "f", "-m", "64K", input="a\n")
    before = (here / "f").read_bytes()
    refused("forget", "f", input="a\n", saying="counting can")
    assert (here / "f").read_bytes() == before


def test_merge_is_the_filter_of_both(here):
    for name, text in ("1", "a\nb\n"), ("2", "c\n"), ("both", "a\nb\nc\n"):
        run("build", "-o", name, "-m", "4K", "--seed", "1", "--shards", "2", input=text)
    run("merge", "-o", "merged", "1", "2")
    assert (here / "merged").read_bytes() == (here / "both").read_bytes()


def test_merge_refuses_what_differs(here):
    run("build", "-o", "1", "-m", "4K", "--seed", "1", input="a\n")
    run("build", "-o", "2", "-m", "4K", "--seed", "2", input="a\n")
    run("build", "-o", "3", "-m", "8K", "--seed", "1", "--shards", "2", input="a\n")
    refused("merge", "-o", "m", "1", "2", saying=["1 and 2", "seed=1 and seed=2"])
    refused("merge", "-o", "m", "1", "3", saying="shards")
    assert not (here / "m").exists()


def test_info_tells_what_a_file_is(here):
    run("dedup", "-m", "64K", "--seed", "9", "--state", "s", "--csv", "-k", "2", input="a,b\nc,b\n")
    text = run("info", "s").out.decode()
    assert "seed=9" in text and "2 keys: 1 new, 1 seen" in text and "--csv -k 2" in text
    info = json.loads(run("info", "--json", "s").out)
    assert info["shown"] == 2 and info["records"] == "--csv -k 2"


def test_ask_counts_what_was_seen_and_says_no_to_nothing(here):
    run("build", "-m", "1K", "-o", "f", input="a\nb\n")
    assert run("ask", "--count-only", "f", input="a\nx\nb\n").lines == ["2"]
    assert run("ask", "-q", "f", input="", ok=False).status == 1
