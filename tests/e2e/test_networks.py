"""--cidr: sets of IP networks. An address is a member if a listed network contains it: compared with Python's ipaddress."""
import ipaddress
import json
import random

import pytest

from conftest import refused, run

MAPPED = ipaddress.ip_network("::ffff:0:0/96")


def parsed(text):
    """The network of a line, ::ffff:a.b.c.d/n as IPv4; None if it is none. Unlike here, Python accepts zones and /08."""
    if "%" in text or "/0" in text and not text.strip().endswith("/0"):
        return None
    try:
        n = ipaddress.ip_network(text.strip(" \t").removeprefix("[").removesuffix("]"), strict=False)
    except ValueError:
        return None
    if n.version == 6 and n.subnet_of(MAPPED):
        n = ipaddress.ip_network((int(n.network_address) & 0xffffffff, n.prefixlen - 96))
    return n


class Trie:
    """The exact set: the listed networks by family, length and prefix."""

    def __init__(self, texts):
        networks = [parsed(t) for t in texts]
        self.prefixes = {(n.version, n.prefixlen, int(n.network_address) >> (n.max_prefixlen - n.prefixlen)) for n in networks if n}

    def contains(self, text):
        n = parsed(text)
        address, top = int(n.network_address), n.max_prefixlen
        return any((n.version, bits, address >> (top - bits)) in self.prefixes for bits in range(n.prefixlen + 1))


def networks_and_addresses(seed, networks, addresses):
    """Nested, with host bits, of all lengths; addresses in and near them."""
    draw = random.Random(seed)
    listed, asked = [], []
    for _ in range(networks):
        six = draw.random() < 0.4
        if listed and draw.random() < 0.3 and (inside := parsed(draw.choice(listed))):  # nested in an earlier one
            six, base = inside.version == 6, int(inside.network_address) | draw.getrandbits(inside.max_prefixlen - inside.prefixlen or 1)
            bits = draw.randint(inside.prefixlen, inside.max_prefixlen)
        else:
            base = draw.getrandbits(128) if six else draw.getrandbits(32)
            bits = draw.choice([32, 48, 56, 64, 128, draw.randint(8, 128)]) if six else draw.choice([16, 22, 24, 32, draw.randint(5, 32)])
        address = (ipaddress.IPv6Address if six else ipaddress.IPv4Address)(base % (1 << (128 if six else 32)))
        bare = bits == (128 if six else 32) and draw.random() < 0.5
        listed.append(f"{address}" if bare else f"{address}/{bits}")
    for _ in range(addresses):
        n = parsed(draw.choice(listed))
        first, last = int(n.network_address), int(n.broadcast_address)
        number = draw.choice([first, last, first - 1, last + 1, draw.randint(first, last), draw.getrandbits(n.max_prefixlen)])
        address = (ipaddress.IPv4Address if n.version == 4 else ipaddress.IPv6Address)(number % (1 << n.max_prefixlen))
        text = str(address)
        if n.version == 4 and draw.random() < 0.1:
            text = f"::ffff:{text}"
        elif n.version == 6 and draw.random() < 0.2:
            text = address.exploded.upper()
        elif draw.random() < 0.1:
            text = f"{text}/{draw.randint(0, n.max_prefixlen)}"
        asked.append(text)
    return listed, asked


@pytest.mark.parametrize("options", [[], ["--fixed"], ["-a", "cuckoo", "-m", "1M"], ["--fixed", "-j", "3"], ["-e", "1e-8", "-j", "2"]])
def test_no_member_is_missed_and_strict_is_exact(here, options):
    listed, asked = networks_and_addresses(f"{options}", 2000, 10000)
    (here / "list").write_text("\n".join(listed) + "\n")
    (here / "asked").write_text("\n".join(asked) + "\n")
    exact = Trie(listed)
    members = [a for a in asked if exact.contains(a)]
    assert 0.2 < len(members) / len(asked) < 0.9
    run("build", "-q", "--cidr", "--seed", "1", *options, "-o", "F", "list")
    for threads in "1", "3":
        passed = run("filter", "F", "asked", "-q", "-j", threads).lines
        extra = len(passed) - len(members)
        assert set(members) <= set(passed) and 0 <= extra <= 0.002 * len(asked)  # the rate is that of an address: 0.1 %
        assert run("filter", "--strict", "list", "F", "asked", "-q", "-j", threads).lines == members
    assert run("check", "--cidr", "--store", "list", "asked", "-q").lines == members
    assert run("check", "--cidr", "--store", "list", "--screen", "cache", "asked", "-q").lines == members
    answers = run("ask", "F", "asked", "-q", "--words", "NO,YES", "--stats", "none", ok=False)
    assert answers.status in (0, 1)
    answers = [line.split("\t") for line in run("ask", "F", "asked", "--stats", "none").lines]
    assert [a for _, a in answers] == asked and [a for word, a in answers if word == "seen"] == passed
    if "-m" not in options:
        assert run("filter", "-q", "--cidr", "--keys", "list", "--seed", "1", *(o for o in options if o != "--fixed"), "--strict", "list", "asked").lines == members


