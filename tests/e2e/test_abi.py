"""The binary interface equals tests/golden/abi.txt, so it only changes on purpose."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import RACES_SEEN, SANITIZED, WEIR

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
LIST = (SOURCE / "tests/golden/abi.txt").read_text().splitlines()
HEADERS = " ".join(re.sub(r"/\*.*?\*/", " ", p.read_text(), flags=re.S) for p in sorted((SOURCE / "include").rglob("*.h")) if p.name != "plan.h")


@pytest.mark.skipif(SANITIZED or RACES_SEEN, reason="a sanitizer has symbols of its own")
@pytest.mark.skipif(not shutil.which("cc") or not shutil.which("nm"), reason="needs a compiler and nm")
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the list is that of 64-bit machines as x86_64")
def test_the_binary_interface_is_the_listed_one():
    now = subprocess.run([SOURCE / "scripts/abi", pathlib.Path(WEIR).parent.parent], capture_output=True, text=True, check=True)
    gone = sorted(set(LIST) - set(now.stdout.splitlines()))
    come = sorted(set(now.stdout.splitlines()) - set(LIST))
    assert gone == [], "programs break by this: see scripts/abi"
    assert come == [], "new: scripts/abi build > tests/golden/abi.txt, if it is meant"


def test_the_list_is_complete():
    """Names found in another way than by the script."""
    listed = {kind: {line.split()[1].rstrip(":").partition("@")[0] for line in LIST if line.startswith(kind)}
              for kind in ("symbol", "struct", "constant")}
    assert set(re.findall(r"\b(weir_\w+)\s*\(", "".join(re.findall(r"WEIR_API[^;]*;", HEADERS)))) <= listed["symbol"]
    assert set(re.findall(r"\bstruct (weir_\w+)\s*\{", HEADERS)) == listed["struct"]
    words = {w for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", HEADERS) for w in re.findall(r"\bWEIR_\w+", body)}
    assert len(words) > 40 and words <= listed["constant"]


def test_golden_files_are_those_of_the_release():
    """The format is frozen: a change of the saved bytes must not get a new golden file."""
    golden = SOURCE / "tests/golden"
    cut = dict(reversed(line.split("  ")) for line in (golden / "frozen.txt").read_text().splitlines())
    assert len(cut) >= 27 and set(cut) == {path.name for path in golden.glob("*.weir")}
    for name, sum in cut.items():
        assert hashlib.sha256((golden / name).read_bytes()).hexdigest() == sum, name
