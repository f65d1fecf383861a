"""keys:FILE?field=N&delimiter=C: lists as they are, such as HASH:COUNT, as a store, for --strict and for --keys."""
import random

import pytest

from conftest import refused, run


def make(seed, lines, sort):
    """A list of HASH:COUNT, and records: some listed, some only counts or whole lines."""
    draw = random.Random(seed)
    listed = {f"{draw.getrandbits(80):020X}": draw.randrange(1, 100000) for _ in range(lines)}
    text = [f"{hash}:{count}" for hash, count in listed.items()]
    asked = draw.sample(list(listed), lines // 3) + [f"{draw.getrandbits(80):020X}" for _ in range(lines)]
    asked += draw.sample(text, 20) + [str(c) for c in list(listed.values())[:20]] + ["", ":"]
    draw.shuffle(asked)
    return sorted(text) if sort else text, asked, [a for a in asked if a in listed]


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_one_field_is_the_key(here, sort, ends):
    lines, asked, members = make(f"{sort}{ends}", 3000, sort)
    (here / "list").write_bytes((ends.join(lines) + ends * sort).encode())
    (here / "asked").write_text("\n".join(asked) + "\n")
    address = "keys:list?field=1&delimiter=:"
    for screen in "none", "strict", "cache":
        assert run("check", "-q", "--screen", screen, "--store", address, "asked").lines == members
    assert run("check", "-q", "--on-error", "skip", "--store", address, "asked").lines == members
    assert run("filter", "-q", "--keys", address, "--strict", address, "asked").lines == members
    assert set(members) <= set(run("filter", "-q", "--keys", address, "asked").lines)
    lower = [m.lower() for m in members]
    assert run("check", "-q", "--ignore-case", "--store", address, input="\n".join(lower) + "\n").lines == lower


def test_other_fields_delimiters_and_several_fields(here):
    (here / "blanks").write_text("  a  1 x\nb\t2 y\n")
    (here / "tabs").write_text("a\t1\tx\nb\t\ty\n")
    asked = "a\nb\nx\n2\n1\n\n"
    assert run("check", "-q", "--store", "keys:blanks?field=1", input=asked).lines == ["a", "b"]
    assert run("check", "-q", "--store", "keys:blanks?field=2", input=asked).lines == ["2", "1"]
    assert run("check", "-q", "--store", "keys:tabs?field=2&delimiter=tab", input=asked).lines == ["1", ""]
    assert run("check", "-q", "--store", "keys:tabs?field=3&delimiter=%09", input=asked).lines == ["x"]
    pairs = "a,x\nx,a\nb,y\na,y\n"
    for extra in [], ["--ignore-case"]:
        assert run("check", "-q", "-d,", "-k", "1,2", *extra, "--store", "keys:tabs?field=1,3&delimiter=tab", input=pairs).lines == ["a,x", "b,y"]
        assert run("check", "-q", "-d,", "-k", "2,1", *extra, "--store", "keys:tabs?field=3,1&delimiter=tab", input=pairs).lines == ["a,x", "b,y"]
        assert run("filter", "-q", "-d,", "-k", "1,2", *extra, "--keys", "keys:tabs?field=1,3&delimiter=tab", input=pairs).lines == ["a,x", "b,y"]


def test_lines_without_the_field(here):
    (here / "list").write_text("# a list\na:1\nb:2\n")
    address = "keys:list?field=2&delimiter=:"
    asked = "1\n2\n# a list\n\n"
    refused("check", "-q", "--store", address, input=asked, saying=["line 1 has no field 2", "--on-error skip"])
    refused("filter", "-q", "--keys", address, input=asked, saying="line 1")
    result = run("check", "--on-error", "skip", "--screen", "none", "--store", address, input=asked)
    assert result.lines == ["1", "2"] and result.err == "weir: keys:list?field=2&delimiter=:: 1 line without the field left out\n"
    assert run("filter", "--on-error", "skip", "-q", "--keys", address, "--strict", address, input=asked).lines == ["1", "2"]


def test_quotes_are_not_part_of_a_key(here):
    (here / "list").write_text('a,1\n"b",2\n')
    for extra in [], ["--on-error", "skip"]:
        refused("check", "-q", *extra, "--store", "keys:list?field=1&delimiter=,", input="b\n", saying="line 2: the field is in quotes")
    assert run("filter", "-q", "--keys", "keys:list?field=1&delimiter=,", input='b\n"b"\n').lines == ["b"]


@pytest.mark.parametrize("parameters,saying", [
    ("field=0", "invalid field="), ("field=", "invalid field="), ("field=x", "invalid field="), ("field=1,", "invalid field="), ("field=-1", "invalid field="),
    ("field=99999999999", "invalid field="), ("field=1&delimiter=", "invalid delimiter="), ("field=1&delimiter=ab", "invalid delimiter="),
    ("delimiter=:", "delimiter= without field="), ("fields=1", "is unknown; the form is keys:FILE"), ("field=1&field=2", "given twice"),
])
def test_wrong_addresses(here, parameters, saying):
    (here / "list").write_text("a:1\n")
    for option in ["check", "--store"], ["filter", "--keys"]:
        refused(*option, "keys:list?" + parameters, input="a\n", saying=saying)


def test_the_list_is_not_overwritten(here):
    (here / "list").write_text("a:1\n")
    address = "keys:list?field=1&delimiter=:"
    for option in ["check", "--store"], ["filter", "--keys"]:
        refused(*option, address, "-o", "list", input="a\n", saying="input and output at once")
