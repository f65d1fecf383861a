"""docs/sql.md and docs/tour.md: the examples print what the page shows, in SQLite's shell."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import EXTENSION, WEIR

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
PAGES = (SOURCE / "docs/sql.md").read_text() + (SOURCE / "docs/tour.md").read_text()
EXAMPLES = re.findall(r"^```sql\n(.*?)^```\n```\n(.*?)^```", PAGES, re.M | re.S)


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="needs the shell of SQLite")
@pytest.mark.parametrize("code, prints", EXAMPLES)
def test_an_example_prints_what_the_page_says(here, code, prints):
    env = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(EXTENSION).parent),
           "PATH": f"{pathlib.Path(WEIR).parent}:{os.environ['PATH']}"}
    for _ in range(4):  # a filter of a random seed reports one of 250 other keys as a member
        done = subprocess.run(["sqlite3", "-batch"], input=code, env=env, capture_output=True, text=True, timeout=60)
        if done.stdout == prints:
            break
    assert (done.returncode, done.stdout, done.stderr) == (0, prints, "")


def test_every_example_is_run():
    assert len(EXAMPLES) == PAGES.count("```sql\n") == 5
