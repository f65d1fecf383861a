"""The first commands of README.md, in a clone on a fresh Debian system, where nothing but they installs packages."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import inside

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
README = (SOURCE / "README.md").read_text()

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("debootstrap", "chroot", "apt-get", "git"))) or not (SOURCE / ".git").exists(),
                                reason="needs git and debootstrap (scripts/setup package), and a repository")


@pytest.fixture
def fresh(root, tmp_path):
    """A copy of the system, with a clone in /tmp/weir: files that are not committed are missing there."""
    copy = tmp_path / "fresh"
    subprocess.run(["cp", "-a", root, copy], check=True)
    subprocess.run(["git", "clone", "-q", SOURCE, copy / "tmp/weir"], check=True)
    yield copy
    shutil.rmtree(copy, ignore_errors=True)


def test_the_first_commands_of_the_readme_work_on_a_fresh_machine(fresh):
    first = re.search(r"^```\n(.*?)^```$", README, re.M | re.S)[1]
    install, demo, test = (line.split("  #")[0].strip() for line in first.splitlines())
    assert (demo, test) == ("make demo", "make test")
    inside(fresh, f"! command -v make && apt-get update && {install}")
    printed = inside(fresh, f"cd /tmp/weir && {demo}")
    assert "sort -u finds 600" in printed and "with a 64 KiB screen" in printed