@pytest.mark.parametrize("text", [
    "0.0.0.0/0", "255.255.255.255/32", "10.0.0.0/8", "1.2.3.4/0", "::/0", "::1", "2001:DB8::/32", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "::ffff:1.2.3.4",
    "::ffff:1.2.3.4/97", "::ffff:0:0/96", "::ffff:0:0/95", "[::1]", " 10.1.2.3/9\t", "2001:db8::1/127", "2001:db8::1/1", "::1.2.3.4/120",
    "", " ", "x", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/08", "1.2.3.4/-1", "1.2.3.4/+1", "1.2.3.4/1x", "1.2.3.4//8",
    "1.2.3.4/255.0.0.1", "::/129", "::/1280", ":::", "1::2::3", "fe80::1%eth0", "::g", "1.2.3.4:80", "/8", "1.2.3.4-1.2.3.9", "1.2.3.4/8/8", "a" * 200, "::1\0", "1.2.3.4\0",
])
def test_one_network(here, text):
    """The set has the addresses of the network and no other. Other text is malformed, in a list and in a record."""
    n = parsed(text)
    if n is None:
        if "\0" not in text:
            refused("build", "--cidr", "-o", "F", input=text + "\n", saying="is not an IP address or network")
        record = json.dumps({"ip": text}) + "\n"
        refused("build", "--cidr", "-o", "F", "-k", "/ip", input=record, saying="is not an IP address or network")
        return
    assert run("build", "-q", "--cidr", "--fixed", "--seed", "1", "-e", "1e-7", "-o", "F", input=text + "\n").err == ""
    top, first, last = 1 << n.max_prefixlen, int(n.network_address), int(n.broadcast_address)
    asked = [str(type(n.network_address)(a % top)) for a in (first, last, first - 1, last + 1)] + [str(n), "::", "9.9.9.9", "0.0.0.0/0", "::/0"]
    asked += [str(n.supernet())] if n.prefixlen else []
    exact = Trie([text])
    assert exact.contains(asked[0])
    assert run("filter", "F", input="\n".join(asked) + "\n").lines == [a for a in asked if exact.contains(a)]


def test_host_bits_and_malformed_lines_are_counted(here):
    (here / "list").write_text("# comment\n10.1.2.3/8\n\n10.0.0.0/8\n2001:db8::1/32\n1.2.3.4 ; note\n5.6.7.8\n")
    refused("build", "--cidr", "-o", "F", "list", saying=["list, line 1: '# comment' is not an IP address or network"])
    assert not (here / "F").exists()
    built = run("build", "--cidr", "--on-error", "skip", "-o", "F", "list")
    assert built.err == ("weir: 3 of 7 records skipped, first at line 1\n"
                         "weir: 2 networks had bits after the prefix, which were cleared, first at line 2 of list\n")
    (here / "asked").write_text("10.9.9.9\n2001:db8:ffff::\n1.2.3.4\n5.6.7.8\n5.6.7.9\n")
    expected = ["10.9.9.9", "2001:db8:ffff::", "5.6.7.8"]
    assert run("filter", "F", "asked").lines == expected
    strict = run("filter", "--strict", "list", "--on-error", "skip", "F", "asked")
    assert strict.lines == expected
    assert strict.err == ("weir: keys:list: 3 lines left out, first line 1\n"
                          "weir: keys:list: 2 networks had bits after the prefix, which were cleared, first at line 2\n")
    assert run("filter", "-q", "--strict", "list", "--on-error", "skip", "F", "asked").err == ""
    refused("filter", "-q", "--strict", "list", "F", "asked", saying=["line 1: '# comment'", "--on-error skip"])
    refused("check", "-q", "--cidr", "--store", "list", "asked", saying=["line 1: '# comment'", "--on-error skip"])
    assert run("build", "--cidr", "-k", "1", "--on-error", "skip", "-q", "-o", "G", "list").err == ""
    assert run("filter", "G", "asked").lines == ["10.9.9.9", "2001:db8:ffff::", "1.2.3.4", "5.6.7.8"]


