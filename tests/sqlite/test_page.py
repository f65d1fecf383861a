"""docs/sql.md and README.md: their examples, in the shell of SQLite, print what they are said to."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import EXTENSION, WEIR

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
PAGES = (SOURCE / "docs/sql.md").read_text() + (SOURCE / "README.md").read_text()
EXAMPLES = re.findall(r"^```sql\n(.*?)^```\n```\n(.*?)^```", PAGES, re.M | re.S)


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="needs the shell of SQLite")
@pytest.mark.parametrize("code, prints", EXAMPLES)
def test_an_example_prints_what_the_page_says(here, code, prints):
    env = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(EXTENSION).parent),
           "PATH": f"{pathlib.Path(WEIR).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sqlite3", "-batch"], input=code, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, prints, "")


def test_every_example_is_run():
    assert len(EXAMPLES) == PAGES.count("```sql\n") == 4
