"""--key-as compares keys in a canonical form and passes records unchanged. A value that cannot be parsed is its own key,
and is counted."""
import json
import random
import string
import unicodedata

import pytest

from conftest import EXACT, refused, run

URLS = [  # canonical form, then other spellings of it
    ["http://example.com/", "http://Example.COM", "HTTP://example.com:80/", "http://example.com./", "http://example.com:/#top",
     "http://example.com/a/..", "http://example.com/./%2E%2e/../", "http://example.com?", "http://%65xample.com/?&&",
     "http://example.com/?utm_source=x&UTM_Medium=y&gclid=1&utm%5Fid=2"],
    ["https://example.com:80/", "https://example.com:080/"], ["https://example.com/", "https://example.com:443"],
    ["ftp://example.com/", "ftp://example.com:21"], ["http://example.com:65535/"],
    ["http://example.com/a/b", "http://example.com/a/./c/../b"], ["http://example.com/a/b/", "http://example.com/a/b/c/.."],
    ["http://example.com/a//b"], ["http://example.com/A"], ["http://example.com/.../a"],
    ["http://u:P%40@example.com/", "http://u:P%40@EXAMPLE.com:80"], ["http://@@example.com/x".replace("@@", "%40@"), "http://%40@example.com/./x"],
    ["http://example.com/~a%2F%C3%A9%20", "http://example.com/%7ea%2f%c3%a9%20", "http://example.com/~a%2fé "],
    ["http://example.com/%25zz%25", "http://example.com/%zz%"],
    ["http://example.com/?a=2&a=1&b&c=%26", "http://example.com/?c=%26&b&a=2&fbclid=x&a=1&_ga=3"],
    ["http://example.com/?gcli=1&gclidx=2&utm=3"], ["http://example.com/?a="], ["http://example.com/?a"],
    ["http://[2001:db8::1]/", "http://[2001:DB8:0:0::1]:80"], ["http://[2001:db8::1]:8080/"],
    ["http://[fe80::1%25eth0]/", "http://[FE80::0:1%25eth0]:80/", "http://[FE80::1%eth0]"],
    ["http://192.0.2.1/", "http://[::ffff:192.0.2.1]"], ["http://xn--bcher-kva.example/", "http://bücher.example", "http://B%C3%9CCHER.example", "http://bu\u0308cher.example"],
    ["file:///b", "FILE:///a/../b"], ["a+b.c-1://h/", "A+b.C-1://H"],
]
NO_URLS = ["", " ", "x", "example.com", "/a", "//example.com/", "mailto:a@example.com", "http:", "http://", "http:///a", "http://?a", "http://a b/",
           "http://a:1x/", "http://a:65536/", "http://a:99999999999999999999/", "http://[::1", "http://[::1]x/", "http://[::g]/", "http://[1.2.3.4]/",
           "http://[fe80::1%25]/", "http://a..b/", "http://.a/", "http://" + "a" * 64 + ".com/", "http://" + "a.b" * 90 + "/", "http://%00/", "http://a%4/",
           "http://a\x7f/", "1http://a/", "_h://a/", " http://a/"]
HOSTS = [
    ["example.com", "http://u@EXAMPLE.com:1/a?b#c", "Example.com.", "a:b@example.com:80", "//example.com/x", "example.com/a@b", "mailto:x@example.com"],
    ["localhost", "LOCALHOST:8080"], ["my_host", "http://my_host/"], ["192.0.2.1", "http://192.0.2.1:80", "::ffff:192.0.2.1"],
    ["2001:db8::1", "[2001:DB8::1]:80", "2001:db8:0::1", "http://[2001:db8::1]/"], ["fe80::1%eth0", "http://[fe80::1%25eth0]/"],
]
DOMAINS = [
    ["example.co.uk", "http://a.b.Example.co.uk/x", "example.co.uk.", "x@mail.example.co.uk"], ["co.uk", "http://co.uk/"], ["localhost"],
    ["a.github.io", "https://x.a.github.io"], ["192.0.2.1", "http://192.0.2.1/"], ["b.unknown-tld", "a.b.unknown-tld"],
    ["xn--bcher-kva.com", "http://www.bücher.com"], ["xn--85x722f.xn--55qx5d.cn", "www.食狮.公司.cn"],
]
ADDRESSES = [
    ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201"], ["2001:db8::1", "2001:0DB8:0:0:0:0:0:1", "[2001:db8::1]"], ["::"], ["::1", "0:0:0:0:0:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8::1:1:1:1:1"], ["fe80::1%eth0", "FE80:0::1%eth0"], ["fe80::1%eth1"],
]
NO_ADDRESSES = ["", "x", "1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4:80", "1::2::3", "::g", "::1%", "::1%a b", "1" * 300, "[]", "1.2.3.4/8"]
TEXTS = [["é", "e\u0301"], ["Å", "\u212b", "A\u030a"], ["각", "\u1100\u1161\u11a8"], ["q\u0323\u0307", "q\u0307\u0323"], ["ﬁ"], ["abc"], [""]]
MARKS = "a" + "\u0301\u0323" * 16
CASES = {"url": (URLS, NO_URLS), "host": (HOSTS, ["", "not a host", "http:///", "a..b", "C:\\x"]), "domain": (DOMAINS, ["", "a b", "."]),
         "ip": (ADDRESSES, NO_ADDRESSES), "nfc": (TEXTS, [MARKS])}


