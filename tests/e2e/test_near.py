"""weir dedup --near: verdicts compared with exact Jaccard similarities in Python, the same for any number of threads and
after kill -9; options that make no sense are refused."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time
import unicodedata

import pytest

from conftest import LONG, QUICK, RACES_SEEN, SANITIZED, WEIR, refused, run, statistics

NEAR = ["dedup", "--near", "0.8", "--seed", "1", "-k", "/text"]


def shingles(words, n=5):
    return {tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1))}


def jaccard(a, b):
    return len(a & b) / len(a | b)


def make_documents(n, seed):
    """Families of texts: each is new or has 0 to 5 % of the words of an earlier one replaced."""
    pick, documents = random.Random(seed), []
    for _ in range(n):
        if documents and pick.random() < 0.5:
            family, words = pick.choice(documents)
            words = list(words)
            for _ in range(pick.randrange(1 + len(words) * 5 // 100)):
                words[pick.randrange(len(words))] = f"v{pick.randrange(9000)}"
        else:
            family, words = len(documents), [f"w{pick.randrange(9000)}" for _ in range(pick.randrange(60, 300))]
        documents.append((family, words))
    return documents


def as_json(documents):
    return "".join(json.dumps({"n": i, "text": " ".join(words)}) + "\n" for i, (_, words) in enumerate(documents))


def passed(result):
    return [json.loads(line)["n"] for line in result.lines]


def test_verdicts_agree_with_exact_similarity(here):
    documents = make_documents(4000, 1)
    new = set(passed(run(*NEAR, input=as_json(documents))))
    kept, similar, found, wrong, far = {}, 0, 0, 0, 0
    for i, (family, words) in enumerate(documents):
        mine = shingles(words)
        best = max((jaccard(mine, other) for other in kept.get(family, [])), default=0)
        similar += best >= 0.8
        found += best >= 0.8 and i not in new
        wrong += best < 0.8 and i not in new
        far += best < 0.7 and i not in new
        if i in new:
            kept.setdefault(family, []).append(mine)
    assert similar > 600
    assert found >= 0.93 * similar and wrong <= 0.07 * (found + wrong) and far <= 4, (similar, found, wrong, far)


def test_form_case_and_punctuation_do_not_matter(here):
    text = "Le café n’est pas “très” cher, mais la crème brûlée l'est un peu."
    variants = [text, text.upper(), "Le cafe\u0301 n'est pas \"tre\u0300s\" cher, mais la cre\u0300me bru\u0302le\u0301e l'est un peu."]
    for escaped in True, False:
        rows = "".join(json.dumps({"text": v}, ensure_ascii=escaped) + "\n" for v in variants)
        assert len(run(*NEAR, input=rows).lines) == 1
    assert run("dedup", "--near", "0.8", input="yes\nno\nYES!\n").lines == ["yes", "no"]


def test_escapes_are_not_words(here):
    rows = [{"text": "one\ntwo\tthree four five six"}, {"text": "one two three four five six"}]
    assert len(run(*NEAR, input="".join(json.dumps(r) + "\n" for r in rows)).lines) == 1


def test_threads_change_nothing(here):
    rows = as_json(make_documents(3000, 2))
    assert len({run(*NEAR, "-j", j, input=rows).out for j in (1, 2, 5)}) == 1


def test_outputs(here):
    documents = make_documents(500, 3)
    new = passed(run(*NEAR, input=as_json(documents)))
    assert passed(run(*NEAR, "--emit", "duplicates", input=as_json(documents))) == sorted({*range(500)} - set(new))
    words = run(*NEAR, "--words", "N,S", input=as_json(documents)).lines
    assert [i for i in range(500) if words[i] == "N"] == new
    bad = as_json(documents[:2]) + "{broken\n" + as_json(documents[:2])
    assert passed(run(*NEAR, "--on-error", "skip", input=bad)) == [0, 1]
    figures = json.loads(run(*NEAR, "--stats", "json", "-o", "out", input=as_json(documents)).err)
    assert figures["near"]["texts"] == figures["new"] == len(new) and figures["near"]["dropped"] == figures["seen"]
    assert abs(figures["near"]["error"] - 0.03) < 0.001


def test_rejects_name_the_similar_record(here):
    documents = make_documents(1000, 7)
    rows = ["{bad\n", *as_json(documents).splitlines(keepends=True)]  # document i is record i + 2
    rejects, new = [], []
    for first, end in (0, 500), (500, None):
        new += passed(run(*NEAR, "--state", "s.weir", "--on-error", "skip", "--rejects", "r", "--rejects-format", "json",
                          input="".join(rows[first:end])))
        rejects += [(first, json.loads(line)) for line in (here / "r").read_text().splitlines()]
        (here / "r").unlink()
    assert rejects[0][1]["reason"] == "malformed" and "similar_to" not in rejects[0][1]
    assert len(rejects) == 1001 - len(new)
    for first, row in rejects[1:]:
        mine, other = first + row["number"] - 2, row["similar_to"] - 2
        exact = jaccard(shingles(documents[mine][1]), shingles(documents[other][1]))
        assert other in new and abs(exact - row["jaccard"]) <= 5 * max(row["error"], 0.005) and 1 <= row["bands"] <= 12


def test_state_continues(here):
    rows = as_json(make_documents(3000, 4)).splitlines(keepends=True)
    whole = run(*NEAR, input="".join(rows)).out
    parts = [run(*NEAR, "--state", "s.weir", input="".join(rows[i : i + 1000])).out for i in range(0, 3000, 1000)]
    assert b"".join(parts) == whole
    for options, saying in [(["--near", "0.7"], "--near 0.8"), (["--near", "0.8", "--shingle", "4"], "--shingle 5"),
                            (["--near", "0.8", "-m", "1M"], "-m"), (["--near", "0.8", "--seed", "2"], "seed")]:
        refused("dedup", *options, "-k", "/text", "--state", "s.weir", saying=["s.weir was created with", saying])
    refused("dedup", "--near", "0.8", "-k", "/other", "--state", "s.weir", saying="other keys")
    refused("dedup", "-k", "/text", "--state", "s.weir", saying="dedup --near")
    data = bytearray((here / "s.weir").read_bytes())
    data[len(data) // 2] ^= 1
    (here / "s.weir").write_bytes(data)
    refused(*NEAR, "--state", "s.weir", saying="damaged")
    (here / "s.weir").write_bytes(data[: len(data) // 2])
    refused(*NEAR, "--state", "s.weir", saying="damaged")


def test_resume_after_a_kill_gives_the_same_output(here):
    (here / "input").write_text(as_json(make_documents(QUICK and 5000 or 20_000, 5)))
    command = [WEIR, *NEAR, "-m", "4M", "--state", "s.weir", "--resume", "--checkpoint", "500", "-o", "out", "input"]
    kills, pick = 0, random.Random(6)
    for _ in range(LONG and 100 or 20):
        running = subprocess.Popen(command, stderr=subprocess.PIPE)
        time.sleep(pick.random() * 0.05)
        running.send_signal(signal.SIGKILL)
        kills += running.wait() == -signal.SIGKILL
        running.stderr.close()
    assert kills > 3
    subprocess.run(command, check=True)
    assert (here / "out").read_bytes() == run(*NEAR, "-m", "4M", "input").out


def test_memory_is_bounded_and_eviction_is_reported(here):
    rows = as_json([(i, [f"w{i}-{j}" for j in range(20)]) for i in range(3000)])
    result = run(*NEAR, "-m", "64K", input=rows)
    assert len(result.lines) == 3000 and "older ones were forgotten" in result.err
    stopped = run(*NEAR, "-m", "64K", "--on-full", "stop", input=rows, ok=False)
    assert stopped.status == 2 and "stopped: 64.0 KiB" in stopped.err


def test_json_without_a_field_gets_a_note(here):
    rows = '{"id": 1, "text": "a b c"}\n{"id": 2, "text": "a b c"}\n'
    whole = run("dedup", "--near", "0.8", input=rows)
    assert len(whole.lines) == 2 and "-k /text" in whole.err
    for options in ["-q"], ["-k", "/text"]:
        assert run("dedup", "--near", "0.8", *options, input=rows).err == ""
    assert run("dedup", "--near", "0.8", input="plain {text}\n" + rows).err == ""


@pytest.mark.parametrize("action", ["warn", "stop"])
def test_a_flood_of_drops_is_reported(here, action):
    rows = "".join(f"text {i}\n" for i in range(30_000)) + "the same licence again and again\n" * 100_000
    result = run("dedup", "--near", "0.8", "--on-flood", action, input=rows, ok=False)
    assert result.status == (2 if action == "stop" else 0)
    assert "more than half of the last 100000 records" in result.err and "record 30001" in result.err
    calm = "".join(f"text {i // 2}\n" for i in range(150_000))
    assert run("dedup", "--near", "0.8", input=calm).err == ""


@pytest.mark.parametrize("options, saying", [
    (["--near", "0.4"], "from 0.5 to 0.99"), (["--near", "1"], "from 0.5 to 0.99"), (["--shingle", "3"], "add --near"),
    (["--on-flood", "stop"], "add --near"),
    *[(["--near", "0.8", *more], saying) for more, saying in [
        (["-a", "bloom"], "-a"), (["-e", "1%"], "-e"), (["-S", "hash=sip"], "-S"), (["-i", "2"], "-i"),
        (["--at", "redis://localhost"], "--at"), (["--exact", "dir"], "--exact"), (["--once-per", "1h"], "--once-per"),
        (["--time", "1"], "--time"), (["--shards", "2"], "--shards"), (["--ignore-case"], "case never matters"),
        (["--ignore-space"], "--ignore-space"), (["-k", "1,2"], "one text"), (["-m", "9K"], "from 64K to 128G"),
        (["--seed", "x"], "--seed x"), (["--shingle", "17"], "from 1 to 16"), (["--parts", "line"], "--parts")]]])
def test_what_makes_no_sense_is_refused(here, options, saying):
    refused("dedup", *options, input="a\n", saying=saying)


BUILD = pathlib.Path(WEIR).parent.parent


@pytest.mark.skipif(SANITIZED or RACES_SEEN or not shutil.which("cc"), reason="needs a compiler, and a library without sanitizers")
def test_the_program_of_the_page_runs(here):
    page = (pathlib.Path(os.environ["WEIR_SOURCE"]) / "docs/near.md").read_text()
    (here / "lines.c").write_text(re.search(r"```c\n(.*?)```", page, re.S)[1])
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", f"-I{os.environ['WEIR_SOURCE']}/include", "-o", "lines", "lines.c",
                    f"-L{BUILD}/near", f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/near:{BUILD}/lib", "-lweir-near", "-lweir"], check=True)
    text = "one two three four five six seven eight\nother words\nONE, two three four five -- six seven eight!\n"
    assert subprocess.run(["./lines"], input=text, text=True, capture_output=True, check=True).stdout == "3 resembles 1: 1.00\n"


# ---- real documents ----

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
DOCUMENTS = {"source": (SOURCE, [".md", ".c", ".h", ".py", ".build"]), "debian": (pathlib.Path("/usr/share/doc"), [])}
DOCUMENT_MAX = 20_000  # bytes


def words_of(text):
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text.casefold()))


def is_text(data):
    return 200 <= len(data) and b"\0" not in data and data.isascii()


def read_documents(folder, endings):
    """The texts of a directory, in an order that does not depend on the file system."""
    texts = []
    for path in sorted(folder.rglob("*")):
        hidden = {"build", ".git"} & set(path.relative_to(folder).parts)
        if path.is_file() and not path.is_symlink() and not hidden and (not endings or path.suffix in endings):
            data = path.read_bytes()[:DOCUMENT_MAX]
            texts += [data.decode()] if is_text(data) else []
    return texts


def edited(text, pick):
    """A text with between 0.03 and 6 % of its words changed, or once in ten times without one of its paragraphs."""
    if pick.random() < 0.1:
        paragraphs = text.split("\n\n")
        del paragraphs[pick.randrange(len(paragraphs))]
        return "\n\n".join(paragraphs)
    words = text.split(" ")
    for _ in range(max(1, int(10 ** pick.uniform(-3.5, -1.2) * len(words)))):
        words[pick.randrange(len(words))] = pick.choice(["changed", "", "two words", f"number{pick.randrange(99)}"])
    return " ".join(words)


class Judged:
    """Verdicts of a run, each with the highest exact similarity to a text that passed before."""

    def __init__(self, texts, *options):
        rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        verdicts = run(*NEAR, *options, "-q", "--words", "N,S", input=rows).lines
        sets = [shingles(words_of(text)) for text in texts]
        frequency, index, passed = collections.Counter(x for s in sets for x in s), collections.defaultdict(list), []
        self.rows = []
        for mine, verdict in zip(sets, verdicts):
            # Texts of similarity 0.7 share one of the rarest 3 in 10 shingles.
            rare = sorted(mine, key=lambda x: (frequency[x], x))[: int(0.3 * len(mine)) + 2]
            near = [passed[i] for i in {i for x in rare for i in index[x]} if 0.69 * len(mine) < len(passed[i]) < len(mine) / 0.69]
            self.rows.append((max((jaccard(mine, other) for other in near), default=0), verdict == "S"))
            if verdict == "N":
                for x in rare:
                    index[x].append(len(passed))
                passed.append(mine)

    def count(self, low, high=1.1, dropped=None):
        return sum(low <= j < high and dropped in (None, is_dropped) for j, is_dropped in self.rows)


@statistics
@pytest.mark.parametrize("name", DOCUMENTS)
def test_recall_and_precision_on_documents(name):
    originals, pick = read_documents(*DOCUMENTS[name]), random.Random(8)
    if len(originals) < 300:
        pytest.skip(f"needs 300 documents in {DOCUMENTS[name][0]}")
    originals = pick.sample(originals, min(len(originals), 1500))
    texts = originals + [edited(pick.choice(originals), pick) for _ in range(2000)]
    pick.shuffle(texts)
    judged = Judged(texts)
    relevant, dropped = judged.count(0.8), judged.count(0, dropped=True)
    recall, precision = judged.count(0.8, dropped=True) / relevant, judged.count(0.8, dropped=True) / dropped
    print(f"{len(texts)} texts, {relevant} near-duplicates: recall {recall:.4f}, precision {precision:.4f}")
    assert relevant > len(texts) / 5
    error = (0.04 * 0.96 / relevant) ** 0.5  # the sample of the source changes with each commit
    assert recall >= 0.96 - 2 * error and precision >= 0.97 - 2 * error, (recall, precision)
    assert judged.count(0, 0.7, dropped=True) <= 0.001 * len(texts)


def read_versions(n):
    """n versions of the source's files, oldest first, of the whole history."""
    git = ["git", "-C", str(SOURCE)]
    listed = subprocess.run([*git, "rev-list", "--objects", "--reverse", "HEAD"], capture_output=True, text=True).stdout
    versions = [line.split(" ")[0] for line in listed.splitlines() if line.endswith((".md", ".scd", ".c", ".h", ".py"))]
    chosen = sorted(random.Random(10).sample(range(len(versions)), min(n, len(versions))))
    read = subprocess.run([*git, "cat-file", "--batch"], input="".join(versions[i] + "\n" for i in chosen).encode(), capture_output=True)
    texts, at = [], 0
    while at < len(read.stdout):
        head, begin = read.stdout[at : at + 100].split(b"\n")[0], read.stdout.index(b"\n", at) + 1
        at = begin + int(head.split()[2]) + 1
        data = read.stdout[begin : at - 1][:DOCUMENT_MAX]
        texts += [data.decode()] if is_text(data) else []
    return texts


