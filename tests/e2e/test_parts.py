"""weir dedup --parts: compared with an exact script; the same for any number of threads and after kill -9; options that
make no sense are refused."""
import json
import random
import re
import signal
import subprocess
import time
import unicodedata

import pytest

from conftest import LONG, QUICK, WEIR, refused, run

SHORT = 20
SPACE = " \t\n\v\f\r"


# ---- the exact script ----

def parts_of(text, kind):
    """(begin, end, content) of each part; begin and end include the white space that follows."""
    lines, at = [], 0
    for line in text.split(b"\n"):
        lines.append((at, min(at + len(line) + 1, len(text)), line.strip(SPACE.encode())))
        at += len(line) + 1
    lines = [line for line in lines if line[0] < line[1]]
    if kind == "line":
        return lines
    paragraphs, begin, inked = [], 0, False
    for i, (_, end, content) in enumerate(lines):
        inked = inked or bool(content)
        ends = i + 1 == len(lines) or (not content and inked and lines[i + 1][2])
        if ends:
            paragraphs.append((begin, end, text[begin:end].strip(SPACE.encode())))
            begin, inked = end, False
    return paragraphs


def clean(texts, kind, drop_above=0.8, normalize=lambda part: part):
    """For each text: what is left of it, or None if it is dropped."""
    known = set()
    for text in texts:
        parts = parts_of(text, kind)
        compared = [(b, e, normalize(c), len(c)) for b, e, c in parts if len(c) >= SHORT]
        size, seen = sum(len(c) for *_, c in parts), sum(n for _, _, c, n in compared if c in known)
        if seen and seen >= drop_above * size - 1e-6:
            yield None
            continue
        left, at = b"", 0
        for b, e, c, _ in compared:
            if c in known:
                left, at = left + text[at:b], e
            known.add(c)
        yield left + text[at:]


def words_of(text):
    text = unicodedata.normalize("NFD", text.casefold())
    return re.findall(r"[^\W_]+", "".join(c for c in text if not unicodedata.combining(c)))


# ---- texts ----

LINES = ["A licence line that many of the texts have", "\tindented = \"quoted\" and \\escaped\\ / here", "short", "",
         "Größe und Übermut: ein Satz mit Umlauten", "日本語の文章はここにあります。そして続く", "emoji 😀 in a line of text 😀",
         "exactly twenty bytes", "nineteen bytes here", "  white space at both ends of this one  ", " \t ", "\x01 control \x1f characters \x7f too"]


def make_texts(n, seed):
    pick, texts = random.Random(seed), []
    for _ in range(n):
        lines = [pick.choice(LINES) if pick.random() < 0.4 else f"line {pick.randrange(n * 4)} of a text, é" * pick.randrange(1, 3)
                 for _ in range(pick.randrange(12))]
        joints = [pick.choice(["\n", "\n\n", "\r\n", "\r\n\r\n", "\n \n", "\n\n\n"]) for _ in lines]
        texts.append("".join(a + b for a, b in zip(lines, joints)) + pick.choice(["", "end", "the last line has no line break"]))
    return texts


def as_json(texts, seed=1):
    """Records with other members, also with the same name at another level, and every form of escape."""
    pick, rows = random.Random(seed), []
    for i, text in enumerate(texts):
        value = json.dumps(text, ensure_ascii=pick.random() < 0.5)
        if pick.random() < 0.5:
            value = value.replace("/", "\\/").replace("o", "\\u006f")
        rows.append(pick.choice(['{"n": %d, "text": %s, "m": {"text": "a \\n b"}}\n', '{"n":%d,"text":%s}\n',
                                 ' {"m":["text"],"n":%d , "text" :%s } \n', '{"text":"first","n":%d,"text":%s}\n']) % (i, value))
    return rows


def dedup(kind, *more):
    return ["dedup", "--parts", kind, "--seed", "1", "-k", "/text", *more]