def keys(records, *options):
    out = run("dedup", *EXACT, "-q", "-z", "--emit", "all", "--format", "json", *options, input=b"".join(r + b"\0" for r in records)).out
    return [json.loads(line)["key"].encode(errors="surrogateescape") for line in out.splitlines()]


@pytest.mark.parametrize("name", CASES)
def test_spellings_have_one_key_and_others_are_unchanged(name):
    groups, unparsed = CASES[name]
    for group in groups:
        for text, key in zip(group, keys([t.encode() for t in group], "--key-as", name)):
            assert key.decode() == group[0], text
    assert keys([t.encode() for t in unparsed], "--key-as", name) == [t.encode() for t in unparsed]
    spellings = [t for group in groups for t in group]
    assert len(set(keys([t.encode() for t in spellings], "--key-as", name))) == len(groups)
    figures = json.loads(run("dedup", *EXACT, "-z", "--key-as", name, "--stats", "json", input="\0".join(spellings + unparsed) + "\0").err)
    assert (figures["unparsed"], figures["passed"], figures["skipped"]) == (len(unparsed), len(groups) + len(set(unparsed)), 0)


@pytest.mark.parametrize("name", CASES)
def test_bytes_of_any_kind_and_length(name):
    """Keys are stable: the transform of a key is the key."""
    draw = random.Random(name)
    alphabet = [*(b":/?#[]@%.&=-1aZ\x01\x1f \x80\xc3\xa9\xcc\x81\xff"[i:i + 1] for i in range(27)), b"http://", b"..", b"%2e", b"%c3%a9", b"utm_x=", "é".encode()]
    values = [b"".join(draw.choices(alphabet, k=draw.randrange(30))) for _ in range(3000)]
    values += [b"http://h/?" + b"&".join(b"%d=%d" % (draw.randrange(9), i) for i in range(20)) for _ in range(50)]
    values += [b"http://h/" + b"a/../" * 100000, b"http://h/?" + b"b&a&" * 100000, b"http://" + b"%41" * 100000, b"http://h/" + b"\xff" * 100000,
               b"1" * 100000, b"e\xcc\x81" * 50000, b"\xcc\x81\xcc\xa3" * 100000]
    once = keys(values, "--key-as", name)
    assert keys(once, "--key-as", name) == once
    if name == "nfc":
        for value, key in zip(values[:-1], once):
            try:
                assert key.decode() == unicodedata.normalize("NFC", value.decode())
            except UnicodeDecodeError:
                assert key == value
    if name == "url":
        assert once[-7] == b"http://h/" and once[-6].count(b"a&b") == 1 and once[-4] == b"http://h/" + b"%FF" * 100000


@pytest.mark.parametrize("options,row", [
    ([], "{}"), (["-k", "1"], "{} x"), (["--csv", "-k", "2"], 'x,"{}"'), (["--tsv", "-k", "u,n"], "{}\tx"), (["--jsonl", "-k", "/u"], '{{"n":1,"u":"{}"}}'),
    (["-d;", "-k", "1,2", "--ignore-case"], "{};{}"), (["--csv", "-k", "1", "--ignore-space"], " {} ,x"), (["--csv", "-k", "1", "-i", "2"], "{},1"),
])
def test_every_format_passes_records_unchanged(options, row):
    texts = [["http://Example.com/?b=1&a=2", "http://example.com?a=2&b=1#x"], ["https://example.com/%e9", "https://example.com:443/%E9"]]
    rows = [row.format(t, t) + "\r\n" for group in texts for t in group]
    header = "u\tn\r\n" if "u,n" in options else ""
    if "-i" in options:
        options = ["-a", "recent", "-S", "importance=1-9", "-m", "1M", "--seed", "1", *options]
    else:
        options = [*EXACT, *options]
    assert run("dedup", *options, "--key-as", "url", input=header + "".join(rows)).out.decode() == header + rows[0] + rows[2]


