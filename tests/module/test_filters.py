"""WEIR.*: filters from specs, as keys."""
import os
import re
import time

from conftest import refused

EXACT = "bloom memory=1M k=8 seed=1"


def items(n, name="item"):
    return [f"{name}{i}" for i in range(n)]


def test_observe_tells_what_was_seen(r):
    assert r("WEIR.CREATE", "f", EXACT) == "OK"
    assert r("WEIR.OBSERVE", "f", "a", "b", "a") == [0, 0, 1]
    assert r("WEIR.ASK", "f", "a", "b", "c") == [1, 1, 0]
    assert r("WEIR.ASK", "f", "c") == [0]
    assert r("TYPE", "f") == "weir-filt"


def test_more_items_than_are_shown_at_once(r):
    r("WEIR.CREATE", "f", EXACT)
    keys = items(3000)
    assert r("WEIR.OBSERVE", "f", *keys) == [0] * 3000
    assert r("WEIR.OBSERVE", "f", *keys[::-1], "new") == [1] * 3000 + [0]
    assert r("WEIR.ASK", "f", *keys, "other") == [1] * 3000 + [0]


def test_items_are_bytes(r):
    r("WEIR.CREATE", "f", EXACT)
    assert r("WEIR.OBSERVE", "f", b"a\0b", b"a\0c", b"", b"a") == [0, 0, 0, 0]
    assert r("WEIR.ASK", "f", b"a\0b", b"a\0c", b"", b"a\0") == [1, 1, 1, 0]


def test_create(r):
    assert r("WEIR.CREATE", "f", "sbf memory=64K") == "OK"
    refused(r, "WEIR.CREATE", "f", "sbf memory=64K", saying="WEIREXISTS")
    assert r("WEIR.CREATE", "f", "sbf memory=64K", "NX") is None
    assert r("WEIR.CREATE", "g", "sbf memory=64K", "nx") == "OK"
    refused(r, "WEIR.CREATE", "h", "sbf memory=64K", "XX", saying="ERR ")
    refused(r, "WEIR.CREATE", "h", "nothing memory=64K", saying="WEIRSPEC")
    refused(r, "WEIR.CREATE", "h", "sbf memory=2G", saying="WEIRMEMORY")
    refused(r, "WEIR.CREATE", "h", "sbf memory=64K" + " " * 600, saying="WEIRSPEC")
    refused(r, "WEIR.CREATE", "h", b"sbf\0memory=64K", saying="WEIRSPEC")
    assert r("EXISTS", "h") == 0
    r("SET", "s", "text")
    refused(r, "WEIR.CREATE", "s", "sbf memory=64K", saying="WRONGTYPE")
    for command in "OBSERVE", "ASK", "FORGET":
        refused(r, "WEIR." + command, "s", "a", saying="WRONGTYPE")


def test_observe_creates_from_the_default_spec(r):
    assert r("WEIR.OBSERVE", "f", "a", "a") == [0, 1]
    assert b"recent memory=1048576" in r("WEIR.INFO", "f", "spec")
    assert r("WEIR.ASK", "nothing", "a", "b") == [0, 0]
    refused(r, "WEIR.FORGET", "nothing", "a", saying="WEIRNOKEY")


def test_a_question_is_answered_as_of_the_last_record(r):
    r("WEIR.CREATE", "f", "recent memory=64K span=1s seed=1")
    r("WEIR.OBSERVE", "f", "AT", 1000, "a")
    time.sleep(0.01)
    assert r("WEIR.ASK", "f", "a") == [1], "however late it is: nothing was shown since"
    r("WEIR.OBSERVE", "f", "AT", 10000, "b")
    assert r("WEIR.ASK", "f", "a", "b") == [0, 1]


def test_the_time_of_the_records(r):
    r("WEIR.CREATE", "f", "recent memory=64K span=10s seed=1")
    assert r("WEIR.OBSERVE", "f", "AT", 1000, "a") == [0]
    assert r("WEIR.OBSERVE", "f", "AT", 10000, "a", "b") == [1, 0]
    assert r("WEIR.OBSERVE", "f", "AT", 60000, "a", "b") == [0, 0]
    for bad in "-1", "x", "1.5", "99999999999999999999":
        refused(r, "WEIR.OBSERVE", "f", "AT", bad, "a", saying="ERR invalid time after AT")
    refused(r, "WEIR.OBSERVE", "f", "AT", saying="ERR invalid time after AT")


def test_the_servers_clock(r):
    """Long after a short span, and however slow the machine is, within a long one."""
    for name, span, seen in ("short", "20ms", 0), ("long", "1h", 1):
        r("WEIR.CREATE", name, f"recent memory=64K span={span} seed=1")
        assert r("WEIR.OBSERVE", name, "a") == [0]
        time.sleep(0.1)
        assert r("WEIR.OBSERVE", name, "a") == [seen]


