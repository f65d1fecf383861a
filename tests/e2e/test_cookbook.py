"""The pages of docs/: every command in a block of ```console runs as it stands, in an empty folder, one
page after the other from its top, and prints what is shown below it. Blocks of ```console long take
minutes: they run with WEIR_LONG=1 only, and no other block needs what they leave behind.

Where a page speaks to the server of `make serve` (port 7379) or to PostgreSQL (port 5432), it
speaks to a private one here. examples/ is that of the source."""
import os
import pathlib
import re
import shutil

import pytest

import servers
from conftest import LONG, WEIR
from shown import is_shown, shortfall

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
DOCS = SOURCE / "docs"
PACKAGE = pathlib.Path(WEIR).parent.parent / "bindings" / "python"
BLOCK = re.compile(r"^```console( long)?\n(.*?)^```$", re.M | re.S)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if BLOCK.search(page.read_text())]
RECIPES = sorted((DOCS / "cookbook").glob("*.md"))


def name(page):
    return str(page.relative_to(DOCS))[:-3]


def commands(block):
    """(command, what is shown below it) pairs. A command goes on in lines that begin with "> "."""
    for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, *rest = piece.splitlines()
        while rest and rest[0].startswith("> "):
            command += "\n" + rest.pop(0)[2:]
        yield command, "\n".join(rest)


def examples(page, long=LONG):
    return [pair for is_long, block in BLOCK.findall(page.read_text()) if long or not is_long for pair in commands(block)]


@pytest.fixture
def private():
    """Servers of a page's own: it names the usual port, and is given that of a server that ends with the test."""
    started = []

    def one(pairs):
        text = "\n".join(command for command, _ in pairs)
        replaced = {}
        if "7379" in text:
            if not (shutil.which("redis-server") and os.environ.get("WEIR_MODULE")):
                pytest.skip("needs redis-server and weir.so")
            started.append(servers.Redis("--loadmodule", os.environ["WEIR_MODULE"]))
            replaced["7379"] = str(started[-1].port)
        if "5432" in text:
            started.append(servers.Postgres())
            replaced["5432"] = str(started[-1].port)
        for usual, port in replaced.items():
            pairs = [(command.replace(usual, port), shown) for command, shown in pairs]
        return pairs

    yield one
    for server in started:
        server.close()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_of_a_page_print_what_it_shows(page, here, private):
    pairs = private(examples(page))
    assert pairs or not LONG
    (here / "examples").symlink_to(SOURCE / "examples")
    if any("python3 " in command for command, _ in pairs) and not PACKAGE.is_dir():
        pytest.skip("needs the Python package")
    wrong = shortfall(pairs, here, timeout=3000 if LONG else 60, PYTHONPATH=str(PACKAGE))
    assert wrong is None, f"{page.name}: $ {wrong[0]}\n{wrong[1]}"


@pytest.mark.parametrize("page", [p for p in RECIPES if p.name != "README.md"], ids=name)
def test_a_recipe_has_commands_and_says_what_it_cost(page):
    text = page.read_text()
    assert examples(page, long=True), "a recipe has commands"
    assert re.search(r"^## What it cost", text, re.M)


def test_every_recipe_is_in_the_list():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "cookbook" / "README.md").read_text())
    assert sorted(listed) == sorted(p.name for p in RECIPES if p.name != "README.md")


def test_a_page_is_read_as_it_is_meant():
    text = "```console\n$ cat <<END\n> a\n> END\na\n$ true\n```\n```console long\n$ x\n1\n...\n9\n```\n"
    found = [pair for _, block in BLOCK.findall(text) for pair in commands(block)]
    assert found == [("cat <<END\na\nEND", "a"), ("true", ""), ("x", "1\n...\n9")]


@pytest.mark.parametrize("output,shown,same", [
    ("a\nb\n", "a\nb", True), ("", "", True), ("x\n", "", False), ("", "x", False), ("a\tb\n", "a     b", True),
    ("1\n2\n9\n", "1\n...\n9", True), ("1\n2\n8\n", "1\n...\n9", False), ("1\n", "...", True),
    ("took 3 s: ok\n", "took ... s: ok", True), ("took 3 s\nok\n", "took ...", False), ("a.c\n", "abc", False),
    ("k\t3\t7\n", "k  3  ...", True), ("k\t3\t7\n", "k  4  ...", False),
])
def test_what_is_left_out_may_be_anything_and_nothing_else(output, shown, same):
    assert is_shown(output, shown) is same
