"""docs/architecture.md and CONTRIBUTING.md describe the source tree correctly."""
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(os.environ["WEIR_SOURCE"])
PAGES = ["docs/architecture.md", "CONTRIBUTING.md"]
NAME = r"[\w.-]+\.(?:c|h|py|md|scd|tsv|build)"


def trees(text):
    """Code blocks whose lines begin with a directory."""
    blocks = re.findall(r"^```\n(.*?)^```", text, re.M | re.S)
    return [b.splitlines() for b in blocks if re.search(r"^\w+/\s", b, re.M)]


def paths_of_tree(lines):
    """Directories by indentation, with the files named next to them."""
    folders = []
    for line in lines:
        entry = re.match(r"( *)([\w./-]+)", line)
        indent, name = len(entry[1]), entry[2]
        folders = [(i, f) for i, f in folders if i < indent]
        here = pathlib.PurePath(*(f for _, f in folders), name)
        yield here
        if name.endswith("/"):
            folders.append((indent, name))
            for word in re.findall(rf"(?<![\w/]){NAME}(?!\w)|(?<![\w/])[a-z0-9]+/(?= |$)", line[entry.end():]):
                yield here / word


def paths_in_text(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for quoted in re.findall(r"`([^`]+)`", text):
        if re.fullmatch(rf"[\w.-]+(/[\w.-]+)+/?|[\w-]+/|{NAME}", quoted):
            yield quoted


def named(page):
    text = (ROOT / page).read_text()
    return [*(str(p) for tree in trees(text) for p in paths_of_tree(tree)), *paths_in_text(text)]


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_exists(page):
    paths = named(page)
    assert len(paths) > 10
    assert [p for p in paths if not (ROOT / p).exists()] == []


def test_every_named_source_file_exists():
    there = [str(p.relative_to(ROOT)) for top in ("include", "index", "lib", "module", "remote", "store", "tool", "tests", "bench", "fuzz")
             for p in (ROOT / top).rglob("*.[ch]")]
    pages = {p for place in ("*.md", "docs/*.md", "bench/*.md") for p in ROOT.glob(place)}
    pages.remove(ROOT / "docs/adding-a-filter.md")  # it names files to be written
    named = {(page.name, name) for page in pages
             for name in re.findall(r"`([\w/]+\.[ch])`", page.read_text())}
    assert len(named) > 50
    assert [n for n in sorted(named) if not any(("/" + p).endswith("/" + n[1]) for p in there)] == []


def test_every_source_directory_is_in_the_tree():
    (tree,) = trees((ROOT / "docs/architecture.md").read_text())
    shown = {str(p) for p in paths_of_tree(tree)}
    folders = {str(p.parent.relative_to(ROOT)) for top in ("index", "lib", "remote", "store", "tool", "include") for p in (ROOT / top).rglob("*.[ch]")}
    assert folders - shown == set()


def test_every_command_has_its_function():
    listed = re.findall(r'^    \{"(\w+)",', (ROOT / "tool/main.c").read_text(), re.M)
    code = "\n".join(p.read_text() for p in (ROOT / "tool/cmd").glob("*.c"))
    assert "dedup" in listed and [c for c in listed if f"\nint cmd_{c}(struct options *o)\n{{" not in code] == []