def test_weighted(r):
    r("WEIR.CREATE", "f", "recent memory=64 importance=1-100 width=8 seed=3")
    kept = dropped = 0
    for i in range(200):
        r("WEIR.OBSERVE", "f", "WEIGHTED", 100, f"much{i}", 1, f"little{i}", 1, f"small{i}")
        kept += r("WEIR.ASK", "f", f"much{i - 10}")[0]
        dropped += r("WEIR.ASK", "f", f"little{i - 10}")[0]
    assert kept > 2 * dropped + 20, (kept, dropped)
    for bad in (["x", "a"], ["1"], ["-1", "a"], ["4294967296", "a"], ["1", "a", "2"]):
        refused(r, "WEIR.OBSERVE", "f", "WEIGHTED", *bad, saying="importance")


def test_hashed(r):
    r("WEIR.CREATE", "f", EXACT)
    keys = [bytes([i]) * 7 + os.urandom(9) for i in range(50)]
    assert r("WEIR.OBSERVE", "f", "HASHED", *keys) == [0] * 50
    assert r("WEIR.OBSERVE", "f", "HASHED", *keys) == [1] * 50
    assert r("WEIR.ASK", "f", "HASHED", *keys) == [1] * 50
    assert r("WEIR.ASK", "f", *keys) == [0] * 50
    assert r("WEIR.OBSERVE", "f", "WEIGHTED", "HASHED", 1, keys[0], 7, keys[1]) == [1, 1]
    refused(r, "WEIR.OBSERVE", "f", "HASHED", b"short", saying="16 bytes")
    refused(r, "WEIR.OBSERVE", "f", "HASHED", keys[0], b"short", saying="16 bytes")


def test_items_that_look_like_options(r):
    r("WEIR.CREATE", "f", EXACT)
    assert r("WEIR.OBSERVE", "f", "ITEMS", "AT", "ONCE", "ITEMS") == [0, 0, 0]
    assert r("WEIR.ASK", "f", "ITEMS", "ITEMS", "HASHED", "AT") == [1, 0, 1]
    refused(r, "WEIR.OBSERVE", "f", "ITEMS", saying="no item")
    refused(r, "WEIR.ASK", "f", "HASHED", saying="no item")


def test_forget(r):
    r("WEIR.CREATE", "f", "counting memory=64K seed=1")
    r("WEIR.OBSERVE", "f", "a", "b", "b")
    assert r("WEIR.FORGET", "f", "a", "b", "c") == [1, 1, 0]
    assert r("WEIR.ASK", "f", "a", "b") == [0, 1]
    r("WEIR.CREATE", "g", "sbf memory=64K")
    refused(r, "WEIR.FORGET", "g", "a", saying="WEIRUNSUPPORTED")


def test_merge(r):
    for i, key in enumerate("abc"):
        r("WEIR.CREATE", key, EXACT)
        r("WEIR.OBSERVE", key, key, f"all{i}")
    assert r("WEIR.MERGE", "a", 2, "b", "c") == "OK"
    assert r("WEIR.ASK", "a", "a", "b", "c", "all0", "all1", "all2", "d") == [1] * 6 + [0]
    assert r("WEIR.ASK", "b", "a", "c") == [0, 0]
    assert r("WEIR.MERGE", "new", 2, "b", "c") == "OK"
    assert r("WEIR.ASK", "new", "a", "b", "c") == [0, 1, 1]
    assert r("WEIR.MERGE", "b", 1, "b") == "OK"
    r("WEIR.CREATE", "other", "bloom memory=1M k=8 seed=2")
    before = r("DEBUG", "DIGEST-VALUE", "a")
    refused(r, "WEIR.MERGE", "a", 2, "b", "other", saying="WEIRMISMATCH")
    refused(r, "WEIR.MERGE", "a", 2, "b", "nothing", saying="WEIRNOKEY")
    refused(r, "WEIR.MERGE", "a", 3, "b", "c", saying="ERR the number of sources")
    refused(r, "WEIR.MERGE", "a", 0, "b", saying="ERR the number of sources")
    refused(r, "WEIR.MERGE", "a", "x", "b", saying="ERR the number of sources")
    r("SET", "s", "text")
    refused(r, "WEIR.MERGE", "a", 2, "b", "s", saying="WRONGTYPE")
    assert r("DEBUG", "DIGEST-VALUE", "a") == before


