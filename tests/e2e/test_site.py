"""make site: every page exists, and all links between them work in a plain directory."""
import html.parser
import os
import pathlib
import shutil
import subprocess
import urllib.parse

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SITE = SOURCE / "scripts" / "site"

pytestmark = pytest.mark.skipif(not shutil.which("cmark-gfm"), reason="needs cmark-gfm")


class Page(html.parser.HTMLParser):
    VOID = {"meta", "link", "img", "br", "hr", "input"}

    def __init__(self, file):
        super().__init__()
        self.links, self.ids, self.open = [], [], []
        self.feed(file.read_text())
        assert self.open == [], (file, self.open)

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("href", "src"):
                self.links.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open and self.open.pop() == tag, (tag, self.getpos())


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "made"
    done = subprocess.run(["/usr/bin/env", "python3", SITE, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {file: Page(file) for file in folder.rglob("*.html")}
    assert f"{len(found)} pages" in done.stdout
    return folder, found


def test_every_link_resolves_inside_the_directory(pages):
    folder, found = pages
    dead, count = [], 0
    for file, page in found.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme:
                assert url.scheme in ("http", "https"), link
                continue
            count += 1
            to = (file.parent / url.path).resolve() if url.path else file
            if not to.is_relative_to(folder.resolve()) or not to.is_file():
                dead.append((file.name, link))
            elif url.fragment and url.fragment not in found[to].ids:
                dead.append((file.name, link))
    assert dead == [] and count > 500


def test_every_page_of_the_manual_is_linked_from_the_first(pages):
    folder, found = pages
    first, docs = found[folder / "index.html"], SOURCE / "docs"
    book = found[folder / "cookbook" / "index.html"]
    for source in docs.rglob("*.md"):
        name = str(source.relative_to(docs).with_suffix(".html")).replace("README", "index")
        assert folder / name in found
        assert name in first.links or name.removeprefix("cookbook/") in book.links, name


def test_anchors_are_unique(pages):
    for file, page in pages[1].items():
        assert len(page.ids) == len(set(page.ids)), file


def test_a_directory_with_other_files_is_not_replaced(here):
    (here / "mine").mkdir()
    (here / "mine" / "style.css").write_text("mine")
    done = subprocess.run(["/usr/bin/env", "python3", SITE, here / "mine"], capture_output=True, text=True)
    assert done.returncode == 1 and "contains other files" in done.stderr and done.stderr.count("\n") == 1
    assert (here / "mine" / "style.css").read_text() == "mine"