@pytest.mark.parametrize("kind", ["paragraph", "line"])
@pytest.mark.parametrize("drop_above", ["80%", "0.3", "100%"])
def test_texts_equal_those_of_an_exact_script(kind, drop_above):
    texts = make_texts(QUICK and 500 or 3000, 1)
    rows = as_json(texts)
    share = float(drop_above.strip("%")) / (100 if "%" in drop_above else 1)
    expected = list(clean([t.encode() for t in texts], kind, share))
    lines = run(*dedup(kind, "--drop-above", drop_above), input="".join(rows)).out.decode().split("\n")[:-1]
    kept = [(i, left.decode()) for i, left in enumerate(expected) if left is not None]
    assert [(json.loads(line)["n"], json.loads(line)["text"]) for line in lines] == kept
    changed = 0
    for line, (i, left) in zip(lines, kept):
        if left == texts[i]:
            assert line + "\n" == rows[i]
        else:  # the rest of the record is the same
            changed += 1
            assert {**json.loads(line), "text": ""} == {**json.loads(rows[i]), "text": ""}
    assert changed > len(texts) / 20 and len(kept) < len(texts)


@pytest.mark.parametrize("kind", ["paragraph", "line"])
def test_records_that_end_with_nul(kind):
    texts = [t.encode() for t in make_texts(1000, 2)]
    kept = [left for left in clean(texts, kind) if left is not None]
    assert run("dedup", "--parts", kind, "-z", input=b"".join(t + b"\0" for t in texts)).out == b"".join(t + b"\0" for t in kept)
    any_bytes = [bytes(random.Random(i).choices(b"ab \r\n\xff\xc3\xa9", k=200)) for i in range(300)]
    kept = [left for left in clean(any_bytes, kind) if left is not None]
    assert run("dedup", "--parts", kind, "-z", input=b"".join(t + b"\0" for t in any_bytes)).out == b"".join(t + b"\0" for t in kept)


def test_case_and_space_can_be_ignored():
    texts = ["The first line of all of them\nanother one, which is long", "THE FIRST  line of all of them\nÜBER den Wolken, weit und breit",
             "über den wolken,  weit und breit \nthe third text has this line"]
    rows = "".join(json.dumps({"text": t}) + "\n" for t in texts)
    normalize = lambda part: " ".join(part.decode().lower().split())
    expected = [left.decode() for left in clean([t.encode() for t in texts], "line", normalize=normalize)]
    assert [json.loads(line)["text"] for line in run(*dedup("line", "--ignore-case", "--ignore-space"), input=rows).lines] == expected
    assert expected[1] == "ÜBER den Wolken, weit und breit"
    assert [json.loads(line)["text"] for line in run(*dedup("line"), input=rows).lines] == texts


def test_names_and_pointers_select_the_same_text():
    nested = [{"a": {"x/y": [1, {"t": "a line that is long enough\n" + more}]}} for more in ("", "and another one, also long")]
    rows = "".join(json.dumps(r) + "\n" for r in nested)
    left = run("dedup", "--parts", "line", "--drop-above", "100%", "-k", "/a/x~1y/1/t", input=rows).lines
    assert json.loads(left[1]) == {"a": {"x/y": [1, {"t": "and another one, also long"}]}}
    rows = "".join(json.dumps({"text": t["a"]["x/y"][1]["t"]}) + "\n" for t in nested)
    by_name = run("dedup", "--parts", "line", "--drop-above", "100%", "--jsonl", "-k", "text", input=rows).lines
    assert json.loads(by_name[1]) == {"text": "and another one, also long"}


def test_parts_of_a_dropped_record_are_not_remembered():
    common, new = "the common line is long enough " * 4, "a new line in a record that is dropped"
    rows = "".join(json.dumps({"text": t}) + "\n" for t in [common, f"{common}\n{new}", f"{new}\nand more new text in here"])
    assert [json.loads(line)["text"] for line in run(*dedup("line", "--drop-above", "70%"), input=rows).lines] == [
        common, f"{new}\nand more new text in here"]


# ---- n-grams ----

def grams(words, n):
    return {tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1))}