def test_info(r, r3):
    r("WEIR.CREATE", "f", EXACT)
    r("WEIR.OBSERVE", "f", "a", "b", "a")
    flat = r("WEIR.INFO", "f")
    told = dict(zip(flat[::2], flat[1::2]))
    assert told["observed"] == 3 and told["seen"] == 1 and told["new"] == 2
    assert told["memory"] == 1 << 20 and told["dump"] == b"possible" and told["protocol"] == 1
    assert b"bloom memory=1048576" in told["spec"] and b"seed=1" in told["spec"]
    assert r3("WEIR.INFO", "f")["observed"] == 3
    assert 0 < r3("WEIR.INFO", "f", "FILL") < 1e-4
    refused(r, "WEIR.INFO", "f", "colour", saying="ERR unknown field")
    refused(r, "WEIR.INFO", "g", saying="WEIRNOKEY")


def test_info_without_a_key_reports_the_protocol(r, r3):
    assert r("WEIR.INFO")[:3] == ["protocol", 1, "version"]
    told = r3("WEIR.INFO")
    assert told["protocol"] == 1 and re.fullmatch(rb"\d+\.\d+\.\d+\S*", told["version"])


def test_without_create_a_key_must_be_there(r):
    refused(r, "WEIR.OBSERVE", "f", "NOCREATE", "a", saying="WEIRNOKEY")
    assert r("EXISTS", "f") == 0
    r("WEIR.CREATE", "f", "recent memory=64K seed=1")
    assert r("WEIR.OBSERVE", "f", "NOCREATE", "a", "a") == [0, 1]


def test_items_may_have_a_time_each(r):
    """The same result as one command per item."""
    for key in "one", "each":
        r("WEIR.CREATE", key, "recent memory=64K span=1m seed=1")
    shown = [(1000 + 7000 * i, f"k{i * i % 11}") for i in range(60)]
    assert r("WEIR.OBSERVE", "one", "AT", 0) == [] and r("WEIR.OBSERVE", "each", "AT", 0) == []
    each = [r("WEIR.OBSERVE", "each", "AT", time, item)[0] for time, item in shown]
    assert r("WEIR.OBSERVE", "one", "TIMED", *[word for pair in shown for word in pair]) == each
    assert 0 < sum(each) < 49, "some are forgotten"
    weighted = r("WEIR.OBSERVE", "one", "TIMED", "WEIGHTED", 10**6, 5, "new", 10**6, 7, "new")
    assert weighted == [0, 1]
    refused(r, "WEIR.OBSERVE", "one", "TIMED", 1, "a", 2, saying="a time before each")
    refused(r, "WEIR.OBSERVE", "one", "TIMED", "now", "a", saying="ERR invalid time")
    refused(r, "WEIR.OBSERVE", "one", "TIMED", saying="no item")


def test_items_may_have_a_ttl(r):
    """One TTL for all, or one each; with times and importances."""
    for key in "one", "each", "all":
        r("WEIR.CREATE", key, "recent memory=64K ttl=1m-2h importance=1-50 seed=1")
    shown = [(1000 + 7000 * i, 60000 + 3000 * (i * 7 % 20), 1 + i % 50, f"k{i * i % 11}") for i in range(60)]
    each = [r("WEIR.OBSERVE", "each", "AT", time, "TTL", ttl, "WEIGHTED", weight, item)[0]
            for time, ttl, weight, item in shown]
    words = [word for row in shown for word in row]
    assert r("WEIR.OBSERVE", "one", "TIMED", "TTLS", "WEIGHTED", *words) == each
    assert 0 < sum(each) < 60 - 6, "some of the 6 keys expire"
    assert r("WEIR.INFO", "one", "OBSERVED") == r("WEIR.INFO", "each", "OBSERVED")
    assert r("WEIR.OBSERVE", "all", "AT", 1000, "TTL", 60000, "WEIGHTED", 5, "a", 7, "b") == [0, 0]
    assert r("WEIR.OBSERVE", "all", "AT", 46000, "TTLS", "WEIGHTED", 0, 5, "a", 0, 7, "b") == [1, 1]
    assert r("WEIR.OBSERVE", "all", "AT", 61000, "TTLS", "WEIGHTED", 0, 5, "a", 0, 7, "b") == [0, 0]
    assert r("WEIR.OBSERVE", "all", "WEIGHTED", 5, "a", 5, "a") == [0, 1]


