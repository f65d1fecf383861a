"""weir gen: streams that are what their specification says."""
import collections
import math

from conftest import run


def stream(spec):
    return run("gen", spec).lines


def test_uniform_has_the_distinct_share_asked_for():
    for share in 0.15, 0.6, 0.9:
        lines = stream(f"uniform:n=100k,distinct={share}")
        # the standard deviation is below 0.002
        assert len(lines) == 100000 and abs(len(set(lines)) / 100000 - share) < 0.01
    assert len(set(stream("uniform:n=50k,distinct=100%"))) == 50000


def test_the_universe_can_be_given():
    assert len(set(stream("uniform:n=20k,universe=100"))) == 100


def test_zipf_follows_its_law():
    for alpha in 0.5, 1, 1.1, 2:
        n, universe = 200000, 1000
        counts = sorted(collections.Counter(stream(f"zipf:n=200k,universe=1k,alpha={alpha}")).values(),
                        reverse=True)
        total = sum(r ** -alpha for r in range(1, universe + 1))
        for rank in 1, 2, 5:
            expected = n * rank ** -alpha / total
            # ranks are those of the sample: neighbours may swap, which the margin allows
            assert abs(counts[rank - 1] - expected) < 6 * math.sqrt(expected) + 0.02 * expected


def test_fresh_keys_come_once():
    lines = stream("zipf:n=100k,universe=100,alpha=1,fresh=30%")
    once = sum(1 for n in collections.Counter(lines).values() if n == 1)
    assert abs(once / 100000 - 0.3) < 0.01


def test_importance_and_its_bias():
    for bias, sign in ("direct", 1), ("inverse", -1), ("none", 0):
        rows = [line.split("\t") for line in
                stream(f"zipf:n=100k,universe=1k,alpha=1,importance=1-50,bias={bias}")]
        weight = {key: int(value) for key, value in rows}
        assert all(weight[key] == int(value) for key, value in rows)  # one key, one importance
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
