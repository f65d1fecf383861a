"""make site: every page exists, and all links between them work in a plain directory."""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SITE = SOURCE / "scripts" / "site"

LUNR = pathlib.Path("/usr/share/javascript/lunr/lunr.min.js")

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("cmark-gfm", "mandoc", "node", "scdoc"))) or not LUNR.exists(),
                                reason="needs cmark-gfm, mandoc, node, scdoc and lunr")


class Page(html.parser.HTMLParser):
    VOID = {"meta", "link", "img", "br", "hr", "input", "col"}  # without an end tag

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
    assert f"{len(found) - (folder / 'playground.html').exists()} pages" in done.stdout
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
    first, docs = found[folder / "contents.html"], SOURCE / "docs"
    for source in docs.rglob("*.md"):
        if source == docs / "README.md":
            continue
        name = str(source.relative_to(docs).with_suffix(".html")).replace("README", "index")
        assert folder / name in found
        inner, _, page = name.rpartition("/")
        assert name in first.links or page in found[folder / inner / "index.html"].links, name


def test_papers_are_cited_with_their_titles():
    """Once per page, in or beside the link."""
    entries = (SOURCE / "docs/references.md").read_text().split('\n- <a id="')[1:]
    titles = {entry.partition('"')[0]: re.search(r"(?<!\*)\*([^*]{10,20})[^*]*?\.?\*(?!\*)", " ".join(entry.split()))[1].rstrip(".") for entry in entries if re.search(r"\d{4}\"", entry)}
    assert len(titles) > 20
    for page in (SOURCE / "docs").rglob("*.md"):
        text = " ".join(page.read_text().split())
        cited = set(re.findall(r"references\.md#(\w+)\)", text)) & set(titles)
        if page.name not in ("references.md", "reproduction.md", "filters.md"):  # filters.md has a table of short titles
            assert [key for key in cited if titles[key] not in text] == [], page


def test_anchors_are_unique(pages):
    for file, page in pages[1].items():
        assert len(page.ids) == len(set(page.ids)), file


def test_a_directory_with_other_files_is_not_replaced(here):
    (here / "mine").mkdir()
    (here / "mine" / "style.css").write_text("mine")
    done = subprocess.run(["/usr/bin/env", "python3", SITE, here / "mine"], capture_output=True, text=True)
    assert done.returncode == 1 and "contains other files" in done.stderr and done.stderr.count("\n") == 1
    assert (here / "mine" / "style.css").read_text() == "mine"


def test_a_page_lists_its_sections_twice(pages):
    """For narrow and for wide windows; the sources have no lists of their own."""
    for file, page in pages[1].items():
        sections = re.findall(r'<h2[^>]* id="([^"]*)"', file.read_text())
        if len(sections) > 2 and file.name != "playground.html":
            lists = re.findall(r'<(?:details|nav) class="contents".*?</ul>', file.read_text(), re.S)
            assert [re.findall(r'class="level2"><a href="#([^"]*)"', text) for text in lists] == [sections] * 2, file
    assert [page.name for page in (SOURCE / "docs").rglob("*.md") if re.search(r"(?:^- \[.*\]\(#.*\n){3}", page.read_text(), re.M)] == []


def test_the_first_page_is_the_readme(pages):
    folder, _ = pages
    assert "deduplicates a stream in constant memory" in (folder / "index.html").read_text()


def test_every_man_page_is_included(pages):
    folder, found = pages
    index = found[folder / "man" / "index.html"].links
    commands = {f"{file.stem}.html" for file in SOURCE.glob("man/*.1.scd")}
    assert len(commands) > 20 and commands <= set(index)
    assert "weir_observe.3.html" in index
    top = (folder / "man" / "weir-top.1.html").read_text()
    assert '<p class="option" id="--share">' in top and 'href="weir.1.html"' in top


# The words of a search, and a page that must be among the first five.
SEARCHES = {"once-per": "man/weir-dedup.1.html#--once-per", "bloom": "filters.html", "weir_observe_many": "man/weir_observe.3.html"}


def test_search_finds_options_calls_and_topics(pages):
    folder, found = pages
    script = f"""
        const lunr = require("{LUNR}");
        const SEARCH = new Function(require("fs").readFileSync("search.js") + "return SEARCH")();
        const index = lunr.Index.load(SEARCH.index);
        for (const words of {list(SEARCHES)})
            console.log(index.search(words).slice(0, 5).map(row => SEARCH.sections[row.ref].url).join(" "));
        for (const section of SEARCH.sections) console.error(section.url);"""
    done = subprocess.run(["node", "-e", script], cwd=folder, capture_output=True, text=True, check=True)
    for urls, expected in zip(done.stdout.splitlines(), SEARCHES.values()):
        assert any(url.startswith(expected) for url in urls.split()), (urls, expected)
    for url in set(done.stderr.split()):
        page, _, fragment = url.partition("#")
        assert not fragment or fragment in found[folder / page].ids, url


def test_pages_load_nothing_from_other_hosts(pages):
    for file in pages[0].rglob("*"):
        if file.suffix in (".html", ".css") or file.name in ("site.js", "playground.js", "worker.js"):
            assert not re.search(r"""(?:src=|url\(|@import|fetch\()["']?https?:""", file.read_text()), file
