"""docs/reproduction.md equals what reproduce/ prints, and its theory matches the filters."""
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
BUILD = pathlib.Path(os.environ["WEIR"]).parents[1]
DOCUMENT = SOURCE / "docs" / "reproduction.md"
SANITIZED = not os.environ.get("WEIR_FAULT_LIB")
MODULES = ["common", "bera_streams", "bera_more", "bera", "bhoraskar_streams", "bhoraskar_table", "bhoraskar", "busnel", "comparisons", "main"]


def module(name, monkeypatch):
    monkeypatch.syspath_prepend(str(SOURCE / "reproduce"))
    for known in MODULES:
        sys.modules.pop(known, None)
    common = importlib.import_module("common")
    monkeypatch.setattr(common, "WEIR", BUILD / "tool" / "weir")
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
    """Except SBF at 512 MiB, an error of the paper."""
    text = DOCUMENT.read_text()
    rows = re.findall(r"^\| (\d+) MiB \| (\d) \| `(\w+)` \| .* \| ([^|]*)\|$", text, re.M)
    assert len(rows) == 165
    odd = [(memory, name) for memory, _, name, note in rows if note.strip()]
    assert all(row == ("512", "sbf") for row in odd) and len(odd) >= 4


def test_it_contains_no_paths_of_the_machine_that_made_it():
    assert not re.search(r"(?<![\w.)])/(home|tmp|root|work|usr|var)/", DOCUMENT.read_text())


def test_theory_matches_the_filters(monkeypatch):
    bera, bhoraskar = module("bera", monkeypatch), module("bhoraskar", monkeypatch)
    assert bera.mean_field("bsbf", 2) == pytest.approx(0.382, abs=5e-4)
    assert bera.mean_field("bsbf", 3) == pytest.approx(0.161, abs=5e-4)
    assert bera.mean_field("rlbsbf", 2) == pytest.approx(0.570, abs=5e-4)
    assert bera.mean_field("rlbsbf", 3) == pytest.approx(0.318, abs=5e-4)
    assert bera.mean_field("bsbfsd", 2) is None
    assert bhoraskar.stationary_zeros([0] * 6 + [1]) == pytest.approx((2 / 3) ** 7)
    assert bhoraskar.stationary_zeros([1 / 7] * 7, True) == pytest.approx(0.3675, abs=5e-4)
    assert [(1 - bhoraskar.printed_empty(half)) ** 5 for half in (3, 4)] == pytest.approx([0.0277, 0.0717], abs=5e-5)


# ---- the document is what the scripts print ----

def part_names(monkeypatch, wanted):
    return [part.name for part in module("main", monkeypatch).PARTS if wanted(part)]


def test_the_document_has_every_part_in_order(monkeypatch):
    marks = re.findall(r"^<!-- make reproduce PART=([-\w]+) -->$", DOCUMENT.read_text(), re.M)
    assert marks == part_names(monkeypatch, lambda part: True)