def test_ngrams_drop_texts_by_the_share_that_was_seen():
    """The share is that of a sample: verdicts far from the threshold are those of exact n-grams."""
    pick, texts, known, shares = random.Random(3), [], set(), []
    for _ in range(600):
        words = [f"w{pick.randrange(100_000)}" for _ in range(pick.randrange(300, 600))]
        if texts and pick.random() < 0.6:
            part = pick.choice(texts)
            words = part[: pick.randrange(len(part))] + words[: pick.randrange(100)]
        texts.append(words)
    rows = "".join(json.dumps({"n": i, "text": " ".join(words)}) + "\n" for i, words in enumerate(texts))
    rows += "".join(json.dumps({"n": 600 + i, "text": t}) + "\n" for i, t in enumerate(["short", "short", ""] * 2))
    result = run("dedup", "--parts", "ngram", "--shingle", "6", "-k", "/text", "--format", "json", "--emit", "all", input=rows)
    wrong = 0
    for words, line in zip(texts, map(json.loads, result.lines)):
        mine = grams(words, 6)
        share = len(mine & known) / len(mine)
        error = (max(share * (1 - share), 0.01) / (len(mine) / 8)) ** 0.5
        wrong += abs(line["seen_share"] - share) > 4.5 * error + 0.02
        if line["verdict"] == "new":
            known |= mine
        assert (line["verdict"] == "seen") == (line["seen_share"] >= 0.7995)
        shares.append(share)
    assert wrong <= 3 and sum(s > 0.85 for s in shares) > 30 and sum(0.2 < s < 0.8 for s in shares) > 30
    assert [json.loads(line)["verdict"] for line in result.lines[600:]] == ["new"] * 6


def test_form_case_and_punctuation_do_not_change_ngrams():
    text = "Le café n’est pas “très” cher, mais la crème brûlée l'est un peu. Et puis: voilà, c’est tout."
    variants = [text, text.upper(), unicodedata.normalize("NFD", text).replace("’", "'").replace("“", '"').replace("”", '"')]
    for escaped in True, False:
        rows = "".join(json.dumps({"text": v}, ensure_ascii=escaped) + "\n" for v in variants)
        assert len(run("dedup", "--parts", "ngram", "-k", "/text", input=rows).lines) == 1
        assert len(run(*dedup("line"), input=rows).lines) == 3  # lines are compared byte by byte
    assert words_of(variants[0]) == words_of(variants[1])


# ---- as for other filters ----

@pytest.mark.parametrize("kind", ["paragraph", "line", "ngram"])
def test_threads_change_nothing(kind):
    rows = "".join(as_json(make_texts(4000, 4)))
    assert len({run(*dedup(kind), "-j", j, input=rows).out for j in (1, 2, 5)}) == 1


@pytest.mark.parametrize("kind", ["paragraph", "line", "ngram"])
def test_state_continues(here, kind):
    rows = as_json(make_texts(1500, 5))
    whole = run(*dedup(kind), input="".join(rows)).out
    thirds = [run(*dedup(kind), "--state", "s.weir", input="".join(rows[i : i + 500])).out for i in range(0, 1500, 500)]
    assert b"".join(thirds) == whole
    others = {"paragraph": "line", "line": "ngram", "ngram": "paragraph"}
    refused(*dedup(others[kind]), "--state", "s.weir", saying=["s.weir was", f"--parts {kind}"])
    refused("dedup", "-k", "/text", "--state", "s.weir", saying=f"--parts {kind}")


def test_resume_after_a_kill_gives_the_same_output(here):
    (here / "input").write_text("".join(as_json(make_texts(QUICK and 3000 or 20_000, 6))))
    command = [WEIR, *dedup("line"), "-m", "4M", "--state", "s.weir", "--resume", "--checkpoint", "500", "-o", "out",
               "--rejects", "rejects", "input"]
    kills, pick = 0, random.Random(6)
    for _ in range(LONG and 100 or 20):
        running = subprocess.Popen(command, stderr=subprocess.PIPE)
        time.sleep(pick.random() * 0.05)
        running.send_signal(signal.SIGKILL)
        kills += running.wait() == -signal.SIGKILL
        running.stderr.close()
    assert kills > 3
    subprocess.run(command, check=True)
    assert (here / "out").read_bytes() == run(*dedup("line"), "-m", "4M", "--rejects", "other", "input").out
    assert (here / "rejects").read_bytes() == (here / "other").read_bytes()


