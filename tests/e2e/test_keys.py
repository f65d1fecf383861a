"""A filter file contains how its keys were made. A run that makes them in another way is refused, or a warning
reports that too many hits are refuted."""
import json

import pytest

from conftest import refused, run

FOLDED = ["--tsv", "-k", "1,2,3", "--ignore-case", "--keep-cr"]
PAIRS = [([], "", ["--ignore-case"], "--ignore-case"), (["--ignore-space"], "--ignore-space", [], ""), (["-k", "1,2"], "2 fields", ["-k", "1"], ""),
         (FOLDED, "3 fields --ignore-case --keep-cr", FOLDED[:-1], "3 fields --ignore-case")]
TEXT = "A\tB\tC\n"


def build(path, *options, keys=TEXT):
    run("build", "-q", "-a", "counting", "-m", "4K", "--seed", "1", "-o", path, *options, input=keys)


def made_with(keys):
    return f"its keys were made with {keys or 'no key options'}, now with"


@pytest.mark.parametrize("command", [["ask"], ["ask", "--any"], ["ask", "--stats", "json"], ["filter"], ["add"], ["forget"]], ids=" ".join)
def test_keys_made_in_another_way_are_refused(command, here):
    for options, keys, others, now in PAIRS:
        build("f", *options)
        refused(*command, "f", *others, input=TEXT, saying=["f: " + made_with(keys), now or "no key options", "--keys-differ"])
        run(*command, "f", *others, "--keys-differ", input=TEXT)
        run(*command, "f", *options, input=TEXT)


@pytest.mark.parametrize("options,text", [
    ([], "A.org\nb.org\n"), (["-k", "3"], "x y A.org\nx y b.org\n"), (["--csv", "-k", "host"], "n,host\n1,A.org\n2,b.org\n"),
    (["-k", "/h"], '{"h":"A.org"}\n{"h":"b.org"}\n'), (["-d:", "-k1"], "A.org:1\nb.org:2\n"), (["-z"], "A.org\0b.org\0"),
    (["--tsv", "--header", "-k", "1"], "h\nA.org\nb.org\n"),
])
def test_any_layout_of_the_same_keys_is_accepted(options, text, here):
    for more in ([], ["--ignore-case"]):
        build("f", *more, keys="A.org\nb.org\n")
        assert run("ask", "-q", "f", *more, *options, input=text).status == 0
        build("f", *more, *options, keys=text)
        assert run("ask", "-q", "f", *more, input="A.org\nb.org\n").status == 0


def test_fields_from_anywhere_make_one_key(here):
    build("f", "--csv", "-k", "u,p", keys="u,p\na,1\n")
    assert run("filter", "f", "-k", "3", "-k", "1", input="1 x a\na x 1\n").out == b"1 x a\n"


def test_a_file_without_key_options_has_no_note(here):
    """One part, the filter: earlier versions and other programs can read it."""
    build("plain", "--csv", "-k", "1")
    build("folded", "--ignore-case")
    assert (here / "plain").read_bytes()[6] == 1 and (here / "folded").read_bytes()[6] == 2
    assert "keys" not in json.loads(run("info", "--format", "json", "plain").out) and b"keys  " not in run("info", "plain").out


def test_info_add_forget_and_merge_keep_the_description(here):
    build("f", "--ignore-case")
    run("add", "f", "--ignore-case", input="x\n")
    run("forget", "f", "--ignore-case", input="X\n")
    run("merge", "-o", "m", "f", "f")
    for name in "fm":
        assert json.loads(run("info", "--format", "json", name).out)["keys"] == "--ignore-case"
        assert "keys        --ignore-case" in run("info", name).lines
        run("info", "--verify", name)
    build("g")
    refused("merge", "-o", "m", "f", "g", saying="f and g: keys were made with --ignore-case and with no key options")
    run("merge", "--keys-differ", "-o", "m", "f", "g")


def test_a_state_is_asked_with_the_keys_it_was_saved_with(here):
    run("dedup", "--state", "s", "-m", "4K", "--ignore-case", "-k", "1,2", input="A b c\n")
    refused("ask", "s", input="A b\n", saying="s: " + made_with("2 fields --ignore-case"))
    assert run("ask", "s", "--csv", "-k", "1,2", "--ignore-case", input="a,B\n").lines == ["seen,a,B"]


def test_keys_differ_is_not_for_states():
    refused("dedup", "--keys-differ", input="a\n", saying="--keys-differ needs --at")
    refused("build", "--keys-differ", "-o", "f", saying="--keys-differ: not an option of")


# ---- hits that a store refutes ----

DOUBT = "do its keys have the same format as the filter's?"


def test_a_list_with_other_keys_is_detected(here):
    (here / "list").write_text("a:1\nb:2\n")
    run("build", "-q", "--fixed", "--seed", "1", "-d:", "-k1", "-o", "f", "list")
    result = run("filter", "f", "--strict", "list", input="a\nb\n")
    assert result.out == b"" and "list: 2 of the filter's 2 hits are not in it" in result.err and DOUBT in result.err
    result = run("filter", "f", "--strict", "list", input="".join(f"{i}\n" for i in range(5000)) + "a\nb\nb\n" * 500)
    assert result.out == b"" and DOUBT not in result.err  # two keys in 5,000 may be false positives, however often they occur


def test_false_positives_cause_no_warning(here):
    (here / "list").write_text("".join(f"{i}\n" for i in range(1000)))
    others = "".join(f"x{i}\n" for i in range(20000))
    for seed in range(10):
        run("build", "-q", "--fixed", "-e", "1%", "--seed", seed, "-o", "f", "list")
        assert run("filter", "f", "--strict", "list", input=others).err == ""
        assert run("filter", "f", "--strict", "list", input="x7\n" * 1000).err == ""
    (here / "other").write_text("".join(f"{i};\n" for i in range(1000)))
    result = run("filter", "f", "--strict", "other", input=others + (here / "list").read_text())
    assert DOUBT in result.err and result.out == b""


def test_check_does_not_warn_about_its_own_set(here):
    (here / "list").write_text("".join(f"{i}\n" for i in range(1000)))
    result = run("check", "-q", "--store", "keys:list", "--screen", "strict", "-m", "1K", input="".join(f"x{i}\n" for i in range(3000)))
    assert result.out == b"" and result.err == ""
