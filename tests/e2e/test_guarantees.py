"""docs/guarantees.md: each entry names at least one test, and each test exists and is run."""
import os
import pathlib
import re

ROOT = pathlib.Path(os.environ["WEIR_SOURCE"])
ENTRIES = re.findall(r"^- (?!\[).*\n(?:  .*\n)*", (ROOT / "docs/guarantees.md").read_text(), re.M)
TESTS = sorted({test for entry in ENTRIES for test in re.findall(r"`([\w/.]+::\w+)`", entry)})


def exists(test):
    """A C test must list itself (TEST) or be in its program's list, which guarantees that it is compiled."""
    path, name = test.split("::")
    file = ROOT / "tests" / path
    text = file.read_text() if file.is_file() else ""
    if file.suffix == ".py":
        return bool(re.search(rf"^def {name}\(", text, re.M)) and name.startswith("test_")
    if file.suffix == ".go":
        return bool(re.search(rf"^func {name}\(t ", text, re.M))
    if file.suffix == ".js":  # the name is the title, with underscores
        return name in {re.sub(r"\W+", "_", title) for title in re.findall(r"^test\('(.*?)',", text, re.M)}
    listed = name.removeprefix("property_")
    return bool(re.search(rf"(_test\w*|TEST)\(\s*(property_)?{listed}\b", text))


def test_every_guarantee_has_a_test():
    assert len(ENTRIES) > 200
    assert [entry for entry in ENTRIES if "::" not in entry] == []


def test_every_named_test_exists():
    assert [test for test in TESTS if not exists(test)] == []
