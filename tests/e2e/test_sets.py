"""Filter files: build, filter, ask, add, forget, info, merge."""
import json
import random
import resource
import struct

import pytest

from conftest import refused, run


@pytest.fixture
def keys(here):
    (here / "keys").write_text("".join(f"key{i}\n" for i in range(0, 2000, 2)))
    return here


def test_filter_prints_members_and_invert_the_others(keys):
    run("build", "-o", "f", "-e", "1e-6", "keys")
    lines = [f"key{i}" for i in range(2000)]
    text = "\n".join(lines) + "\n"
    assert run("filter", "f", input=text).lines == lines[::2]
    assert run("filter", "--invert", "f", input=text).lines == lines[1::2]
    assert run("filter", "--keys", "keys", "-e", "1e-6", input=text).lines == lines[::2]


def test_a_set_never_loses_a_member(keys):
    run("build", "-o", "f", "-m", "64", "keys")  # far too small: false positives only, no false negatives
    assert len(run("filter", "f", "keys").lines) == 1000


def test_build_fits_its_keys(keys):
    run("build", "-o", "f", "--seed", "1", "keys")
    info = json.loads(run("info", "--format", "json", "f").out)
    assert info["memory"] < 2500 and 0.0003 < info["error"] <= 0.0011
    run("build", "-o", "f", "-e", "10%", "keys")
    assert json.loads(run("info", "--format", "json", "f").out)["memory"] < info["memory"] / 2
    run("build", "-o", "f", "-m", "1M", "keys")
    assert json.loads(run("info", "--format", "json", "f").out)["memory"] == 1 << 20


