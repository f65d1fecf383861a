"""The command returns the verdicts of tests/vectors, and opens its filter."""
import os
import pathlib

from conftest import run

VECTORS = pathlib.Path(os.environ["WEIR_SOURCE"]) / "tests/vectors"


def test_verdicts_are_those_of_the_file(tmp_path):
    rows = [line.split("\t") for line in (VECTORS / "keys.tsv").read_text().splitlines()[1:]]
    keys = [(bytes.fromhex(key), seen) for _, _, key, _, _, seen in rows if "0a" not in [key[i : i + 2] for i in range(0, len(key), 2)]]
    lines = b"".join(key + b"\n" for key, _ in keys)
    tagged = run("dedup", "--words", "0,1", "-a", "recent", "-m", "4K", "--seed", 7, input=lines).out
    assert tagged.decode().split() == [seen for _, seen in keys]
    asked = run("ask", VECTORS / "keys.weir", input=lines).out
    assert len(keys) > 250 and all(line.startswith(b"seen\t") for line in asked[:-1].split(b"\n"))
