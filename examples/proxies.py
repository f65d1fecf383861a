#!/usr/bin/env python3
"""proxies.py NAME PEER LOG [SPEC [redis://HOST:PORT]] - one of two proxies that exchange summaries of their caches.

LOG has a key and a size in bytes per line. The proxy keeps objects in an LRU cache of CACHE bytes. After every ROUND
requests it publishes a summary of its cache, a filter of this SPEC, and reads its peer's summary. Objects in the
summary that are not in its own cache are requested from the peer; all others are fetched from the origin. Without SPEC,
nothing is exchanged. Summaries are files in the current directory, or keys of a Redis with weir.so.

Run two of them at the same time, each with the other as its peer, with names that were not used before. Each prints one
line of JSON."""
import json
import os
import pathlib
import sys
import time
import warnings
from collections import OrderedDict

import weir

warnings.simplefilter("ignore", weir.SaturationWarning)  # summaries may be smaller than advised

CACHE = 16 << 20
ROUND = 1000
CLASSES = {"small": 10_000, "medium": 100_000, "large": 1 << 40}  # sizes below


class Files:
    """A summary is a file. So is the list of the cache's keys, which simulates requests to that proxy."""

    def publish(self, name, spec, objects):
        summary = weir.Filter(spec)
        summary.observe_many([key for key, _ in objects], importance=[size for _, size in objects])
        data = summary.tobytes()
        self.put(name + ".weir", data)
        self.put(name + ".has", "\n".join(key for key, _ in objects).encode())
        return len(data)

    @staticmethod
    def put(name, data):
        """Replaces the file in one step."""
        pathlib.Path(name + ".new").write_bytes(data)
        os.rename(name + ".new", name)

    def fetch(self, name):
        while not os.path.exists(name + ".has"):
            time.sleep(0.002)
        summary = weir.Filter.load(name + ".weir")
        has = set(pathlib.Path(name + ".has").read_text().split("\n"))
        return summary.ask, has.__contains__

    def drop(self, name):
        for kind in ".weir", ".has":
            pathlib.Path(name + kind).unlink(missing_ok=True)


class Server:
    """The same with filters in a server."""

    def __init__(self, url):
        import redis
        self.redis = redis.Redis.from_url(url)

    def publish(self, name, spec, objects):
        self.redis.execute_command("WEIR.CREATE", name + ".weir", spec)
        words = [word for key, size in objects for word in (size, key)]
        self.redis.execute_command("WEIR.OBSERVE", name + ".weir", "WEIGHTED", "ITEMS", *words)
        self.redis.sadd(name + ".has", "", *(key for key, _ in objects))
        for kind in ".weir", ".has":
            self.redis.expire(name + kind, 600)
        return sum(len(str(word)) for word in words)

    def fetch(self, name):
        while not self.redis.exists(name + ".has"):
            time.sleep(0.002)
        has = {key.decode() for key in self.redis.smembers(name + ".has")}
        return lambda key: self.redis.execute_command("WEIR.ASK", name + ".weir", "ITEMS", key)[0] == 1, has.__contains__

    def drop(self, name):
        self.redis.delete(name + ".weir", name + ".has")


class Proxy:
    def __init__(self):
        self.cache, self.held = OrderedDict(), 0
        self.stats = dict(requests=0, own=0, peer=0, wasted=0, bytes=0, far=0, exchanged=0,
                         by_size={name: [0, 0] for name in CLASSES})

    def request(self, key, size, says, has):
        """says: the key is in the peer's summary; has: it is in the peer's cache"""
        self.stats["requests"] += 1
        self.stats["bytes"] += size
        if key in self.cache:
            self.cache.move_to_end(key)
            self.stats["own"] += 1
            return
        kind = next(name for name, below in CLASSES.items() if size < below)
        there = has(key)
        self.stats["by_size"][kind][0] += there
        if says(key):
            self.stats["peer" if there else "wasted"] += 1
            self.stats["by_size"][kind][1] += there
        else:
            there = False
        self.stats["far"] += 0 if there else size
        self.keep(key, size)

    def keep(self, key, size):
        self.cache[key] = size
        self.held += size
        while self.held > CACHE:
            self.held -= self.cache.popitem(last=False)[1]


def main(name, peer, log, spec="", url=""):
    proxy, exchange = Proxy(), Server(url) if url else Files()
    says = has = lambda key: False
    requests = [line.split() for line in open(log)]
    for start in range(0, len(requests), ROUND):
        number = start // ROUND
        if spec and number:
            proxy.stats["exchanged"] += exchange.publish(f"{name}.{number}", spec, proxy.cache.items())
            says, has = exchange.fetch(f"{peer}.{number}")
            exchange.drop(f"{name}.{number - 2}")  # the peer has read it, because it is in this round too
        for key, size in requests[start:start + ROUND]:
            proxy.request(key, int(size), says, has)
    print(json.dumps(proxy.stats))


if len(sys.argv) not in (4, 5, 6):
    sys.exit(__doc__.split("\n")[0])
main(*sys.argv[1:])
