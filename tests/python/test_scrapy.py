"""weir.scrapy.DupeFilter on a local site: stopped, resumed, killed. WEIR_PAGES is its number of pages."""
import collections
import http.server
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import weir

pytest.importorskip("scrapy")
PAGES = int(os.environ.get("WEIR_PAGES", 150))
LONG = 120 + PAGES // 2  # seconds after which nothing more will come, on a busy machine too

SPIDER = '''
import scrapy

class Site(scrapy.Spider):
    name = "site"

    def start_requests(self):
        """Without dont_filter, so that seen pages are not fetched again."""
        for n in range(int(getattr(self, "first", 1))):
            yield scrapy.Request(f"{self.site}/{n}")

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
'''


class Site(http.server.ThreadingHTTPServer):
    """Each page links to its children in a tree, to random pages, and to page 0."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page)
        self.fetched = collections.Counter()
        self.total = 0
        self.gate = threading.Condition()
        self.most = PAGES * 10  # as many are answered; others wait until it is raised

    def count(self, page):
        with self.gate:
            self.fetched[page] += 1
            self.total += 1
            mine = self.total
            assert self.gate.wait_for(lambda: mine <= self.most, LONG)

    def open_up(self):
        with self.gate:
            self.most = PAGES * 10
            self.gate.notify_all()

    def wait_for_most(self, process):
        end = time.monotonic() + LONG
        while self.total <= self.most:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.005)


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        n = int(self.path[1:])
        self.server.count(n)
        rng = random.Random(n)
        links = [2 * n + 1, 2 * n + 2, 0, *(rng.randrange(PAGES) for _ in range(5))]
        body = "".join(f'<a href="/{k}">{k}</a>' for k in links if k < PAGES).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def site():
    server = Site()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.open_up()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def crawl(site, tmp_path):
    """Start a crawl; return its process."""
    running = []
    (tmp_path / "spider.py").write_text(SPIDER)

    def begin(job=None, checkpoint=60, first=1, **settings):
        settings |= {"DUPEFILTER_CLASS": "weir.scrapy.DupeFilter", "WEIR_DUPEFILTER": "memory=1M seed=1",
                     "WEIR_DUPEFILTER_CHECKPOINT": checkpoint, "LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": 0,
                     "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7"}
        settings |= {"JOBDIR": tmp_path / job} if job else {}
        words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-a", f"first={first}",
                   "-a", f"site=http://127.0.0.1:{site.server_port}", *words]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def finish(process):
    _, said = process.communicate(timeout=LONG)
    assert process.returncode == 0, said
    assert "Traceback" not in said and "ERROR" not in said, said
    return said


def test_each_page_is_fetched_once(site, crawl):
    said = finish(crawl())
    assert site.fetched == dict.fromkeys(range(PAGES), 1)
    assert "'dupefilter/filtered'" in said


def test_stopped_and_resumed(site, crawl, tmp_path):
    """Every page is fetched exactly once, in spite of two stops."""
    for part in (1, 2):
        site.most = part * PAGES // 3
        process = crawl("job", checkpoint=0.1)
        site.wait_for_most(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)  # it is noticed before the answers come; if not, more are fetched
        site.open_up()
        finish(process)
        assert part * PAGES // 3 <= site.total
        assert weir.Filter.view(tmp_path / "job" / "requests.weir").stats().observed > 0
    assert "Resuming with" in finish(crawl("job"))
    assert site.fetched == dict.fromkeys(range(PAGES), 1)


def fingerprints(site):
    from scrapy import Request
    from scrapy.utils.request import fingerprint

    return {n: fingerprint(Request(f"http://127.0.0.1:{site.server_port}/{n}")) for n in range(PAGES)}


def test_killed(site, crawl, tmp_path):
    """Checkpointed pages are not fetched twice; all others are fetched in the end."""
    job = tmp_path / "job"
    site.most = PAGES // 4
    process = crawl("job", checkpoint=0.05)
    site.wait_for_most(process)
    while not (job / "requests.weir").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.005)
    process.kill()
    process.wait()
    site.open_up()
    before = set(site.fetched)
    with weir.Filter.load(job / "requests.weir") as state:
        saved = {n for n, key in fingerprints(site).items() if key in state}
    assert saved & before
    shutil.rmtree(job / "requests.queue")  # Scrapy's own, torn by the kill; docs/python.md: remove it
    finish(crawl("job", first=PAGES))  # as from a sitemap
    again = {n for n, times in site.fetched.items() if times > 1}
    assert not again & saved
    assert again <= before
    assert set(range(PAGES)) - saved <= set(site.fetched)


def test_a_damaged_file_stops_the_crawl(site, crawl, tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "requests.weir").write_bytes(b"WEIR nonsense")
    process = crawl("job")
    _, said = process.communicate(timeout=LONG)
    assert "weir.DataError" in said
    assert not site.fetched
    assert (tmp_path / "job" / "requests.weir").read_bytes() == b"WEIR nonsense"