def test_nul_ends_no_value():
    """A JSON string can contain NUL; C functions behind the transforms would stop there."""
    for value in ("1.2.3.4\\u0000", "http://h/\\u0000", "http://h%00/", "h\\u0000.com", "é\\u0000e\\u0301"):
        for name, key in {"url": "http://h/%00", "nfc": "é\0é"}.items():
            record = '{"u":"%s"}\n' % value
            out = json.loads(run("dedup", *EXACT, "-k", "/u", "--key-as", name, "--format", "json", input=record).out)["key"]
            assert out in (key, json.loads(record)["u"])
    for name in ("ip", "host", "domain"):
        refused("dedup", *EXACT, "-k", "/u", "--key-as", name, "--on-error", "stop", input='{"u":"1.2.3.4\\u0000"}\n', saying="cannot parse")


def test_transforms_apply_in_order_to_each_field():
    assert keys([b"http://www.EXAMPLE.co.uk/", b"http://[2001:DB8::1]/"], "--key-as", "host,domain,ip") == [b"example.co.uk", b"2001:db8::1"]
    text = "A.example.org/x,::ffff:192.0.2.1\nwww.example.org,192.0.2.1\n"
    out = run("dedup", *EXACT, "--csv", "-k", "1,2", "--key-as", "domain", "--emit", "all", "--format", "json", input=text).lines
    assert [json.loads(line)["key"] for line in out] == [["example.org", "192.0.2.1"]] * 2
    refused("dedup", "--key-as", "url,urls", input="a\n", saying=["'urls' is not a transform", "url, host, domain, nfc or ip"])
    for names in ["", "url,", ",", "URL", ",".join(["nfc"] * 9)]:
        refused("dedup", "--key-as", names, input="a\n", saying="--key-as")


def test_values_that_cannot_be_parsed():
    text = "http://a/\nx\nHTTP://a\ny\nx\n"
    result = run("dedup", *EXACT, "--key-as", "url", input=text)
    assert result.lines == ["http://a/", "x", "y"] and "3 values could not be parsed by --key-as and were used unchanged" in result.err
    assert "3 values not parsed by --key-as" in run("dedup", *EXACT, "--key-as", "url", "--stats", "text", input=text).err
    stopped = run("dedup", *EXACT, "--key-as", "url", "--on-error", "stop", input=text, ok=False)
    assert stopped.status == 2 and stopped.lines == ["http://a/"] and "line 2: --key-as url cannot parse 'x'" in stopped.err
    for options in ([], ["-k", "1,1"]):
        skipped = run("dedup", *EXACT, *options, "--key-as", "url", "--on-error", "skip", "--stats", "json", input=text)
        figures = json.loads(skipped.err)
        assert skipped.lines == ["http://a/"] and (figures["skipped"], figures["unparsed"]) == (3, 0)


def test_files_and_states_with_other_transforms_are_refused(here):
    (here / "list").write_text("http://A/\t1\r\nhttp://b/?\t1\r\n")
    (here / "in").write_text("http://a,1\nhttp://B#x,1\nhttp://c,1\nhttp://b,2\n")
    made = ["--csv", "-k", "1,2", "--key-as", "url"]
    hits = ["http://a,1", "http://B#x,1"]
    run("build", "-q", "--tsv", "-k", "1,2", "--key-as", "url", "-m", "4K", "--seed", "1", "-o", "f", "list")
    assert json.loads(run("info", "--format", "json", "f").out)["keys"] == "2 fields --key-as url"
    assert run("filter", "f", *made, "in").lines == hits
    for more in ([], ["--ignore-case"], ["--ignore-space"]):
        assert run("filter", "--keys", "list", "--strict", "list", *made, *more, "in").lines == hits, more
        assert run("check", "-q", "--store", "keys:list", *made, *more, "in").lines == hits, more
    for others in (["--csv", "-k", "1,2"], ["--csv", "-k", "1,2", "--key-as", "url,host"]):
        refused("ask", "f", *others, "in", saying=["2 fields --key-as url, now with", "--keys-differ"])
    run("dedup", "-q", "--state", "s", "-m", "4K", *made, "in")
    refused("dedup", "--state", "s", "-m", "4K", *made[:-2], "in", saying="s")
    refused("dedup", "--state", "s", "-m", "4K", *made[:-1], "host", "in", saying="s")
    assert run("dedup", "-q", "--state", "s", "-m", "4K", *made, "in").lines == []


def test_explain_shows_the_key():
    out = run("dedup", "--explain", "--key-as", "url", input="HTTP://A?b&a\n").lines
    assert "key: whole record, as url" in out and any("http://a/?a&b" in line for line in out)
