"""Any words to a real server, with a replica: it stays up and replies with an error or a correct result. Some thousand commands;
for a minute with WEIR_LONG=1."""
import random
import time

from conftest import LONG
from forge import payload, seal
from resp import Error
from test_load import caught_up
from test_survival import digests, wait

KEYS = [f"k{i}" for i in range(12)]
SPECS = ["recent memory=4K", "recent memory=4K span=1s", "recent memory=2K importance=log",
         "recent memory=2K ttl=1s-9s importance=log", "bloom memory=4K",
             "counting memory=4K", "cuckoo capacity=100", "sbf memory=2K", "", "recent memory=1E", "bloom memory=0",
             "fuse capacity=10", "recent memory=4K seed=1", "nonsense", "recent memory=-1 span=x", "a" * 600]
WORDS = ["AT", "TTL", "TTLS", "ONCE", "WEIGHTED", "TIMED", "HASHED", "ITEMS", "NOCREATE", "NX", "CHUNK", "CAPACITY", "ERROR", "EXPANSION",
         "NONSCALING", "SEED", "TIGHTENING", "VALIDATESCALETO", "BUCKETSIZE", "MAXITERATIONS", "WEIGHTS", "WITHCOUNT",
         "p", "capacity", "spec", "memory", "", "a", "b", "c", "\0", "a\0b", "x" * 300]
NUMBERS = [0, 1, 2, 3, 8, 10, 100, 1000, -1, .5, .01, 1e-9, .999999, 1.0, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**40, 2**53,
           2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**63, "nan", "inf", "-inf", "1e400", "0x10", " 1", "1 ", "+1", "01"]


def commands(r):
    """Those of our families, with how many words they take at least."""
    listed = [name.decode() for name in r("COMMAND", "LIST") if name.split(b".")[0] in
              (b"weir", b"bf", b"cf", b"cms", b"topk")]
    return {name: abs(told[1]) for name, told in zip(listed, r("COMMAND", "INFO", *listed))}


class Fuzz:
    def __init__(self, r, seed):
        self.r, self.rng, self.known = r, random.Random(seed), commands(r)
        self.chunks = []

    def word(self):
        rng = self.rng
        kind = rng.random()
        if kind < .3:
            return rng.choice(WORDS)
        if kind < .6:
            return rng.choice(NUMBERS)
        if kind < .8:
            return f"i{rng.randrange(200)}"
        if kind < .9:
            return rng.choice(SPECS)
        return rng.randbytes(rng.choice((0, 1, 15, 16, 17, 64)))

    def any_command(self):
        name = self.rng.choice(list(self.known))
        words = [name, self.rng.choice(KEYS)]
        while len(words) < self.known[name] or self.rng.random() < .6:
            words.append(self.word() if self.rng.random() < .9 else self.rng.choice(KEYS))
        return words[:40]

    def items(self):
        return [f"i{self.rng.randrange(200)}" for _ in range(self.rng.choice((1, 1, 3, 30)))]

    def sound_command(self):
        """So that there is something to break."""
        rng, key, items = self.rng, self.rng.choice(KEYS), self.items()
        weighed = [x for item in items for x in (item, rng.randrange(100))]
        return rng.choice([
            ["WEIR.CREATE", key, rng.choice(SPECS)], ["WEIR.OBSERVE", key, *items], ["WEIR.MERGE", key, 1, rng.choice(KEYS)],
            ["WEIR.OBSERVE", key, "ONCE", f"p{rng.randrange(3)}", rng.randrange(1000), *items],
            ["BF.RESERVE", key, .01, rng.randrange(1, 1000)], ["BF.MADD", key, *items],
            ["CF.RESERVE", key, rng.randrange(4, 500), "EXPANSION", rng.randrange(3)], ["CF.INSERT", key, "ITEMS", *items],
            ["CMS.INITBYDIM", key, rng.randrange(1, 100), rng.randrange(1, 6)], ["CMS.INCRBY", key, *weighed],
            ["CMS.MERGE", key, 2, rng.choice(KEYS), rng.choice(KEYS)], ["TOPK.RESERVE", key, rng.randrange(1, 20)],
            ["TOPK.INCRBY", key, *weighed], ["CF.DEL", key, items[0]], ["CF.COMPACT", key], ["DEL", key],
            ["WEIR.FORGET", key, *items], ["RENAME", key, rng.choice(KEYS)], ["COPY", key, rng.choice(KEYS), "REPLACE"],
            ["TYPE", key], ["MEMORY", "USAGE", key], ["PEXPIRE", key, 5],
        ])

    def mutate(self, data):
        data = bytearray(data)
        for _ in range(self.rng.choice((0, 1, 1, 2, 8))):
            kind = self.rng.random()
            at = self.rng.randrange(len(data) + 1)
            if kind < .6 and at < len(data):
                data[at] = self.rng.choice((0, 1, 255, self.rng.randrange(256)))
            elif kind < .8:
                del data[at:at + self.rng.randrange(1, 64)]
            else:
                data[at:at] = self.rng.randbytes(self.rng.randrange(64))
        return bytes(data)

    def payload_command(self):
        """RESTORE with a right checksum over wrong bytes, and chunks."""
        rng, key, to = self.rng, self.rng.choice(KEYS), self.rng.choice(KEYS)
        dumped = self.r.raw("DUMP", key)
        if isinstance(dumped, bytes) and rng.random() < .5:
            return ["RESTORE", to, 0, payload(self.mutate(dumped[:-8])), "REPLACE"]
        family = rng.choice(("bf", "cf"))
        if rng.random() < .3:
            reply = self.r.raw(family + ".SCANDUMP", key, rng.choice([0, *(c[0] for c in self.chunks[-5:])]))
            if isinstance(reply, list) and reply[0] and reply[1]:
                self.chunks = [*self.chunks[-20:], tuple(reply)]
        if self.chunks and rng.random() < .4:
            iterator, data = rng.choice(self.chunks)
            return [family + ".LOADCHUNK", to, iterator, self.mutate(data)]
        reply = self.r.raw("WEIR.SAVE", key, 0, "CHUNK", rng.choice((64, 5000, 1 << 20)))
        if isinstance(reply, list):
            file = self.mutate(reply[1])
            return ["WEIR.LOAD", to, rng.choice((0, len(file), reply[0])), seal(file) if rng.random() < .7 else file]
        return ["WEIR.LOAD", to, self.word(), self.word()]

    def command(self):
        kind = self.rng.random()
        return self.any_command() if kind < .45 else self.sound_command() if kind < .8 else self.payload_command()

    def check_what_is_remembered(self):
        """Accepted data is visible at once, independent of the key's history."""
        key, item = self.rng.choice(KEYS), f"i{self.rng.randrange(10**6)}"
        self.r("PERSIST", key)  # or it may expire between the two
        for add, ask in ("BF.ADD", "BF.EXISTS"), ("CF.ADD", "CF.EXISTS"):
            if not isinstance(self.r.raw(add, key, item), Error):
                assert self.r(ask, key, item) == 1, (add, key, item)
        reply = self.r.raw("CMS.INCRBY", key, item, 7)
        if isinstance(reply, list) and not isinstance(reply[0], Error):
            assert self.r("CMS.QUERY", key, item) == reply and reply[0] >= 7


