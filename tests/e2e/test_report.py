"""weir eval --report: one page, complete in itself, with what to choose on top."""
import html.parser
import json
import math
import os
import random
import re
import shutil
import subprocess

import pytest

from conftest import QUICK, WEIR, refused, run

CHARTS = ["tradeoff", "memory", "fpr", "fnr", "fill", "throughput"]
BY_IMPORTANCE = ["importance_fnr", "importance_fpr"]
SMALL = ["--seed", "1", "-a", "recent,bloom,sbf", "-m", "1K,2K"]

needs_gnuplot = pytest.mark.skipif(not shutil.which("gnuplot"), reason="needs gnuplot")


class Page(html.parser.HTMLParser):
    """Tags that are open, ids, links and texts of a page; tags must match."""
    VOID = {"meta", "link", "br", "hr", "img"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.refs, self.tags, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.note(tag, attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.note(tag, attributes)

    def note(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data", "srcset"):
                self.refs.append(value)
            assert not name.startswith("on"), "a script"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def page(path):
    return Page(path.read_text())


def log(path, n=3000, keys=1500, seed=1):
    rng = random.Random(seed)
    path.write_text("".join(f"line {int(keys * rng.random() ** 2)}\t{rng.randrange(1, 9)}\n" for _ in range(n)))


def chosen(text):
    """The command line that the page has to paste."""
    return re.search(r"<pre>(.*?)</pre>", text, re.S).group(1)


@needs_gnuplot
def test_one_command_gives_a_page_that_is_complete_in_itself(here):
    log(here / "access.log")
    said = run("eval", "access.log", "--report", "out.html", "--seed", "1").out.decode()
    text = (here / "out.html").read_text()
    p = page(here / "out.html")
    assert [i for i in p.ids if i.startswith("chart-")] == [f"chart-{c}" for c in CHARTS]
    assert p.tags.count("svg") == len(CHARTS)
    assert all(ref.startswith("#") or ref == "data:," for ref in p.refs)
    assert {ref[1:] for ref in p.refs if ref.startswith("#")} <= set(p.ids)
    assert len(p.ids) == len(set(p.ids))
    assert "script" not in p.tags and "http" not in text and "@import" not in text and "url(" not in text
    assert 'name="viewport"' in text and "prefers-color-scheme:dark" in text and "@media print" in text
    assert not re.search(r"rgb\(\s*1,\s*0,", text), "a colour that stands for a hue"
    assert chosen(text) in said and "out.html" in said


@needs_gnuplot
def test_what_it_says_to_type_works_and_errs_as_it_says(here):
    log(here / "access.log", n=40000, keys=20000)
    run("eval", "access.log", "--finite", "--report", "out.html", "--seed", "1")
    text = (here / "out.html").read_text()
    words = chosen(text).split()
    assert words[:2] == ["weir", "dedup"] and words[-1] == "access.log"
    verdicts = run(*words[1:], "--seed", "1", "--emit", "all").lines
    met, new, old, false = set(), 0, 0, [0, 0]
    for verdict, _, line in (line.partition("\t") for line in verdicts):
        seen = line in met
        met.add(line)
        new, old = new + (not seen), old + seen
        false[seen] += (verdict == "seen") != seen
    assert f"{new:,} distinct keys" in page(here / "out.html").text
    wrong = float(re.search(r"It judged ([0-9.]+) % of all records wrongly", text).group(1))
    assert wrong == pytest.approx(100 * sum(false) / (new + old), rel=0.06)
    assert 0 < wrong <= 1


def colours(path):
    """The hue in which the charts of a page write the name of each filter."""
    found = re.findall(r'fill="var\(--hue-(\d+)\)"[^>]*>\s*<text><tspan[^>]*>([\w-]+)</tspan>', path.read_text())
    return {name: {hue for hue, other in found if other == name and hue != "0"} for _, name in found}


@needs_gnuplot
def test_a_filter_has_a_colour_of_its_own_the_same_in_every_report(here):
    log(here / "in")
    names = [line for line in run("list").lines if line[:1].isalpha()]
    names = [name for name in names if run("dedup", "-a", name, "-m", "4K", ok=False).status == 0]  # not of sets
    run("eval", "in", "--report", "all.html", "--seed", "1", "-m", "1K", "-a", ",".join(names))
    run("eval", "in", "--report", "few.html", "--seed", "1", "-m", "1K", "-a", "sbf,bloom")
    every, few = colours(here / "all.html"), colours(here / "few.html")
    hues = [hue for name in names for hue in every[name]]
    assert len(hues) == len(names) == len(set(hues)) >= 14
    assert few["bloom"] == every["bloom"] and few["sbf"] == every["sbf"]
    text = (here / "all.html").read_text()
    assert all(text.count(f"--hue-{hue}:#") == 2 for hue in hues), "a colour on light and on dark ground"


@needs_gnuplot
def test_the_choice_is_the_least_memory_that_errs_on_one_percent_at_most(here):
    log(here / "in", n=40000, keys=20000)
    rows = json.loads(run("eval", "in", "--finite", "--report", "out.html", "--seed", "1", "--format", "json").out)
    wrong = {}
    for row in rows:
        new = row["distinct"]
        cost = (row["fpr"] * new + row["fnr"] * (row["n"] - new)) / row["n"]
        size = 2 ** math.ceil(math.log2(row["memory_bytes"]))
        wrong[size] = min(wrong.get(size, 1), cost)
    best = min(size for size, cost in wrong.items() if cost <= 0.01)
    assert len(wrong) == 6 and best != min(wrong)
    assert f"-m {best // 1024}K" in chosen((here / "out.html").read_text())


def wrong_later(words, path, begin):
    """Of the records from `begin` on, the share that the filter of this command line judges wrongly."""
    verdicts = run(*words[1:-1], path, "--seed", "1", "--emit", "all").lines
    met, wrong = set(), 0
    for i, (verdict, _, line) in enumerate(v.partition("\t") for v in verdicts):
        wrong += i >= begin and (verdict == "seen") != (line in met)
        met.add(line)
    return wrong / (len(verdicts) - begin)


def going_on(path, seed=1, days=5, n=30000):
    """A stream of days: popular keys that stay, and keys that come for a while and never again."""
    rng = random.Random(seed)
    lines = [f"s{int(4000 * rng.random() ** 3)}" if rng.random() < 0.5 else f"t{int(i * 0.4 - rng.expovariate(1 / 800))}"
             for i in range(days * n)]
    path.write_text("\n".join(lines) + "\n")
    (path.parent / "first").write_text("\n".join(lines[:n]) + "\n")
    return n


@needs_gnuplot
@pytest.mark.parametrize("seed", [1] if QUICK else [1, 2, 3])
def test_its_advice_holds_for_the_days_after_those_it_was_shown(here, seed):
    first = going_on(here / "all", seed, days=9)
    said = run("eval", "first", "--report", "out.html", "--seed", "1").out.decode()
    text = (here / "out.html").read_text()
    assert "goes on like this" in said and "A stream that goes on" in text
    foretold = float(re.search(r"It judged ([0-9.]+) % of all records wrongly", text).group(1)) / 100
    assert foretold <= 0.01 and wrong_later(chosen(text).split(), "all", first) <= 0.01
    later = wrong_later(chosen(text).split(), "all", 5 * first)  # when it is full
    assert later == pytest.approx(foretold, rel=0.35)
    finite = re.search(r"If these records are all that will come, <code>(.*?)</code>", text).group(1)
    assert "-a bloom" in finite
    assert wrong_later(["weir", "dedup", *finite.split(), "first"], "first", 0) <= 0.01
    assert wrong_later(["weir", "dedup", *finite.split(), "first"], "all", first) > 0.05


@needs_gnuplot
def test_where_old_keys_come_again_after_any_time_no_filter_is_said_to_do(here):
    lines = run("gen", "uniform:n=200k,universe=35k,fresh=20%,seed=3").out.decode()
    (here / "all").write_text(lines)
    (here / "first").write_text("".join(lines.splitlines(True)[:20000]))
    said = run("eval", "first", "--report", "out.html", "--seed", "1").out.decode()
    text = (here / "out.html").read_text()
    foretold = float(re.search(r"It judged ([0-9.]+) % of all records wrongly", text).group(1)) / 100
    assert said.startswith("nearest to 1 %") and "No filter errs on less than 1 %" in text
    assert foretold / 2 < wrong_later(chosen(text).split(), "all", 100000) < 2 * foretold


@needs_gnuplot
def test_where_no_new_keys_come_what_fills_up_will_do(here):
    rng = random.Random(1)
    lines = "".join(f"{rng.randrange(500)}\n" for _ in range(20000))
    run("eval", "--report", "out.html", "--seed", "1", "-a", "bloom,sbf", input=lines)
    assert "-a bloom" in chosen((here / "out.html").read_text())
    run("eval", "--report", "only.html", "--seed", "1", "-a", "bloom", input="".join(f"{i}\n" for i in range(3000)))
    assert "-a bloom" in chosen((here / "only.html").read_text()), "asked for nothing else"


@needs_gnuplot
def test_the_choice_for_a_stream_that_goes_on_neither_fills_up_nor_ages(here):
    going_on(here / "all")
    rows = json.loads(run("eval", "first", "--report", "out.html", "--seed", "1", "--format", "json").out)
    wrong, ends = {}, ("bloom", "rsbf", "bsbfsd")
    for row in (row for row in rows if row["algorithm"] not in ends):
        cost = (row["fpr"] * row["distinct"] + row["fnr"] * (row["n"] - row["distinct"])) / row["n"]
        size = 2 ** math.ceil(math.log2(row["memory_bytes"]))
        wrong[size] = min(wrong.get(size, 1), cost)
    best = min(size for size, cost in wrong.items() if cost <= 0.01)
    words = chosen((here / "out.html").read_text()).split()
    assert words[words.index("-m") + 1] == f"{best // 1024}K" and words[words.index("-a") + 1] not in ends


@needs_gnuplot
def test_with_importance_there_are_charts_by_importance(here):
    log(here / "in")
    run("eval", "--tsv", "-k", "1", "-i", "2", "in", "--report", "out.html", "--seed", "1", "-m", "1K")
    p = page(here / "out.html")
    assert [i for i in p.ids if i.startswith("chart-")] == [
        f"chart-{c}" for c in CHARTS[:4] + BY_IMPORTANCE + CHARTS[4:]]
    assert "ibf-mc" in p.text and "--tsv -k 1" in p.text


@needs_gnuplot
def test_names_are_shown_as_they_are_and_never_taken_for_html(here):
    name = "a<b>&\"'\x01\u00fc\u2713\udcff.log"
    log(here / name)
    run("eval", name, "--report", "out.html", *SMALL)
    text = (here / "out.html").read_text()
    assert "<b>&" not in text and "a&lt;b&gt;&amp;&quot;&#39;?ü✓?.log" in text
    assert page(here / "out.html").text.count("a<b>&\"'?ü✓?.log") == 2, "title and heading"
    assert "'a<b>&\"'\\''?ü✓?.log'" in page(here / "out.html").text


@needs_gnuplot
def test_the_limit_is_drawn_for_uniform_streams_and_the_exact_list_for_others(here):
    run("eval", "--synthetic", "uniform:n=20k,distinct=60%", "--finite", "--report", "a.html", *SMALL)
    run("eval", "--synthetic", "zipf:n=20k,universe=9k", "--report", "b.html", *SMALL)
    a, b = ((here / name).read_text() for name in ("a.html", "b.html"))
    assert "limit" in a and "exact LRU" not in a
    assert "exact LRU" in b and ">limit<" not in b
    assert "weir gen uniform:n=20k,distinct=60% | weir dedup" in a


LONG_STREAM = ["eval", "--synthetic", "uniform:n=3M,distinct=60%", "--seed", "1", "-a", "bloom,rlbsbf", "-S", "k=2", "-m",
               "1M", "--format", "json"]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """The report on a long stream: its rows and its page."""
    path = tmp_path_factory.mktemp("sampled") / "out.html"
    return json.loads(run(*LONG_STREAM, "--finite", "--report", path).out), page(path)


@needs_gnuplot
def test_a_long_stream_is_measured_on_some_of_its_keys(sampled):
    rows, text = sampled[0], sampled[1].text
    whole = json.loads(run(*LONG_STREAM).out)
    assert "3,000,000 records" in text and "A sample was measured" in text and "one key in 4" in text
    assert "-m 1M" in text and "1 MiB" in text
    assert rows
    for part, all_of_it in zip(rows, whole, strict=True):
        assert part["memory_bytes"] == 2**18 and part["n"] == pytest.approx(750000, rel=0.01)
        assert part["fpr"] == pytest.approx(all_of_it["fpr"], rel=0.02)
        assert part["fnr"] == pytest.approx(all_of_it["fnr"], rel=0.02)


@needs_gnuplot
def test_theory_stands_beside_what_was_measured_also_of_a_sample(sampled):
    rows, p = sampled
    assert rows
    for row in rows:
        for measure in "fpr", "fnr", "fill":
            assert row[f"predicted_{measure}"] == pytest.approx(row[measure], rel=0.05, abs=0.002)
    assert "chart-theory" in p.ids and "Stars at the right are what theory predicts" in p.text


@needs_gnuplot
def test_of_few_keys_the_beginning_is_measured(here):
    run("eval", "--synthetic", "zipf:n=2M,universe=500", "--finite", "--report", "out.html", *SMALL)
    text = page(here / "out.html").text
    assert "Only the beginning was measured: 1,048,576 records" in text and "2,000,000 records" in text


@needs_gnuplot
def test_streams_without_repeats_and_of_one_key_have_a_page_too(here):
    run("eval", "--report", "a.html", *SMALL, input="".join(f"{i}\n" for i in range(5000)))
    run("eval", "--report", "b.html", "--seed", "1", input="x\n" * 100)
    text = page(here / "a.html").text
    assert "there were no repeats" in text and "over the stream: nothing to show" in text
    assert "1 distinct keys" in page(here / "b.html").text
    run("eval", "--report", "c.html", *SMALL, "--permutations", "2", input="a\nb\na\n" * 50)
    assert "shuffled several times" in page(here / "c.html").text


@needs_gnuplot
def test_an_old_page_stays_until_the_new_one_is_whole(here):
    old = "<!DOCTYPE html>\n<title>weir: old</title>\n"
    (here / "out.html").write_text(old)
    refused("eval", "--report", "out.html", input="", saying="there are no records")
    refused("eval", "--csv", "-k", "3", "--report", "out.html", input="1,2\n", saying="line 1")
    assert (here / "out.html").read_text() == old
    for _ in range(2):
        run("eval", "--report", "out.html", *SMALL, input="a\nb\na\n")
        assert (here / "out.html").read_text().startswith("<!DOCTYPE html>")
    assert [p.name for p in here.iterdir()] == ["out.html"]


def test_without_gnuplot_it_says_what_to_install(here):
    env = {"PATH": str(here)}
    result = refused("eval", "--report", "out.html", input="a\n", env=env)
    assert result.err == "weir: --report needs gnuplot; on Debian: apt install gnuplot-nox\n"
    assert not (here / "out.html").exists()


@needs_gnuplot
def test_what_does_not_fit_is_refused_before_the_work(here):
    (here / "in").write_text("a\n")
    refused("eval", "in", "--report", "in", saying="input and output at once")
    refused("eval", "in", "--report", "no/such/folder.html", saying="cannot save")
    refused("eval", "in", "--report", "o", "--curve", "5", saying="--curve")
    assert (here / "in").read_text() == "a\n"
    refused("eval", "--synthetic", "uniform:n=3M", "--report", "o", "-m", "512", saying="one key in 16")


def test_a_failing_gnuplot_is_reported(here):
    fake = here / "gnuplot"
    fake.write_text("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho 'line 0: no such thing' >&2\nexit 1\n")
    fake.chmod(0o755)
    refused("eval", "--report", "out.html", *SMALL, input="a\nb\na\n", env={"PATH": f"{here}:/usr/bin:/bin"},
            saying="gnuplot failed: line 0: no such thing")
    assert not (here / "out.html").exists()


def browser():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@needs_gnuplot
@pytest.mark.skipif(not browser(), reason="needs chromium")
def test_a_browser_shows_every_chart_and_has_nothing_to_complain_of(here):
    log(here / "in")
    run("eval", "--tsv", "-k", "1", "-i", "2", "in", "--report", "out.html", *SMALL)
    text = (here / "out.html").read_text()
    probe = """<script>addEventListener("load",()=>{const seen=[...document.querySelectorAll("figure svg")].map(
        s=>{const b=s.getBoundingClientRect(),l=s.querySelectorAll("path,use,text");
        return b.width>250&&b.height>150&&l.length>20});
        document.title=JSON.stringify({charts:seen,wide:document.documentElement.scrollWidth<=innerWidth,
        stroke:getComputedStyle(document.querySelector("#chart-tradeoff use")).color})})</script></body>"""
    (here / "probe.html").write_text(text.replace("</body>", probe))
    done = subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                           f"--user-data-dir={here}/profile", "--window-size=500,900", "--dump-dom",
                           (here / "probe.html").as_uri()], capture_output=True, text=True, timeout=110)
    told = json.loads(re.search(r"<title>(.*?)</title>", done.stdout).group(1))
    assert told["charts"] == [True] * (len(CHARTS) + len(BY_IMPORTANCE)) and told["wide"]
    assert told["stroke"] != "rgb(0, 0, 0)", "the colours of the page reach the charts"
    assert "CONSOLE" not in done.stderr, done.stderr
