"""make dist: the tarball contains every file, is reproducible, and builds without git."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

from conftest import LONG, RACES_SEEN, SANITIZED

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])

pytestmark = [pytest.mark.skipif(not shutil.which("xz") or not shutil.which("tar"), reason="needs tar and xz"),
              pytest.mark.skipif(SANITIZED or RACES_SEEN, reason="once is enough")]


def dist(source, folder):
    out = subprocess.run([source / "scripts/dist", folder], capture_output=True, text=True, check=True)
    return pathlib.Path(out.stdout.strip())


def sum_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return dist(SOURCE, tmp_path_factory.mktemp("dist"))


def unpacked(made, here):
    with tarfile.open(made) as tar:
        tar.extractall(here)
    (root,) = here.iterdir()
    return root


def test_the_same_source_gives_the_same_bytes(made, here):
    assert sum_of(dist(SOURCE, here / "again")) == sum_of(made)


def test_an_unpacked_tarball_gives_the_same_bytes(made, here):
    """In a directory without git."""
    root = unpacked(made, here)
    assert not (root / ".git").exists()
    (root / "build").mkdir()
    (root / "build/left").write_text("behind")
    assert sum_of(dist(root, here / "again")) == sum_of(made)


def test_the_tarball_contains_every_source_file(made):
    with tarfile.open(made) as tar:
        there = {m.name.split("/", 1)[1] for m in tar.getmembers()}
        assert {(m.uid, m.gid, m.mtime) for m in tar.getmembers()} == {(0, 0, tar.getmembers()[0].mtime)}
    for folder, ending in ("lib", ".c"), ("include", ".h"), ("tool", ".c"), ("module", ".c"), ("bindings", ".c"), ("tests/golden", ".weir"), ("docs", ".md"):
        files = {str(p.relative_to(SOURCE)) for p in (SOURCE / folder).rglob(f"*{ending}")}
        assert files and files <= there, files - there
    assert {"Makefile", "meson.build", "LICENSE", "README.md"} <= there


@pytest.mark.skipif(not LONG, reason="builds all of it again")
def test_it_builds_without_git(made, here):
    root = unpacked(made, here)
    (here / "bin").mkdir()
    (here / "bin/git").write_text("#!/bin/sh\nexit 1\n")
    (here / "bin/git").chmod(0o755)
    env = {**os.environ, "PATH": f"{here}/bin:{os.environ['PATH']}"}
    subprocess.run(["make", "-C", root], check=True, capture_output=True, env=env)
    done = subprocess.run([root / "build/tool/weir", "dedup"], input=b"a\nb\na\n", capture_output=True, env=env)
    assert (done.returncode, done.stdout) == (0, b"a\nb\n")
    version = (root / "include/weir/version.h").read_text().split('"')[1]
    assert version in subprocess.run([root / "build/tool/weir", "--version"], capture_output=True, text=True).stdout