def test_outputs(here):
    texts = make_texts(800, 7)
    rows = as_json(texts)
    expected = list(clean([t.encode() for t in texts], "line"))
    verdicts = ["S" if left is None else "N" for left in expected]
    assert run(*dedup("line", "--words", "N,S"), input="".join(rows)).lines == verdicts
    assert run(*dedup("line", "--emit", "duplicates"), input="".join(rows)).out.decode() == "".join(
        row for row, verdict in zip(rows, verdicts) if verdict == "S")
    tagged = run(*dedup("line", "--emit", "all"), input="".join(rows)).out.decode().split("\n")[:-1]
    assert [line.split("\t")[0] for line in tagged] == [{"S": "seen", "N": "new"}[v] for v in verdicts]
    assert [json.loads(line.split("\t", 1)[1])["text"] for line in tagged] == [
        text if left is None else left.decode() for text, left in zip(texts, expected)]
    objects = [json.loads(line) for line in run(*dedup("line", "--format", "json", "--emit", "all"), input="".join(rows)).out.splitlines()]
    assert [o["record"]["text"] for o in objects] == [json.loads(line.split("\t", 1)[1])["text"] for line in tagged]
    assert all((o["seen_share"] >= 0.7999) == (o["verdict"] == "seen") for o in objects)
    result = run(*dedup("line", "--stats", "json", "--metrics", "m.prom", "--rejects", "r", "-o", "out"), input="".join(rows))
    figures = json.loads(result.err)
    cut = sum(len(t.encode()) - len(left) for t, left in zip(texts, expected) if left is not None)
    assert figures["seen"] == figures["parts"]["dropped"] == verdicts.count("S") and 0 < figures["parts"]["cut_bytes"] <= cut
    assert "weir_" in (here / "m.prom").read_text()
    assert (here / "r").read_text() == run(*dedup("line", "--emit", "duplicates"), input="".join(rows)).out.decode()


def test_bad_records():
    rows = ['{"text":"the first line is long enough"}', '{broken', '{"other":1}', '{"text":12345678901234567890123}', "",
            '{"text":["the first line is long enough"]}', '{"text":null}', '{"text":"the first line is long enough"}']
    out = run(*dedup("line"), "--on-error", "skip", input="\n".join(rows) + "\n").lines
    assert out == [rows[0], rows[3], "", rows[5], rows[6]]
    refused(*dedup("line"), input="\n".join(rows) + "\n", saying="line 2")
    assert run(*dedup("line"), "--on-missing", "pass", input=rows[2] + "\n").lines == [rows[2]]


def test_a_set_is_asked_and_stays_the_same(here):
    questions = ["What is the capital of France, please?", "Name three of the planets of the sun."]
    rows = "".join(json.dumps({"text": t}) + "\n" for t in [
        f"An answer to a question is here.\n{questions[0]}", "\n".join(questions), "nothing of the kind is in this one", questions[1] + "\nno"])
    left = ["An answer to a question is here.\n", "nothing of the kind is in this one"]
    (here / "questions").write_text("\n".join(questions) + "\n")
    (here / "questions.jsonl").write_text(json.dumps({"text": "\n".join(questions)}) + "\n")
    run("build", "-o", "built.weir", "questions")
    run("build", "--fixed", "-o", "fixed.weir", "questions")
    run(*dedup("line", "--state", "state.weir", "-q", "-o", "/dev/null", "questions.jsonl"))
    for name in "built", "fixed", "state":
        before = (here / f"{name}.weir").read_bytes()
        for jobs in "1", "3":
            result = run("dedup", "--parts", "line", "-k", "/text", "-j", jobs, "--against", f"{name}.weir", input=rows * 2)
            assert [json.loads(line)["text"] for line in result.lines] == left * 2
        assert (here / f"{name}.weir").read_bytes() == before
    exam = " ".join(f"w{i}" for i in range(300))
    (here / "exam.jsonl").write_text(json.dumps({"text": exam}) + "\n")
    ngram = ["dedup", "--parts", "ngram", "--shingle", "5", "-k", "/text"]
    run(*ngram, "--state", "grams.weir", "-o", "/dev/null", "exam.jsonl")
    texts = [exam.upper(), exam + " and" + " more new words" * 9, " ".join(f"v{i}" for i in range(900)) + exam, " ".join(f"v{i}" for i in range(900))]
    rows = "".join(json.dumps({"text": t}) + "\n" for t in texts)
    for drop_above, left in ("60%", texts[2:]), ("10%", texts[3:]):
        kept = run(*ngram, "--against", "grams.weir", "--drop-above", drop_above, input=rows).lines
        assert [json.loads(line)["text"] for line in kept] == left
    against = ["dedup", "-k", "/text", "--against"]
    refused(*against, "grams.weir", "--parts", "line", saying="--parts ngram --shingle 5")
    refused(*against, "grams.weir", "--parts", "ngram", saying="--shingle 13")
    refused(*against, "built.weir", "--parts", "ngram", saying="--state FILE")
    refused(*against, "missing.weir", "--parts", "line", saying="missing.weir")
    refused(*against, "questions", "--parts", "line", saying="not a filter file")
    refused(*against, "state.weir", "--parts", "line", "--state", "s", saying="remove --state")
    refused(*against, "state.weir", "--parts", "line", "-m", "1M", saying="the file determines the filter")


