"""docs/promises.md: each promise has a test, and the test is there and is run."""
import os
import pathlib
import re

ROOT = pathlib.Path(os.environ["WEIR_SOURCE"])
ROWS = [line for line in (ROOT / "docs/promises.md").read_text().splitlines()
        if re.match(r"\| (?!promise \||-)", line) and not line.startswith("|---")]
TESTS = sorted({test for row in ROWS for test in re.findall(r"`([\w/.]+::\w+)`", row)})


def is_there(test):
    """In C, in the list of what is run: that it is a function too is the compiler's business."""
    path, name = test.split("::")
    file = ROOT / "tests" / path
    text = file.read_text() if file.is_file() else ""
    if file.suffix == ".py":
        return bool(re.search(rf"^def {name}\(", text, re.M)) and name.startswith("test_")
    return bool(re.search(rf"_test\w*\(\s*{name}\b", text))


def test_every_promise_has_a_test():
    assert len(ROWS) > 60
    assert [row for row in ROWS if "::" not in row] == []


def test_every_test_that_is_named_is_there():
    assert [test for test in TESTS if not is_there(test)] == []