def test_rejects_and_json_have_the_address(here):
    run("build", "--cidr", "-q", "--seed", "1", "-o", "F", input="10.0.0.0/8\n")
    out = run("filter", "F", "--csv", "-k", "ip", "--format", "json", "--on-error", "skip", "--rejects", "R", "--rejects-format", "json",
              input="ip,n\n10.1.2.3,1\n11.0.0.1,2\nx,3\n::FFFF:10.1.2.3,4\n").lines
    assert [(r["key"], r["verdict"]) for r in map(json.loads, out)] == [("10.1.2.3", "member"), ("10.1.2.3", "member")]
    rejects = [json.loads(line) for line in (here / "R").read_text().splitlines()]
    assert [(r["number"], r["key"], r["reason"]) for r in rejects] == [(2, "11.0.0.1", "other"), (3, None, "malformed")]


def test_sets_can_be_changed_and_merged(here):
    """Lengths of added and merged networks are looked up, too."""
    run("build", "-q", "--cidr", "-a", "counting", "-m", "4K", "--seed", "1", "-o", "A", input="10.0.0.0/8\n")
    run("add", "A", input="172.16.0.0/12\n2001:db8::/48\n")
    asked = "10.1.1.1\n172.16.3.4\n2001:db8::9\n192.168.1.1\n"
    assert run("filter", "A", input=asked).lines == ["10.1.1.1", "172.16.3.4", "2001:db8::9"]
    run("forget", "A", input="172.16.9.9/12\n")
    assert run("filter", "A", input=asked).lines == ["10.1.1.1", "2001:db8::9"]
    for name, network in ("B", "10.0.0.0/8"), ("C", "192.168.0.0/16"):
        run("build", "-q", "--cidr", "-m", "4K", "-S", "k=4", "--seed", "1", "-o", name, input=network + "\n")
    run("merge", "-o", "D", "B", "C")
    assert run("filter", "D", input=asked).lines == ["10.1.1.1", "192.168.1.1"]
    assert "prefixes    4:8,16; up to 2 lookups" in run("info", "D").out.decode()
    assert json.loads(run("info", "--format", "json", "A").out)["prefixes"] == "4:8,12 6:48"
    run("grow", "A", "-m", "8K", "-o", "E", ok=False)


def test_wrong_calls(here):
    (here / "list").write_text("10.0.0.0/8\n")
    run("build", "-q", "-o", "P", input="a\n")
    run("build", "-q", "--cidr", "-o", "N", "list")
    refused("ask", "--cidr", "P", "list", saying="P is not a set of networks; 'weir build --cidr")
    refused("ask", "N", "--key-as", "ip", "list", saying="N is a set of networks, and keys are IP addresses; remove --key-as")
    refused("build", "--cidr", "--ignore-case", "-o", "F", "list", saying="remove --ignore-case")
    refused("build", "--cidr", "-k", "1,2", "-o", "F", "list", saying="--key with several fields")
    refused("ask", "--cidr", "--which", "N", "--", "list", saying="remove --which")
    for more in [], ["--keys-differ"]:
        refused("ask", "--which", *more, "P", "N", "--", "list", saying="N is a set of networks, which can only be looked up alone: weir ask N ADDRESSES")
    refused("filter", "--cidr", "--at", "redis://127.0.0.1:1/x", saying="remove --at")
    refused("load", "--at", "redis://127.0.0.1:1/x", "N")
    refused("merge", "-o", "M", "P", "N")
    refused("dedup", "--cidr", "list", saying="--cidr: not an option of 'weir dedup'")
    refused("check", "--cidr", "--store", "list", "--screen", "strict", input="10.0.0.1\n", saying="needs all keys")
    damaged = (here / "N").read_bytes().replace(b"prefixes=4:8", b"prefixes=4:x")
    (here / "D").write_bytes(damaged)
    refused("info", "--verify", "D", saying="D")
    assert run("ask", "D", input="10.0.0.1\n", ok=False).status == 2


def test_an_empty_set_of_networks(here):
    run("build", "-q", "--cidr", "-o", "N", input="")
    assert run("filter", "N", input="10.0.0.1\n::1\n").lines == []
    (here / "list").write_text("")
    assert run("check", "-q", "--cidr", "--store", "keys:list", input="10.0.0.1\n::1\n").lines == []


def test_explain_prints_the_network(here):
    assert 'key "10.0.0.0/8"' in run("build", "--cidr", "--explain", "-o", "N", input="10.1.2.3/8\n").out.decode()
