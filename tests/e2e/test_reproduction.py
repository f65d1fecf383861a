"""docs/reproduction.md, as `make reproduce` wrote it, and the laws it draws."""
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
DOCUMENT = SOURCE / "docs" / "reproduction.md"


def module(name, monkeypatch):
    monkeypatch.syspath_prepend(str(SOURCE / "reproduce"))
    for known in "common", name:
        sys.modules.pop(known, None)
    return importlib.import_module(name)


def test_every_picture_is_there_and_well_formed():
    text = DOCUMENT.read_text()
    named = set(re.findall(r"!\[[^]]*\]\((reproduction/[^)]*)\)", text))
    assert named == {f"reproduction/{p.name}" for p in (SOURCE / "docs" / "reproduction").iterdir()}
    assert len(named) >= 16
    for name in named:
        path = DOCUMENT.parent / name
        assert xml.etree.ElementTree.parse(path).getroot().tag.endswith("svg")
        assert path.stat().st_size < 150000, name


def test_every_row_of_the_papers_tables_is_there_and_agrees():
    """But for SBF at 512 MiB, which is a slip of the paper's."""
    text = DOCUMENT.read_text()
    rows = re.findall(r"^\| (\d+) MiB \| (\d) \| `(\w+)` \| .* \| ([^|]*)\|$", text, re.M)
    assert len(rows) == 165
    odd = [(memory, name) for memory, _, name, note in rows if note.strip()]
    assert all(row == ("512", "sbf") for row in odd) and len(odd) >= 4


def test_it_names_no_place_of_the_machine_it_was_made_on():
    assert not re.search(r"(?<![\w.)])/(home|tmp|root|work|usr|var)/", DOCUMENT.read_text())


def test_laws_are_those_of_the_filters(monkeypatch):
    bera, bhoraskar = module("bera", monkeypatch), module("bhoraskar", monkeypatch)
    assert bera.mean_field("bsbf", 2) == pytest.approx(0.382, abs=5e-4)
    assert bera.mean_field("bsbf", 3) == pytest.approx(0.161, abs=5e-4)
    assert bera.mean_field("rlbsbf", 2) == pytest.approx(0.570, abs=5e-4)
    assert bera.mean_field("rlbsbf", 3) == pytest.approx(0.318, abs=5e-4)
    assert bera.mean_field("bsbfsd", 2) is None
    assert bhoraskar.law([0] * 6 + [1]) == pytest.approx((2 / 3) ** 7)
    assert bhoraskar.law([1 / 7] * 7, True) == pytest.approx(0.3675, abs=5e-4)


def tree(here, weir):
    """A copy of what makes the document, with an old document and a weir that does as told."""
    shutil.copytree(SOURCE / "reproduce", here / "reproduce", ignore=shutil.ignore_patterns("__pycache__"))
    (here / "docs" / "reproduction").mkdir(parents=True)
    (here / "docs" / "reproduction.md").write_text("old")
    (here / "docs" / "reproduction" / "old.svg").write_text("old")
    (here / "build" / "tool").mkdir(parents=True)
    (here / "build" / "tool" / "weir").write_text(f"#!/bin/sh\n{weir}\n")
    (here / "build" / "tool" / "weir").chmod(0o755)


def contents(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="needs gnuplot")
@pytest.mark.parametrize("weir", ["exit 1", "kill -TERM $PPID", "kill -INT $PPID", "kill -KILL $PPID"])
def test_a_run_that_is_interrupted_leaves_the_old_document_as_it_was(here, weir):
    tree(here, weir)
    assert subprocess.run([sys.executable, "reproduce/main.py"], capture_output=True).returncode != 0
    left = contents(here / "docs")
    assert left == {"reproduction.md": "old", "reproduction/old.svg": "old"}


def test_a_new_document_takes_the_place_of_the_old_one(here, monkeypatch):
    tree(here, "exit 1")
    main = module("main", monkeypatch)
    new = here / "docs" / "reproduction.new"
    new.mkdir()
    (new / "reproduction.md").write_text("new")
    (new / "new.svg").write_text("new")
    for name, path in ("DOCS", here / "docs"), ("PLOTS", here / "docs" / "reproduction"), ("NEW", new):
        monkeypatch.setattr(main, name, path)
    main.put_in_place()
    assert contents(here / "docs") == {"reproduction.md": "new", "reproduction/new.svg": "new"}
