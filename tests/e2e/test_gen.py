"""weir gen: streams match their specification."""
import collections
import math

from conftest import run


def stream(spec):
    return run("gen", spec).lines


def test_uniform_has_the_requested_distinct_share():
    for share in 0.15, 0.6, 0.9:
        lines = stream(f"uniform:n=100k,distinct={share}")
        # the standard deviation is below 0.002
        assert len(lines) == 100000 and abs(len(set(lines)) / 100000 - share) < 0.01
    assert len(set(stream("uniform:n=50k,distinct=100%"))) == 50000


def test_the_universe_can_be_chosen():
    assert len(set(stream("uniform:n=20k,universe=100"))) == 100


def test_zipf_has_its_distribution():
    for alpha in 0.5, 1, 1.1, 2:
        n, universe = 200000, 1000
        counts = sorted(collections.Counter(stream(f"zipf:n=200k,universe=1k,alpha={alpha}")).values(),
                        reverse=True)
        total = sum(r ** -alpha for r in range(1, universe + 1))
        for rank in 1, 2, 5:
            expected = n * rank ** -alpha / total
            # ranks are those of the sample: neighbours may swap, within the tolerance
            assert abs(counts[rank - 1] - expected) < 6 * math.sqrt(expected) + 0.02 * expected


def test_new_keys_occur_once():
    lines = stream("zipf:n=100k,universe=100,alpha=1,fresh=30%")
    once = sum(1 for n in collections.Counter(lines).values() if n == 1)
    assert abs(once / 100000 - 0.3) < 0.01


def test_importance_and_its_bias():
    for bias, sign in ("direct", 1), ("inverse", -1), ("none", 0):
        rows = [line.split("\t") for line in
                stream(f"zipf:n=100k,universe=1k,alpha=1,importance=1-50,bias={bias}")]
        weight = {key: int(value) for key, value in rows}
        assert all(weight[key] == int(value) for key, value in rows)  # a key has one importance
        assert min(weight.values()) >= 1 and max(weight.values()) <= 50
        counts = collections.Counter(key for key, _ in rows)
        often = [weight[key] for key, _ in counts.most_common(50)]
        rare = [weight[key] for key, _ in counts.most_common()[-300:]]
        gap = sum(often) / len(often) - sum(rare) / len(rare)
        assert gap > 25 if sign > 0 else gap < -25 if sign < 0 else abs(gap) < 12


def test_seed_and_length():
    assert stream("uniform:n=100,seed=1") == stream("uniform:n=100,seed=1")
    assert not set(stream("uniform:n=100,seed=1")) & set(stream("uniform:n=100,seed=2"))
    assert {len(line) for line in stream("uniform:n=100")} == {19}
    assert {len(line) for line in stream("uniform:n=100,length=200")} == {200}


def chi_square(counts, expected):
    return sum((c - e) ** 2 / e for c, e in zip(counts, expected))


def test_key_frequency_follows_importance_or_its_inverse():
    """Bhoraskar et al. 2013: probabilities in proportion to importance 1-50, or to its reciprocal."""
    for bias, power in ("direct", 1), ("inverse", -1):
        rows = [line.split("\t") for line in
                stream(f"uniform:n=200k,universe=505,importance=1-50,bias={bias},seed=3")]
        weight = {key: int(value) for key, value in rows}
        assert all(weight[key] == int(value) for key, value in rows) and len(weight) == 505
        per_value = collections.Counter(weight.values())
        assert set(per_value) == set(range(1, 51)) and set(per_value.values()) == {10, 11}
        counts = collections.Counter(key for key, _ in rows)
        total = sum(w ** power for w in weight.values())
        expected = [200000 * weight[key] ** power / total for key in weight]
        spread = chi_square([counts[key] for key in weight], expected)
        assert abs(spread - 504) < 5 * math.sqrt(2 * 504), spread


def test_a_biased_stream_has_the_requested_distinct_share():
    for bias in "direct", "inverse":
        for share in 0.5, 0.9:
            lines = stream(f"uniform:n=100k,distinct={share},importance=1-50,bias={bias}")
            assert abs(len(set(lines)) / 100000 - share) < 0.006


def test_drift_replaces_a_share_of_the_keys():
    """Between two parts of the stream, the requested share of keys is replaced and never occurs again; the
    distribution stays the same."""
    every, share = 20000, 0.25
    lines = stream(f"zipf:n=200k,universe=500,alpha=0.7,drift={share}/20k,seed=5")
    parts = [lines[i:i + every] for i in range(0, len(lines), every)]
    keys = [set(part) for part in parts]
    for before, after in zip(keys, keys[1:]):
        assert abs(len(before - after) / len(before) - share) < 0.07
    popular = [{key for key, _ in collections.Counter(part).most_common(100)} for part in parts]
    gone = sum(len(a - b) for a, b in zip(popular, keys[1:]))
    assert abs(gone / 900 - share) < 0.05  # the same share of frequent keys as of others
    for i, part in enumerate(keys[:-2]):
        for key in part - keys[i + 1]:
            assert not any(key in later for later in keys[i + 2:])
    assert len(set(lines)) == sum(len(b - a) for a, b in zip([set()] + keys, keys))
    first, last = (sorted(collections.Counter(p).values(), reverse=True)[:20] for p in
                   (parts[0], parts[-1]))
    assert abs(sum(first) / sum(last) - 1) < 0.05
    all_others = stream("uniform:n=3k,universe=100,drift=100%/1k")
    assert not set(all_others[:1000]) & set(all_others[1000:2000])


def test_drift_with_fresh_keys_and_importance():
    rows = [line.split("\t") for line in
            stream("zipf:n=50k,universe=1k,fresh=30%,importance=1-9,drift=10%/5k")]
    weight = {key: value for key, value in rows}
    assert all(weight[key] == value for key, value in rows)
    once = sum(1 for n in collections.Counter(key for key, _ in rows).values() if n == 1)
    assert once > 0.29 * 50000
