"""weir.Near: verdicts, matches, files, and wrong arguments."""
import copy
import io
import pickle
import random
import threading
import unicodedata

import pytest

import weir


def make_texts(n, seed=1):
    pick = random.Random(seed)
    return [" ".join(f"w{pick.randrange(20_000)}" for _ in range(200)) for _ in range(n)]


def edited(text, changes, seed=1):
    pick, words = random.Random(seed), text.split()
    for at in pick.sample(range(len(words)), changes):
        words[at] = "changed"
    return " ".join(words)


def jaccard(a, b):
    x, y = ({tuple(words[i : i + 5]) for i in range(len(words) - 4)} for words in (a.split(), b.split()))
    return len(x & y) / len(x | y)


def test_near_duplicates_are_seen():
    near, texts = weir.Near(seed=1), make_texts(300)
    assert not any(map(near.observe, texts))
    assert all(near.observe(edited(text, 1)) for text in texts)
    assert not any(near.observe(edited(text, 60)) for text in texts)
    stats = near.stats()
    assert (stats.observed, stats.seen, stats.texts, stats.evicted) == (900, 300, 600, 0) and stats.capacity > 500_000


def test_a_match_has_the_number_and_the_similarity():
    near, texts = weir.Near(0.8, seed=1), make_texts(200)
    assert near.match(texts[0]) == (False, 0, 0.0, pytest.approx(0.036, abs=0.002), 0)
    assert [near.match(text, number=1000 + i).seen for i, text in enumerate(texts[1:])] == [False] * 199
    for i, text in enumerate(texts[1:]):
        other = edited(text, 1)
        match = near.match(other)
        assert match.number == 1000 + i and 1 <= match.bands <= 12
        assert abs(match.similarity - jaccard(text, other)) < 5 * match.error
        assert match.seen == (match.similarity >= 0.8)
    assert near.match(texts[0]).number == 1 and near.match(texts[0]).similarity == 1


def test_similarity_of_two_texts():
    near, texts = weir.Near(seed=1), make_texts(40)
    differences = [near.similarity(text, edited(text, 8)) - jaccard(text, edited(text, 8)) for text in texts]
    assert abs(sum(differences) / 40) < 0.02 and max(map(abs, differences)) < 0.15
    assert near.similarity("a b", "A, b!") == 1 and near.similarity(texts[0], texts[1]) < 0.15
    assert near.stats().observed == 0


def test_form_case_and_quotes_do_not_matter():
    text = "Le café n’est pas “très” cher, mais la crème brûlée l'est un peu."
    near = weir.Near()
    assert [near.observe(t) for t in (text, text.upper(), unicodedata.normalize("NFD", text), text.encode(), bytearray(text.encode()),
                                      text.replace("“", '"').replace("”", '"').replace("’", "'"))] == [False] + [True] * 5


def test_saved_copied_and_pickled_ones_continue(tmp_path):
    near, texts = weir.Near(0.7, memory="1M", seed=7, shingle=3), make_texts(500)
    for text in texts:
        near.observe(text)
    near.save(tmp_path / "near.weir")
    file = io.BytesIO()
    near.save(file)
    file.seek(0)
    others = [weir.Near.load(tmp_path / "near.weir"), weir.Near.load(near.tobytes()), weir.Near.load(file), near.copy(),
              copy.deepcopy(near), pickle.loads(pickle.dumps(near))]
    for other in others:
        assert other.config == near.config == "near threshold=0.7 memory=1048576 seed=7 shingle=3"
        assert other.stats() == near.stats() and other.tobytes() == near.tobytes()
        assert all(map(other.observe, texts)) and other.stats().seen == 500
    assert near.stats().seen == 0


def test_damaged_bytes_are_refused():
    near = weir.Near(memory=65536, seed=1)
    near.observe("a text")
    data = near.tobytes()
    for bad in b"", b"nonsense", data[:-1], data + b"x", data[:100] + bytes([data[100] ^ 1]) + data[101:], weir.Filter("memory=1K").tobytes():
        with pytest.raises(weir.DataError, match="near-duplicates"):
            weir.Near.load(bad)
    with pytest.raises(FileNotFoundError):
        weir.Near.load("/nowhere")


@pytest.mark.parametrize("arguments, error, text", [
    ({"threshold": 0.4}, weir.ConfigError, "0.4"), ({"threshold": 0}, weir.ConfigError, "not be 0"), ({"threshold": float("nan")}, weir.ConfigError, "nan"),
    ({"threshold": "x"}, TypeError, "str"), ({"memory": "1K"}, weir.ConfigError, "1024"), ({"memory": "much"}, ValueError, "'64M'"),
    ({"memory": "\ud800"}, ValueError, ""), ({"shingle": 17}, weir.ConfigError, "17"), ({"seed": -1}, (ValueError, OverflowError), "seed"),
    ({"fpr": 0.1}, TypeError, "fpr")])
def test_wrong_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        weir.Near(**arguments)


def test_wrong_texts_and_closed_detectors():
    with weir.Near() as near:
        for wrong in None, 7, ["a"]:
            with pytest.raises(TypeError, match="str or bytes"):
                near.observe(wrong)
        with pytest.raises((ValueError, OverflowError), match="number"):
            near.observe("a", number=-1)
    for call in (lambda: near.observe("a"), lambda: near.match("a"), lambda: near.similarity("a", "b"), near.stats, near.tobytes, near.copy):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert near.closed and repr(near) == "<weir.Near, closed>"


def test_threads():
    near, texts = weir.Near(seed=1), make_texts(400)
    seen = []

    def work(part):
        seen.extend(near.observe(text) for text in part)

    threads = [threading.Thread(target=work, args=(texts[i % 4 * 100 :][:100],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen.count(False) == 400 and seen.count(True) == 400
