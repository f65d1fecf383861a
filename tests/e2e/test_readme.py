"""README and the tour work as printed: the C example, the shell commands, the picture, the figures and the table."""
import gzip
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

from conftest import SANITIZED, WEIR

SOURCE = Path(os.environ["WEIR_SOURCE"])
BUILD = Path(WEIR).parent.parent
README = (SOURCE / "README.md").read_text()
TOUR = (SOURCE / "docs" / "tour.md").read_text()


def block(language, having):
    return next(b for b in re.findall(rf"```{language}\n(.*?)```", TOUR, re.S) if having in b)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_the_c_example_compiles_and_drops_repeats(here):
    (here / "once.c").write_text(block("c", "weir_open"))
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *["-fsanitize=address,undefined"] * SANITIZED,
                    f"-I{SOURCE}/include", "once.c", "-o", "once", f"-L{BUILD}/lib",
                    f"-Wl,-rpath,{BUILD}/lib", "-lweir"], check=True)
    done = subprocess.run(["./once"], input=b"b\na\nb\na\n", capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"b\na\n"), done.stderr


VISITS = [f'{who} - - [10/Oct/2000:{when} -0700] "GET / HTTP/1.0" 200 9\n' for who, when in
          [("a", "10:00:00"), ("b", "10:10:00"), ("a", "10:50:00"), ("a", "11:20:00")]]
FILES = {
    "access.log": "".join(VISITS),
    "app.log": "a\na\nb\n",
    "users.csv": "id,email\n1,x@y\n2,x@y\n",
    "today.log": "a\nb\nb\n",
    "calls.log": "c\nd\nc\n",
    "x.jsonl": '{"user":{"id":1},"bytes":5}\n{"user":{"id":1},"bytes":9}\n',
    "hosts.txt": "example.org\nbad.net\n",
    "proxy.log": "1 get example.org\n2 get fine.org\n",
}
CLICKS = [f'{{"at":{at},"user":{{"id":{user}}}}}\n' for at, user in [(1700000000, 1), (1700000300, 1), (1700000400, 2), (1700000900, 1)]]
SHELL = [line.split("  #")[0].strip() for line in block("sh", "weir dedup").splitlines()]
PRINTS = [
    "",
    "a\nb\n",
    "id,email\n1,x@y\n",
    "a\nb\n",
    "c\nd\n",
    "".join(CLICKS[i] for i in (0, 2, 3)),
    '{"user":{"id":1},"bytes":5}\n',
    "",
    "1 get example.org\n",
    "1 get example.org\n",
    "listed\n",
    None,
    None,
    None,
    None,
    "".join(VISITS[i] for i in (0, 1, 3)),
]


def test_the_shell_commands_do_what_they_claim(here):
    assert len(SHELL) == len(PRINTS)
    for name, text in FILES.items():
        (here / name).write_text(text)
    (here / "clicks.jsonl.gz").write_bytes(gzip.compress("".join(CLICKS).encode()))
    with sqlite3.connect("bad.db") as db:
        db.execute("CREATE TABLE t (host)")
        db.executemany("INSERT INTO t VALUES (?)", [(host,) for host in FILES["hosts.txt"].split()])
    db.close()
    path = f"{Path(WEIR).parent}:{os.environ['PATH']}"
    for line, prints in zip(SHELL, PRINTS):
        line = line.replace("tail -f", "cat")  # which would not end
        line = line.replace("--report", "--finite --report")  # too few records to advise for a longer stream
        done = subprocess.run(line, shell=True, capture_output=True, timeout=60,
                              env={**os.environ, "PATH": path})
        assert done.returncode == 0, (line, done.stderr)
        assert done.stderr == b"" or line.startswith(("weir top", "weir check")) or "--once-per" in line or "--keep" in line, (line, done.stderr)
        assert prints is None or done.stdout.decode() == prints, line
    assert (here / "once.log").read_text() == FILES["access.log"]
    assert (here / "bad.weir").stat().st_size < 4096


def test_the_readme_has_commands_of_the_tour():
    lines = next(b for b in re.findall(r"```sh\n(.*?)```", README, re.S) if "weir dedup" in b).splitlines()
    assert len(lines) == 5 and {line.split("  #")[0].strip() for line in lines} <= set(SHELL)


# ---- the picture, the figures and the table ----