@pytest.mark.parametrize("span, left", [("1h", []), ("1s", ["a line that is long enough"])])
def test_parts_are_forgotten_after_a_span(here, span, left):
    command = dedup("line", "-S", f"span={span}", "--state", "s.weir")
    row = json.dumps({"text": "a line that is long enough"}) + "\n"
    assert run(*command, input=row).out.decode() == row
    time.sleep(2.2)
    assert [json.loads(line)["text"] for line in run(*command, input=row).lines] == left


def test_eviction_is_reported(here):
    rows = "".join(json.dumps({"text": f"line number {i} of a stream without end"}) + "\n" for i in range(30_000))
    assert "are evicted" in run(*dedup("line", "-m", "16K"), input=rows).err
    stopped = run(*dedup("line", "-m", "16K", "--on-full", "stop"), input=rows, ok=False)
    assert stopped.status == 2 and "stopped: " in stopped.err


@pytest.mark.parametrize("action", ["warn", "stop"])
def test_a_flood_of_drops_is_reported(action):
    rows = "".join(json.dumps({"text": f"text {i} is new and different"}) + "\n" for i in range(30_000))
    rows += json.dumps({"text": "We use cookies\x1b[31m to improve the site"}) + "\n"
    rows += (json.dumps({"text": "We use cookies\x1b[31m to improve the site"}) + "\n") * 100_000
    result = run(*dedup("line"), "--on-flood", action, input=rows, ok=False)
    assert result.status == (2 if action == "stop" else 0)
    assert "more than half of the last 100000 records" in result.err
    assert "'We use cookies [31m to improve the site'" in result.err


@pytest.mark.parametrize("options, saying", [
    (["--parts", "word"], "paragraph|line|ngram"), (["--parts", "line"], ["one line", "-k /text"]),
    (["--parts", "line", "--jsonl"], "which member"), (["--parts", "line", "-z", "-k", "1"], "one line"),
    (["--parts", "paragraph", "--csv", "-k", "1"], "JSON lines"), (["--drop-above", "0.5"], "add --parts"),
    (["--against", "x.weir"], "add --parts"), (["--parts", "line", "-k", "/text", "--shingle", "3"], "--parts ngram"),
    *[(["--parts", "line", "-k", "/text", *more], saying) for more, saying in [
        (["--drop-above", "0"], "above 0"), (["--drop-above", "101%"], "at most 1"), (["-i", "2"], "-i"),
        (["--at", "redis://localhost"], "--at"), (["--exact", "dir"], "--exact"), (["--once-per", "1h"], "--once-per"),
        (["--time", "/t"], "--time"), (["--ttl", "/t", "-S", "ttl=1h"], "--ttl"), (["--shards", "2"], "--shards"), (["--key-as", "nfc"], "--key-as"), (["-k", "/b"], "one text"),
        (["--near", "0.8"], "--near"), (["--audit", "a"], "--audit")]],
    (["--parts", "ngram", "--ignore-case"], "case never matters"), (["--parts", "ngram", "--shingle", "17"], "from 1 to 16")])
def test_what_makes_no_sense_is_refused(here, options, saying):
    refused("dedup", *options, input="a\n", saying=saying)