@statistics
def test_recall_and_precision_on_versions_of_files():
    """Many pairs of versions are close to the threshold, which makes both lower than on copies with few edits."""
    texts = read_versions(3000)
    if len(texts) < 1000:
        pytest.skip("needs the source's git history")
    judged = Judged(texts)
    relevant, dropped, both = judged.count(0.8), judged.count(0, dropped=True), judged.count(0.8, dropped=True)
    print(f"{len(texts)} versions, {relevant} near-duplicates: recall {both / relevant:.4f}, precision {both / dropped:.4f}")
    assert both >= 0.94 * relevant and both >= 0.92 * dropped, (both, relevant, dropped)
    assert judged.count(0, 0.7, dropped=True) <= 0.001 * len(texts)


@statistics
def test_false_drops_stay_rare_far_beyond_the_capacity():
    """Passages of the source's documents, ten times the 496 texts that 64K hold."""
    pick, pool = random.Random(9), [text.split() for text in read_documents(*DOCUMENTS["source"])]
    texts = []
    for _ in range(5000):
        words = pick.choice(pool)
        begin = pick.randrange(max(1, len(words) - 150))
        texts.append(" ".join(words[begin : begin + pick.randrange(60, 150)]))
    judged = Judged(texts, "-m", "64K")
    for tenth in range(10):
        rows = judged.rows[tenth * 500 : tenth * 500 + 500]
        new = [is_dropped for j, is_dropped in rows if j < 0.8]
        assert len(new) > 300 and sum(new) <= 0.02 * len(new), (tenth, sum(new), len(new))
    assert judged.count(0, 0.7, dropped=True) <= 5
