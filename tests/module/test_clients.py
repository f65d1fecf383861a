"""Public clients work unchanged: Debian's python3-redis and node-redis."""
import os
import pathlib
import shutil
import subprocess

import pytest

redis = pytest.importorskip("redis", reason="python3-redis is not here; scripts/setup test installs it")


@pytest.fixture
def client(server, r):
    connected = redis.Redis(port=server.port, decode_responses=True)
    yield connected
    connected.close()


def test_the_module_has_the_name_that_clients_look_for(start):
    server = start("NAME", "bf")
    loaded = redis.Redis(port=server.port, decode_responses=True).module_list()
    assert [m["name"] for m in loaded] == ["bf"]


def test_bloom_filters(client):
    bf = client.bf()
    assert bf.create("bloom", 0.01, 1000)
    assert bf.create("expansion", 0.01, 1000, expansion=1)
    assert bf.create("fixed", 0.01, 1000, noScale=True)
    assert bf.add("bloom", "foo") == 1 and bf.add("bloom", "foo") == 0
    assert bf.madd("bloom", "foo", "bar") == [0, 1]
    assert bf.exists("bloom", "foo") == 1 and bf.exists("bloom", "none") == 0
    assert bf.mexists("bloom", "foo", "none") == [1, 0]
    assert bf.insert("captest", ["foo"], capacity=10, error=0.1, noCreate=None, expansion=None, noScale=None) == [1]
    info = bf.info("bloom")
    assert info.insertedNum == 2 and info.filterNum == 1 and info.capacity == 1000 and info.expansionRate == 2
    with pytest.raises(redis.ResponseError):
        bf.create("expansion2", 0.01, 1000, expansion=2, noScale=True)


def test_a_bloom_filter_is_dumped_and_loaded(client, server):
    """With a client that does not decode: chunks are bytes."""
    binary = redis.Redis(port=server.port)
    bf = binary.bf()
    bf.create("myBloom", "0.0001", "1000")
    for x in range(1000):
        bf.add("myBloom", x)
    chunks = []
    current = bf.scandump("myBloom", 0)
    while current[0] != 0:
        chunks.append(current)
        current = bf.scandump("myBloom", current[0])
    before = binary.execute_command("bf.debug", "myBloom")
    binary.delete("myBloom")
    for chunk in chunks:
        bf.loadchunk("myBloom", *chunk)
    assert binary.execute_command("bf.debug", "myBloom") == before
    assert all(bf.exists("myBloom", x) for x in range(1000))


def test_cuckoo_filters(client):
    cf = client.cf()
    assert cf.create("cuckoo", 1000) and cf.create("cuckoo_e", 1000, expansion=1)
    assert cf.create("cuckoo_bs", 1000, bucket_size=4) and cf.create("cuckoo_mi", 1000, max_iterations=10)
    assert cf.add("cuckoo", "filter") and not cf.addnx("cuckoo", "filter") and cf.addnx("cuckoo", "newItem")
    assert cf.insert("captest", ["foo"]) == [1] and cf.insert("captest", ["foo"], capacity=1000) == [1]
    assert cf.insertnx("captest", ["bar"]) == [1] and cf.insertnx("captest", ["food"], nocreate="1") == [1]
    assert cf.insertnx("captest", ["foo", "bar", "baz"]) == [0, 0, 1]
    info = cf.info("captest")
    assert info.insertedNum == 5 and info.deletedNum == 0 and info.filterNum == 1
    assert cf.exists("cuckoo", "filter") and not cf.exists("cuckoo", "notexist")
    assert cf.count("cuckoo", "filter") == 1 and cf.delete("cuckoo", "filter") and cf.count("cuckoo", "filter") == 0


def test_counts(client):
    cms = client.cms()
    assert cms.initbydim("dim", 1000, 5) and cms.initbyprob("prob", 0.01, 0.01)
    assert cms.incrby("dim", ["foo"], [5]) == [5]
    assert cms.incrby("dim", ["foo", "bar"], [5, 15]) == [10, 15]
    assert cms.query("dim", "foo", "bar") == [10, 15]
    info = cms.info("dim")
    assert (info.width, info.depth, info.count) == (1000, 5, 25)
    for key in "ABC":
        cms.initbydim(key, 1000, 5)
    cms.incrby("A", ["foo", "bar", "baz"], [5, 3, 9])
    cms.incrby("B", ["foo", "bar", "baz"], [2, 3, 1])
    assert cms.merge("C", 2, ["A", "B"])
    assert cms.query("C", "foo", "bar", "baz") == [7, 6, 10]
    assert cms.merge("C", 2, ["A", "B"], ["1", "2"])
    assert cms.query("C", "foo", "bar", "baz") == [9, 9, 11]


def test_top(client):
    topk = client.topk()
    assert topk.reserve("topk", 3, 1000, 4, 0.9)
    assert topk.add("topk", *"ABCDEAABCGDBDAEE1") == \
        [None, None, None, "A", "C", "D", None, None, "E", None, "B", "C", None, None, None, "D", None]
    assert topk.query("topk", *"ABCDEFG") == [1, 1, 0, 0, 1, 0, 0]
    assert topk.list("topk") == ["A", "B", "E"]
    assert topk.list("topk", withcount=True) == ["A", 4, "B", 3, "E", 3]
    assert topk.incrby("topk", ["bar", "baz"], [3, 6]) == ["B", "E"]
    info = topk.info("topk")
    assert (info.k, info.width, info.depth, round(float(info.decay), 1)) == (3, 1000, 4, .9)


def test_node(server, r):
    if not shutil.which("node") or not pathlib.Path("/usr/share/nodejs/@redis/bloom").is_dir():
        pytest.skip("node-redis is not here; scripts/setup test installs it")
    script = pathlib.Path(__file__).with_name("clients.js")
    done = subprocess.run(["node", script, str(server.port)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
    assert done.returncode == 0, done.stderr