@pytest.fixture(scope="module")
def figures():
    """scripts/readme-figures as a module."""
    loader = importlib.machinery.SourceFileLoader("readme_figures", str(SOURCE / "scripts" / "readme-figures"))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("readme_figures", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(script)
    return script


def test_the_figures_are_those_that_were_measured(figures):
    """docs/figures.tsv contains them; what does not depend on the machine is measured here."""
    plan = subprocess.run([WEIR, "plan", "-q", "--format", "json", "-a", "recent", "-m", "64M", "-e", "0.1%"], check=True, capture_output=True)
    values, saved = figures.comparison(TOUR, json.loads(plan.stdout)[0]["remembered"]), figures.saved()
    assert values.items() <= saved.items() and len(values) > 15
    assert {name: command for name, (_, command) in saved.items() if name not in values} == \
        {name: command for command, table in figures.TABLES.items() for name in table}
    for file, text in figures.pages(saved).items():
        assert text == file.read_text(), f"{file.name} differs from docs/figures.tsv: scripts/readme-figures writes it"


def test_every_figure_is_in_a_page(figures):
    placed = {name.partition("|")[0] for places in figures.PLACES.values() for place in places for name in re.findall(r"{([^}]*)}", place)}
    assert placed <= set(figures.saved()) and {name for table in figures.TABLES.values() for name in table} <= placed


def test_figures_are_read_from_the_rows_of_a_table(figures):
    table = figures.Table("what\titems\tns\na\t1\t10\na\t100\t2\n\nother\tns\nb\t5\n")
    assert figures.cell(("a", "100"), "ns", 1)(table) == "2.0" and figures.cell("b", "ns", 2, of=("a", "1"))(table) == "0.50"
    page = "It takes 0.9\nof the time.\n"
    assert figures.with_figures(page, ["It takes {x|.1f} of the time"], {"x": ("0.25", "bench")}) == "It takes 0.2\nof the time.\n"
    for text in "no place", page * 2:
        with pytest.raises(AssertionError):
            figures.with_figures(text, ["It takes {x} of the time"], {"x": ("1", "bench")})


def curves(svg):
    """The paths of the curves; text and colours depend on gnuplot and the page."""
    return re.findall(r" d='([^']*)'", svg)


def test_the_picture_exists():
    (name,) = re.findall(r"!\[[^]]*\]\(([^)]*)\)", README)
    assert xml.etree.ElementTree.parse(SOURCE / name).getroot().tag.endswith("svg")
    assert {"recent", "bloom", "sbf", "rlbsbf", "two-buffer"} <= set(re.findall(r">([\w-]+)</", (SOURCE / name).read_text()))


@pytest.mark.skipif(SANITIZED or not shutil.which("gnuplot"), reason="a million records for each of 30 filters")
def test_the_picture_is_what_a_report_draws(here):
    subprocess.run(["/usr/bin/env", "python3", SOURCE / "scripts/picture", "front.svg"], check=True)
    assert curves((here / "front.svg").read_text()) == curves((SOURCE / "docs/front.svg").read_text())


def test_the_diagrams_are_what_their_script_draws(here):
    drawn = here / "pictures"
    drawn.mkdir()
    subprocess.run(["/usr/bin/env", "python3", SOURCE / "scripts/pictures", drawn], check=True, env={**os.environ, "WEIR": str(WEIR)})
    pictures = sorted((SOURCE / "docs/pictures").iterdir())
    assert [file.name for file in pictures] == sorted(file.name for file in drawn.iterdir()) and len(pictures) >= 8
    pages = "".join(page.read_text() for page in (SOURCE / "docs").rglob("*.md"))
    for file in pictures:
        assert file.read_text() == (drawn / file.name).read_text(), file.name
        assert f"pictures/{file.name})" in pages, file.name


ROW = re.compile(r"^\| ((?:[^|]|\\\|)+) \| (`weir [^|]+`) \| [\d.]+ \| \d+ → \d+ \| [\d.e-]+ \|$", re.M)


@pytest.mark.skipif(SANITIZED or not shutil.which("mawk"), reason="it measures")
def test_the_table_is_that_of_the_benchmark(here):
    """The same jobs and commands; on little data weir prints the same as the usual commands."""
    build = here / "build"
    (build / "tool").mkdir(parents=True)
    (build / "tool" / "weir").symlink_to(WEIR)
    done = subprocess.run(["/usr/bin/python3", SOURCE / "bench/command/comparison", build, "--records", "20000", "--rounds", "1"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = [row.groups() for row in ROW.finditer(done.stdout)]
    assert len(told) == 5 and told == [row.groups() for row in ROW.finditer(TOUR)]
    assert [line for line in done.stdout.splitlines()[2:] if float(line.split("|")[-2]) > 0.002] == []