def test_wrong_ttls_are_refused_and_change_nothing(r):
    r("WEIR.CREATE", "f", "recent memory=64K ttl=1m-2h seed=1")
    r("WEIR.CREATE", "g", "recent memory=64K span=1m seed=1")
    before = r("DUMP", "f"), r("DUMP", "g")
    refused(r, "WEIR.OBSERVE", "f", "TTL", "soon", "a", saying="ERR invalid time after TTL")
    refused(r, "WEIR.OBSERVE", "f", "TTL", -1, "a", saying="ERR invalid time after TTL")
    refused(r, "WEIR.OBSERVE", "f", "TTLS", 1, "a", "soon", "b", saying="ERR invalid TTL")
    refused(r, "WEIR.OBSERVE", "f", "TTLS", 1, "a", 2, saying="TTLS needs a TTL before each item")
    refused(r, "WEIR.OBSERVE", "f", "TTL", 1, "TTLS", 1, "a", saying="exclude each other")
    refused(r, "WEIR.OBSERVE", "g", "TTL", 1, "a", saying="WEIRUNSUPPORTED the filter has no TTLs")
    refused(r, "WEIR.OBSERVE", "none", "TTLS", 1, "a", saying="WEIRUNSUPPORTED the filter has no TTLs")
    assert (r("DUMP", "f"), r("DUMP", "g")) == before and r("EXISTS", "none") == 0


# ---- ONCE ----

def test_a_retry_gets_the_first_answer_and_changes_nothing(r):
    r("WEIR.CREATE", "f", EXACT)
    first = r("WEIR.OBSERVE", "f", "ONCE", "p", 1, "a", "b", "a")
    assert first == [0, 0, 1]
    digest = r("DEBUG", "DIGEST-VALUE", "f")
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 1, "a", "b", "a") == first
    assert r("DEBUG", "DIGEST-VALUE", "f") == digest
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 2, "a", "b", "a") == [1, 1, 1]
    assert r("WEIR.OBSERVE", "f", "ONCE", "q", 1, "a", "c") == [1, 0]
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", 1, "a", "b", saying="WEIRREUSED")
    assert r("WEIR.INFO", "f", "producers") == 2


def test_a_number_whose_answer_is_gone_is_never_applied(r):
    r("WEIR.CREATE", "f", EXACT)
    for i in range(100, 120):
        assert r("WEIR.OBSERVE", "f", "ONCE", "p", i, f"x{i}") == [0]
    for i in range(104, 120):
        assert r("WEIR.OBSERVE", "f", "ONCE", "p", i, f"x{i}") == [0]
    shown = r("WEIR.INFO", "f", "observed")
    for i in range(100, 104):
        refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", i, f"x{i}", saying="WEIRGONE 119 ")
    assert r("WEIR.INFO", "f", "observed") == shown
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 200, "y") == [0]
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 150, "z") == [0], "late, but never applied before"
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 150, "z") == [0]


def test_more_producers_than_are_remembered(r):
    r("WEIR.CREATE", "f", EXACT)
    r.pipeline([["WEIR.OBSERVE", "f", "ONCE", f"p{i}", 7, f"x{i}"] for i in range(1024)])
    assert r("WEIR.OBSERVE", "f", "ONCE", "p0", 7, "x0") == [0]
    assert r("WEIR.OBSERVE", "f", "ONCE", "late", 3, "late") == [0]
    assert r("WEIR.INFO", "f", "producers") == 1024
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p0", 7, "x0", saying="WEIRGONE 7 ")
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "later", 7, "x", saying="WEIRGONE 7 ")
    assert r("WEIR.OBSERVE", "f", "ONCE", "later", 8, "later") == [0]


def test_no_number_of_a_dropped_producer_is_applied_again(r):
    """Old numbers of an evicted producer are rejected, also 0, and also after a newer number was accepted."""
    r("WEIR.CREATE", "f", EXACT)
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 0, "x") == [0]
    r.pipeline([["WEIR.OBSERVE", "f", "ONCE", f"p{i}", 0, f"x{i}"] for i in range(1024)])
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", 0, "x", saying="WEIRGONE 0 ")
    r("DEBUG", "RELOAD")
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", 0, "x", saying="WEIRGONE 0 ")
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 9, "y") == [0]
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 8, "z") == [0], "late, but never applied before"
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", 0, "x", saying="WEIRGONE")
    shown = r("WEIR.INFO", "f", "observed")
    assert shown == 1027
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", (1 << 64) - 1, "x", saying="at most")


def test_limits_of_once(r):
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", "x", "a", saying="ERR ONCE needs")
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", saying="ERR ONCE needs")
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p" * 257, 1, "a", saying="256")
    refused(r, "WEIR.OBSERVE", "f", "ONCE", "p", 1, *items(8193), saying="8192")
    assert r("EXISTS", "f") == 0
    assert r("WEIR.OBSERVE", "f", "ONCE", "p", 1, *items(8192)) == \
        r("WEIR.OBSERVE", "f", "ONCE", "p", 1, *items(8192))
