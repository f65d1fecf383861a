"""Every error of WEIR.* begins with a code of the table in docs/module.md, and every code occurs."""
import os
import pathlib
import re

import pytest
from conftest import refused

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SMALL = "bloom memory=1K seed=1"
FILTER = ["WEIR.CREATE", "f", SMALL]
LATE = ["ONCE", "p", 7]

# Commands; the reply to the last begins with the code, and a number if it has one.
PROVOKE = {
    "ERR": [[FILTER, ["WEIR.OBSERVE", "f", "AT", "now", "a"]], [["WEIR.ASK", "f"]], [["WEIR.INFO", "f", "colour"]],
            [["WEIR.SAVE", "f", "x"]], [["WEIR.MERGE", "f", 2, "g"]], [["WEIR.CREATE", "f", SMALL, "XX"]]],
    "WRONGTYPE": [[["SET", "f", "text"], ["WEIR.OBSERVE", "f", "a"]], [["SET", "f", "text"], ["WEIR.INFO", "f"]]],
    "WEIRBUSY": [[["WEIR.LOAD", "f", 4, "WEIR"], words] for words in
                 (["WEIR.OBSERVE", "f", "a"], ["WEIR.ASK", "f", "a"], ["WEIR.FORGET", "f", "a"], ["WEIR.INFO", "f"], ["WEIR.SAVE", "f", 0],
                  ["WEIR.MERGE", "f", 1, "f"], ["WEIR.CREATE", "f", SMALL])],
    "WEIRDATA": [[["WEIR.LOAD", "f", 0, "nonsense"]]],
    "WEIREXISTS": [[FILTER, FILTER], [FILTER, ["WEIR.LOAD", "f", 0, "WEIR"]]],
    "WEIRGONE 16": [[["WEIR.OBSERVE", "f", "ONCE", "p", i, "a"] for i in [*range(17), 0]]],
    "WEIRMEMORY": [[["WEIR.CREATE", "f", "bloom memory=2G"]]],
    "WEIRMISMATCH": [[FILTER, ["WEIR.CREATE", "g", "bloom memory=1K seed=2"], ["WEIR.MERGE", "f", 1, "g"]]],
    "WEIRNOKEY": [[["WEIR.OBSERVE", "f", "NOCREATE", "a"]], [["WEIR.FORGET", "f", "a"]], [["WEIR.MERGE", "f", 1, "g"]],
                  [["WEIR.INFO", "f"]], [["WEIR.SAVE", "f", 0]]],
    "WEIRRESTART": [[FILTER, ["WEIR.SAVE", "f", "64-1"]], [["WEIR.LOAD", "f", 4, "WEIR"], ["WEIR.LOAD", "f", 9, "WEIR"]],
                    [["WEIR.LOAD", "f", 9, "WEIR"]]],
    "WEIRREUSED": [[FILTER, ["WEIR.OBSERVE", "f", *LATE, "a"], ["WEIR.OBSERVE", "f", *LATE, "b"]]],
    "WEIRSPEC": [[["WEIR.CREATE", "f", "bloom memory=64X"]], [["WEIR.CREATE", "f", "x" * 600]]],
    "WEIRTIME": [[["WEIR.OBSERVE", "f", "AT", 1 << 60, "a"]], [["WEIR.OBSERVE", "f", "TIMED", 1 << 60, "a"]]],
    "WEIRUNSUPPORTED": [[FILTER, ["WEIR.FORGET", "f", "a"]], [["WEIR.CREATE", "f", "fuse capacity=10"]],
                        [["WEIR.CREATE", "f", "bsbf memory=1K seed=1"], ["WEIR.MERGE", "f", 1, "f"]]],
}


def documented():
    page = (SOURCE / "docs/module.md").read_text()
    table = page[page.index("## Error codes"):page.index("## BF.*")]
    rows = re.findall(r"^\| `([A-Z]+)`(?: \*\w+\*)? \| .+ \| .+ \|$", table, re.M)
    assert len(rows) == len(set(rows)) > 10
    return set(rows)


def test_the_page_lists_every_code():
    """Those of the module's own table, and WRONGTYPE, which servers have."""
    table = re.findall(r"CODE\(([A-Z]+), ", (SOURCE / "module/server/reply.h").read_text())
    assert documented() == {*table, "WRONGTYPE"} == {code.split()[0] for code in PROVOKE}


@pytest.mark.parametrize("code", PROVOKE)
def test_every_code_occurs(r, code):
    for *before, last in PROVOKE[code]:
        r("FLUSHALL")
        for words in before:
            r.raw(*words)
        assert refused(r, *last).startswith(code + " "), (code, last)
    assert b"errorstat_" + code.split()[0].encode() in r("INFO", "errorstats")