def redone(here, names):
    """The document after those parts were measured and written again, by this build."""
    shutil.copytree(SOURCE / "reproduce", here / "reproduce", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(SOURCE / "docs" / "reproduction", here / "docs" / "reproduction")
    shutil.copy(DOCUMENT, here / "docs")
    (here / "tests" / "papers").mkdir(parents=True)
    for path in (SOURCE / "tests" / "papers").glob("*.tsv"):
        shutil.copy(path, here / "tests" / "papers")
    (here / "build").symlink_to(BUILD)
    env = {name: value for name, value in os.environ.items() if name not in ("SCALE", "TABLE", "KEEP")}
    done = subprocess.run([sys.executable, "reproduce/main.py"], env={**env, "PART": ",".join(names)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (here / "docs" / "reproduction.md").read_text()


THEORY = ["bera", "bhoraskar", "bhoraskar-proof", "busnel", "busnel-bound", "comparisons"]
CHEAP = ["bera-recurrences", "bera-products", "bhoraskar-zeros", "comparisons-frequent"]


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="needs gnuplot")
def test_fast_parts_are_what_the_scripts_print(here):
    assert redone(here, THEORY if SANITIZED else THEORY + CHEAP).splitlines() == DOCUMENT.read_text().splitlines()


@pytest.mark.skipif(not os.environ.get("WEIR_LONG") or SANITIZED, reason="minutes: WEIR_LONG=1")
def test_all_parts_are_what_the_scripts_print(here, monkeypatch):
    names = part_names(monkeypatch, lambda part: not part.hours and (os.environ.get("WEIR_TRACES") or not part.traces))
    assert redone(here, names).splitlines() == DOCUMENT.read_text().splitlines()


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="needs gnuplot")
def test_one_part_is_redone_and_the_others_stay(here):
    (here / "docs").mkdir()
    text = DOCUMENT.read_text()
    broken = text.replace("SBF has the fewest", "SBF has the most").replace("### Table 1:", "### Table one:")
    assert broken.count("SBF has the most") and broken != text
    env = {**os.environ, "PART": "bhoraskar-proof"}
    shutil.copytree(SOURCE / "reproduce", here / "reproduce", ignore=shutil.ignore_patterns("__pycache__"))
    (here / "docs" / "reproduction.md").write_text(broken)
    subprocess.run([sys.executable, "reproduce/main.py"], env=env, check=True, capture_output=True)
    now = (here / "docs" / "reproduction.md").read_text()
    assert "**SBF has the fewest false negatives.**" in now and "### Table one:" in now


@pytest.mark.parametrize("env, message", [({"TABLE": "10"}, "there is no part table-10; the parts are bera, table-1"),
                                       ({"PART": "table-II", "WEIR_TRACES": ""}, "table-II needs WEIR_TRACES"),
                                       ({"SCALE": "0"}, "invalid SCALE; use a number from 1")])
def test_an_invalid_request_is_rejected(env, message):
    done = subprocess.run([sys.executable, str(SOURCE / "reproduce" / "main.py")], env={**os.environ, **env}, capture_output=True, text=True)
    assert done.returncode != 0 and message in done.stderr


# ---- expensive parts, at a small scale ----

@pytest.mark.skipif(SANITIZED, reason="a million records twice")
def test_streams_with_every_key_once_give_the_fnr_of_the_paper(monkeypatch):
    """BSBF, 60 % distinct, 128 MiB: printed 34.75 %, drawn 34.0. One sigma is 0.08 points."""
    more = module("bera_more", monkeypatch)
    monkeypatch.setattr(more, "SAMPLED", ["bsbf"])
    drawn, once = (list(rates.values())[0] for rates in more.measure_generators(1000000, 60, [more.bytes_of(128, 1000)]))
    assert once[1] == pytest.approx(34.75, abs=0.3) and drawn[1] == pytest.approx(34.0, abs=0.3)
    assert 0.4 < once[1] - drawn[1] < 1.1
    assert once[0] == pytest.approx(drawn[0], abs=0.2)


@pytest.mark.skipif(SANITIZED, reason="a million records for each filter")
def test_full_scale_equals_small_scale(monkeypatch):
    """The rows of the billion in the document, and the same at 1/1000."""
    more, common = module("bera_more", monkeypatch), module("common", monkeypatch)
    text = DOCUMENT.read_text()
    full = dict(re.findall(r"^\| (`\w+`) \| 1000000000 \| \d+ \| ([\d.| ]+)\|$", text, re.M))
    doc = common.Document()
    more.write_full(doc, 1000)
    small = dict(re.findall(r"^\| (`\w+`) \| 1000000 \| \d+ \| ([\d.| ]+)\|$", "\n".join(doc.lines), re.M))
    assert full and set(full) == set(small)
    for name in full:
        for big, little in zip(map(float, full[name].split("|")), map(float, small[name].split("|"))):
            assert little == pytest.approx(big, rel=0.05), name


def test_pairs_with_separate_lookups_miss_more(monkeypatch):
    busnel = module("busnel", monkeypatch)
    monkeypatch.setattr(busnel, "PROGRAM", BUILD / "tests" / "papers" / "dabf_means")
    monkeypatch.setattr(busnel, "STREAMS", 20)
    setting = {"records": 40000, "alpha": 2, "every": 40000}
    shared = busnel.means("dabf memory=1000bit set=100 window=500 seed=1", **setting)[0]
    literal = busnel.means("literal memory=1000 set=100 window=500 own=0 seed=1", **setting)[0]
    assert literal["fnr"] > 1.5 * shared["fnr"] and literal["calls"] > 1.1 * shared["calls"]
    assert literal["fpr"] == shared["fpr"] == 0


def test_importance_is_assigned_as_the_paper_does(monkeypatch):
    table = module("bhoraskar_table", monkeypatch)
    lines = [(str(i), i) for i in range(1, 101)]
    capped = [weight for _, weight in table.assigned(lines, "capped")]
    assert capped[0] == 0 and capped[89] == 48 and capped[90:] == [50] * 10
    ranked = [weight for _, weight in table.assigned(lines, "percentile")]
    assert ranked[0] == 0 and ranked[49] == 25 and ranked[-1] == 50


@pytest.mark.skipif(SANITIZED, reason="a benchmark")
def test_later_filters_need_the_bits_that_the_document_states():
    """Figures of a short run, within a tenth of those of the long one."""
    done = subprocess.run([BUILD / "bench" / "retention", "--peers", "--quick", "--memory", "8K"], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    stated = re.findall(r"^\| ([\d.%]*) \| (`recent`|epoch[^|]*|time-limited|cuckoo[^|]*) \| [^|]* \| ([\d.e-]+) % \| ([\d.]+) \|", DOCUMENT.read_text(), re.M)
    assert [row[0] for row in rows] == [name.strip(" `") for _, name, _, _ in stated]
    for row, (_, name, fpr, bits) in zip(rows, stated):
        assert float(row[3]) == pytest.approx(float(bits), rel=0.1), name
        if float(fpr) > 0.5:
            assert 100 * float(row[2]) == pytest.approx(float(fpr), rel=0.15), name


# ---- the document is whole at all times ----

def tree(here, weir):
    """A copy of what makes the document, with an old document and a stub for weir."""
    shutil.copytree(SOURCE / "reproduce", here / "reproduce", ignore=shutil.ignore_patterns("__pycache__"))
    (here / "tests" / "papers").mkdir(parents=True)
    shutil.copy(SOURCE / "tests" / "papers" / "bera2012.tsv", here / "tests" / "papers")
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
def test_an_interrupted_run_keeps_the_old_document(here, weir):
    tree(here, weir)
    assert subprocess.run([sys.executable, "reproduce/main.py"], capture_output=True).returncode != 0
    left = {name: text for name, text in contents(here / "docs").items() if ".new/" not in name}
    assert left == {"reproduction.md": "old", "reproduction/old.svg": "old"}


def test_a_new_document_replaces_the_old_one(here, monkeypatch):
    tree(here, "exit 1")
    main = module("main", monkeypatch)
    new = here / "docs" / "reproduction.new"
    new.mkdir()
    (new / "reproduction.md").write_text("![new](reproduction/new.svg)")
    (new / "new.svg").write_text("new")
    for name, path in ("DOCS", here / "docs"), ("PLOTS", here / "docs" / "reproduction"), ("NEW", new):
        monkeypatch.setattr(main, name, path)
    main.put_in_place()
    assert contents(here / "docs") == {"reproduction.md": "![new](reproduction/new.svg)", "reproduction/new.svg": "new"}