def sure_keys(r):
    """Keys that no command of the fuzzer names."""
    r("WEIR.CREATE", "sure:w", "bloom memory=16K seed=1")
    assert r("WEIR.OBSERVE", "sure:w", "ONCE", "p", 1, *range(100)) == [0] * 100
    assert r("BF.MADD", "sure:b", *range(300)).count(1) > 290
    assert r("CF.INSERT", "sure:u", "ITEMS", *range(300)) == [1] * 300
    r("CMS.INITBYDIM", "sure:c", 1000, 3)
    assert r("CMS.INCRBY", "sure:c", "a", 5) == [5]
    r("TOPK.RESERVE", "sure:t", 3, 100, 3, .9)
    r("TOPK.INCRBY", "sure:t", "a", 5, "b", 3)


def check_sure_keys(r):
    assert r("WEIR.ASK", "sure:w", *range(100)) == [1] * 100
    assert r("WEIR.OBSERVE", "sure:w", "ONCE", "p", 1, *range(100)) == [0] * 100
    assert r("BF.MEXISTS", "sure:b", *range(300)) == [1] * 300
    assert r("CF.MEXISTS", "sure:u", *range(300)) == [1] * 300
    assert r("CMS.QUERY", "sure:c", "a") == [5]
    assert r("TOPK.LIST", "sure:t", "WITHCOUNT") == [b"a", 5, b"b", 3]


def test_any_words(start):
    seed = random.SystemRandom().randrange(10**6) if LONG else 1
    print("seed", seed)
    options = ("--maxmemory", "600mb", "--repl-diskless-sync-delay", "0")
    master, replica = start("LARGEST", "16mb", options=options), start("LARGEST", "16mb", options=options)
    r, s = master.client(), replica.client()
    s("REPLICAOF", "127.0.0.1", master.port)
    wait(lambda: b"master_link_status:up" in s("INFO", "replication"))
    sure_keys(r)
    fuzz, errors, n = Fuzz(r, seed), 0, 0
    end = time.monotonic() + 60
    while n < 6000 or (LONG and time.monotonic() < end):
        words = fuzz.command()
        try:
            errors += isinstance(r.raw(*words), Error)
        except (ConnectionError, OSError) as error:
            raise AssertionError(f"seed {seed}, after {n} commands: {words!r:.2000}") from error
        n += 1
        if n % 200 == 0:
            fuzz.check_what_is_remembered()
            check_sure_keys(r)
    assert n * .1 < errors < n * .95, "both kinds of answers were met"
    time.sleep(.3)  # what expires is gone
    wait(lambda: caught_up(r, s))
    before = digests(r)
    assert digests(s) == before, f"seed {seed}"
    r("DEBUG", "RELOAD")
    assert digests(r) == before, f"seed {seed}"
    check_sure_keys(r)