@pytest.mark.parametrize("shards", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("size", [["-m", "2M"], ["-S", "capacity=2000"], []])
def test_cuckoo_can_be_sharded(keys, shards, size):
    run("build", "-q", "-a", "cuckoo", "--seed", "1", *size, "--shards", shards, "-o", "f", "keys")
    assert len(run("filter", "f", "keys").lines) == 1000
    memory = json.loads(run("info", "--format", "json", "f").out)["memory"]
    assert memory <= (1 << 21) + 100 * shards if size[:1] == ["-m"] else memory < 6000


def test_overflow_is_reported(keys):
    result = run("dedup", "-a", "cuckoo", "-S", "capacity=100", "--state", "s", "--stats=json", "keys")
    overflow = json.loads(result.err.splitlines()[-1])["filter"]["overflow"]
    assert 500 < overflow < 1000
    assert json.loads(run("info", "--format", "json", "s").out)["overflow"] == overflow
    assert f"overflow    {overflow} keys were not added" in run("info", "s").out.decode()


def test_a_filter_file_of_one_shard_is_what_the_library_loads(keys):
    """One part of kind 1 and nothing else, which weir_load_buffer() accepts."""
    run("build", "-o", "f", "keys")
    data = (keys / "f").read_bytes()
    assert data[:4] == b"WEIR" and data[6:8] == b"\1\0"
    assert int.from_bytes(data[8:16], "little") == len(data)
    assert data[32:40] == struct.pack("<II", 0, 1)  # shard 0 of 1


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_strict_removes_all_false_positives(keys, order):
    members = (keys / "keys").read_text().splitlines()
    if order == "sorted":
        members.sort()
    else:
        random.Random(2).shuffle(members)
    (keys / "exact").write_text("\n".join(members))
    run("build", "-o", "f", "-m", "512", "keys")  # many false positives
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


def test_strict_with_empty_keys_and_missing_line_ends(here):
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
    refused("filter", "-m", "1M", "f", input="a\n", saying="apply only to --keys")
    refused("filter", "--strict", "nofile", "f", input="a\n", saying="nofile")


def test_ask_does_not_record_keys(keys):
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
    assert json.loads(result.err)["seen"] == 1  # z was never added
    assert run("ask", "f", input="a\nb\nc\n").lines == ["seen\ta", "new\tb", "seen\tc"]


def test_forget_is_refused_if_the_filter_cannot_delete(here):
    run("build", "-o", "f", "-m", "64K", input="a\n")
    before = (here / "f").read_bytes()
    refused("forget", "f", input="a\n", saying="counting, cuckoo can")
    assert (here / "f").read_bytes() == before


def test_merge_equals_one_filter_of_both(here):
    for name, text in ("1", "a\nb\n"), ("2", "c\n"), ("both", "a\nb\nc\n"):
        run("build", "-o", name, "-m", "4K", "--seed", "1", "--shards", "2", input=text)
    run("merge", "-o", "merged", "1", "2")
    assert (here / "merged").read_bytes() == (here / "both").read_bytes()


def test_merge_refuses_different_filters(here):
    run("build", "-o", "1", "-m", "4K", "--seed", "1", input="a\n")
    run("build", "-o", "2", "-m", "4K", "--seed", "2", input="a\n")
    run("build", "-o", "3", "-m", "8K", "--seed", "1", "--shards", "2", input="a\n")
    refused("merge", "-o", "m", "1", "2", saying=["1 and 2", "seed=1 and seed=2", "run all with --seed 1"])
    refused("merge", "-o", "m", "1", "3", saying="shards")
    assert not (here / "m").exists()


def test_info_describes_a_file(here):
    run("dedup", "-m", "64K", "--seed", "9", "--state", "s", "--csv", "-k", "2", input="a,b\nc,b\n")
    text = run("info", "s").out.decode()
    assert "seed=9" in text and "2 keys: 1 new, 1 seen" in text and "--csv -k 2" in text
    info = json.loads(run("info", "--format", "json", "s").out)
    assert info["observed"] == 2 and info["records"] == "--csv -k 2"


def test_ask_counts_hits_and_handles_no_keys(here):
    run("build", "-m", "1K", "-o", "f", input="a\nb\n")
    assert run("ask", "--count-only", "f", input="a\nx\nb\n").lines == ["2"]
    assert run("ask", "-q", "f", input="", ok=False).status == 1


def test_list_has_filters_sketches_and_screens():
    listed = json.loads(run("list", "--format", "json").out)
    assert list(listed) == ["filters", "sketches", "screens"]
    names = {kind: [one["name"] for one in listed[kind]] for kind in listed}
    assert names["screens"] == ["cache", "dabf", "1bf", "strict", "none"]
    lines = run("list").lines
    assert [line for line in lines if line[0] != " "] == names["filters"]
    assert [line[2:] for line in lines if line[2] != " " and line[0] == " " and line[-1] != ":"] == (
        names["sketches"] + names["screens"])
    dabf = json.loads(run("list", "--format", "json", "dabf").out)
    assert dabf["filters"] == dabf["sketches"] == [] and len(dabf["screens"]) == 1
    parameters = {parameter["name"]: parameter for parameter in dabf["screens"][0]["parameters"]}
    assert {"memory", "window", "theta"} <= set(parameters) and parameters["window"]["does"]
    assert run("list", "recent").lines[0] == "recent" and run("list", "cache").lines[0] == "  cache"
    refused("list", "--format", "json", "nothing", saying="nothing: unknown filter, sketch or screen")


@pytest.fixture
def routers(here):
    """Ten filters with other seeds, sizes, kinds and shards; and the keys of each."""
    random.seed(5)
    pool = [f"10.{i // 256}.{i % 256}.1" for i in range(4000)]
    sets = {}
    for i in range(10):
        name = f"r{i}.weir"
        sets[name] = set(random.sample(pool, 100 + 150 * i))
        (here / "keys").write_text("\n".join(sorted(sets[name])) + "\n")
        run("build", "-o", name, "-m", "64K", "--seed", [7, 8, i][i % 3], *[[], ["-j", "3"], [
            "-a", "counting"]][i % 3], "keys")
    (here / "queries").write_text("\n".join(pool) + "\n")
    return sets, pool


@pytest.mark.parametrize("threads", [1, 3])
def test_which_names_the_filters_that_have_a_key(routers, threads):
    sets, pool = routers
    lines = run("ask", "--which", *sets, "-j", threads, "--", "queries").lines
    wrong = 0
    for line, key in zip(lines, pool, strict=True):
        names, record = line.split("\t")
        assert record == key
        found = set() if names == "-" else set(names.split(","))
        truly = {name for name in sets if key in sets[name]}
        assert truly <= found, line
        wrong += len(found - truly)
    assert wrong <= 5  # at most 1e-4 of 30000 each: 64 KiB for 1500 keys


def test_any_reports_whether_one_of_them_has_it(routers):
    sets, pool = routers
    union = set().union(*sets.values())
    lines = run("ask", "--any", *sets, "--", "queries").lines
    truth = ["seen\t" + key if key in union else "new\t" + key for key in pool]
    assert sum(a != b for a, b in zip(lines, truth, strict=True)) <= 2
    assert all(a == b for a, b in zip(lines, truth) if b.startswith("seen"))
    count = run("ask", "--which", "--count-only", *sets, input="\n".join(pool) + "\n").out
    assert abs(int(count) - len(union)) <= 2
    some = next(iter(sets["r0.weir"]))
    assert run("ask", "-q", "--any", *sets, input=some + "\n").status == 0
    assert run("ask", "-q", "--which", *sets, input="none\n", ok=False).status == 1


def test_which_reports_the_rate_of_false_answers(here):
    """For filters with many false positives, compared with exact results."""
    sets = {f"f{i}": {f"{i}:{j}" for j in range(1000)} for i in range(8)}
    for i, name in enumerate(sets):
        (here / "keys").write_text("\n".join(sets[name]) + "\n")
        run("build", "-o", name, "-e", "5%", "--seed", i + 1, "keys")
    pool = [f"x{i}" for i in range(20000)] + sorted(set().union(*sets.values()))
    text = "\n".join(pool) + "\n"
    result = run("ask", "--which", *sets, "--stats", "json", input=text)
    found = [set(line.split("\t")[0].split(",")) - {"-"} for line in result.lines]
    wrong = {name: sum(name in f and key not in sets[name] for f, key in zip(found, pool, strict=True))
             for name in sets}
    stats = json.loads(result.err)
    assert stats["records"] == len(pool) and stats["answers"] == sum(map(len, found))
    assert sum(wrong.values()) > 8000 and stats["expected_false"] == pytest.approx(
        sum(wrong.values()), rel=0.04)
    for one in stats["filters"]:
        assert one["expected_false"] == pytest.approx(wrong[one["file"]], rel=0.12)
        assert one["seen"] == sum(one["file"] in f for f in found)
    both = json.loads(run("ask", "--any", *sets, "--stats", "json", input=text).err)
    assert both["answers"] == both["seen"] == sum(map(bool, found))
    assert both["expected_false"] == pytest.approx(sum(map(bool, found[:20000])), rel=0.04)
    said = run("ask", "--which", *sets, "--stats", "text", input=text).err
    assert f"{stats['answers']} lookups" in said and f"about {stats['expected_false']:.3g}" in said
    (here / "full").write_text("\n".join(pool) + "\n")
    run("build", "-o", "full.weir", "-m", "64", "full")
    stats = json.loads(run("ask", "--which", "full.weir", "--stats", "json", input="a\nb\n").err)
    assert stats["answers"] == stats["expected_false"] == 2


def test_which_in_csv_and_with_bad_records(here):
    (here / "a").write_text("1\n2\n")
    (here / "b").write_text("2\n3\n")
    for name in "ab":
        run("build", "-o", f"{name}.weir", "-m", "4K", "--seed", "3", name)
    table = "id,x\n1,p\n2,q\n4,r\n"
    assert run("ask", "--which", "a.weir", "b.weir", "--csv", "-k", "id", input=table).lines == [
        "verdict,id,x", "a.weir,1,p", "a.weir;b.weir,2,q", "-,4,r"]
    result = run("ask", "--which", "a.weir", "b.weir", "--jsonl", "-k", "/k", "--on-error", "skip",
                 "--stats", "json", input='{"k":2}\nnonsense\n{"k":3}\n')
    assert result.lines == ['a.weir,b.weir\t{"k":2}', "skipped\tnonsense", 'b.weir\t{"k":3}']
    stats = json.loads(result.err)
    assert (stats["records"], stats["skipped"], stats["answers"]) == (2, 1, 3)


def test_which_refuses_other_files_with_the_command_to_use(routers, here):
    refused("ask", "--which", "r0.weir", "queries",
            saying="queries is not a filter file; files of keys come after --: "
                   "weir ask --which A.weir B.weir -- queries")
    refused("ask", "--any", "r0.weir", "queries", saying="weir ask --any A.weir B.weir -- queries")
    refused("ask", "--which", "queries", "r0.weir", "--", "queries", saying="not a filter file")
    refused("ask", "--which", "--", "queries", saying=["filter files", "weir ask --which A.weir"])
    refused("ask", "--which", saying="takes 1 to 65536 filter files")
    refused("ask", "--which", "--any", "r0.weir", saying="use one of them")
    refused("ask", "--which", "r0.weir", "none.weir", saying="cannot open none.weir")
    refused("ask", "--which", "r0.weir", "--", "10.0.0.1",
            saying="echo '10.0.0.1' | weir ask --which r0.weir")
    run("top", "--state", "counts", input="a\n")
    refused("ask", "--which", "r0.weir", "counts", saying="contains counts, not a filter")
    (here / "a,b.weir").write_bytes((here / "r0.weir").read_bytes())
    refused("ask", "--which", "a,b.weir", input="x\n", saying=["'a,b.weir'", "--any"])
    assert run("ask", "--any", "a,b.weir", input="x\n").lines == ["new\tx"]


def test_more_filters_than_a_process_may_open_files(here):
    """The soft limit is raised up to the hard limit."""
    for i in range(60):
        run("build", "-o", f"{i:02}.weir", "-m", "64", input=f"k{i}\n")
    names = [f"{i:02}.weir" for i in range(60)]
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    found = run("ask", "--which", *names, input="k7\n", preexec_fn=limit).lines[0].split("\t")[0]
    assert "07.weir" in found.split(",")


# ---- networks in lists of addresses ----

NETWORKS = ["10.0.0.0/8", "2001:db8::/32", "10.0.0.1/32", "::/0"]
OTHERS = ["a/b", "x/12", "1.2.3.4/33", "http://1.2.3.4/8", "1.2.3.4", "1.2.3/8", "2001:db8::/129", "/8", "10.0.0.0/", "10.0.0.0/8a"]


@pytest.mark.parametrize("options", [[], ["--fixed"], ["-a", "cuckoo", "-m", "64K"]])
def test_networks_in_a_list_are_reported_once(here, options):
    """Addresses inside them do not match."""
    (here / "list").write_text("\n".join(OTHERS + NETWORKS) + "\n")
    built = run("build", *options, "-o", "F", "list")
    assert built.err == (f'weir: list: line {len(OTHERS) + 1} "10.0.0.0/8" and 3 more keys are networks: only these texts match, '
                         "not the addresses inside; --cidr matches those\n")
    assert run("build", "-q", *options, "-o", "F", "list").err == ""
    assert run("filter", "F", input="10.1.2.3\n10.0.0.0/8\n").lines == ["10.0.0.0/8"]


def test_a_network_is_reported_wherever_a_list_is_read(here):
    (here / "list").write_text("1.2.3.4\n10.0.0.0/8\n")
    said = 'list: line 2 "10.0.0.0/8" is a network: only this text matches'
    assert said in run("filter", "--keys", "list", input="a\n").err
    assert said in run("check", "--store", "keys:list", input="a\n").err
    assert said in run("check", "--store", "list", input="a\n").err
    run("build", "-q", "-o", "F", input="a\n")
    assert said in run("add", "F", "list").err
    assert said in run("filter", "--strict", "keys:list", "F", input="a\n").err
    for command in ["ask", "F", "list"], ["dedup", "list"], ["top", "list"]:
        assert "network" not in run(*command).err


def test_other_keys_are_not_networks(here):
    (here / "list").write_text("\n".join(OTHERS) + "\n")
    assert run("build", "-o", "F", "list").err == run("filter", "--keys", "list", input="a\n").err == ""
