"""Later algorithms by others, implemented from their papers in bench/peers/, compared with weir's."""
import csv
import io

from common import ROOT, Part, number, output_of, percent, unpacked

BENCH = ROOT / "build" / "bench"
MEMORY = "32K"
ERRORS = ["5%", "1%", "0.1%", "0.01%"]
TRACES = ["video_youtube_ids_100k", "click_bms_webview2", "web_nasa_19950801", "block_cloudphysics", "llm_mooncake_conversation",
          "query_hosts_201511", "query_spam_ip_201505"]


def rows_of(program, *args):
    printed = output_of([str(BENCH / program), *map(str, args)])
    return [{name: number(text) for name, text in row.items()} for row in csv.DictReader(io.StringIO(printed), delimiter="\t")]


def write_head(doc, _):
    doc.add("## Later algorithms",
            "Algorithms published after the papers above. They are implemented from their descriptions (`bench/peers/peers.h`, "
            "`bench/peers/cuckoo_keeper.h`) for comparison only; the library does not contain them.")


# ---- filters ----

def per_mib(age):
    return f"{age / 1000:.0f}K"


def write_retention(doc, _):
    rows = rows_of("retention", "--peers", "--memory", MEMORY)
    fixed, by_error = rows[:2], [rows[2 + 5 * i:7 + 5 * i] for i in range(len(ERRORS))]
    doc.add("### Filters that forget by age",
            f"`build/bench/retention --peers --memory {MEMORY}`: an unbounded stream of new keys, as in [recent](recent.md#retention). "
            "The requested rate is a maximum, reached when the filter is fullest.", "",
            "- *epoch*: [Guarded Epoch Bloom filter](references.md#alpay2026) with r = 8, as in its figures, and with the r that "
            "remembers most.",
            "- *time-limited*: [Time-limited Bloom filter](references.md#rodrigues2023). If keys arrive evenly, its generations are as "
            "long as those of an age-partitioned filter.",
            "- *cuckoo*: a cuckoo filter with buckets of 4 slots, a fingerprint, 8 bits of age for time-to-live and LRU, and an 8-bit "
            "counter. Fingerprints have 16 bits, or as many as the rate requires.")
    lines = []
    for asked, group in [("", fixed), *zip(ERRORS, by_error)]:
        for row in group:
            settings = [word for word in row["settings"].split() if not word.startswith(("memory", "importance", "hash", "seed"))]
            lines.append([asked, f"`{row['algorithm']}`" if row["algorithm"] == "recent" else row["algorithm"], " ".join(settings),
                          f"{percent(row['fpr'])} %", f"{row['bits_per_key']:.2f}", f"{row['limit_ratio']:.2f}", per_mib(row["age99"]),
                          per_mib(row["age90"]), per_mib(row["age50"])])
    doc.table(["requested", "filter", "settings", "fpr", "bits per key", "limit ratio", "age99", "age90", "age50"], lines)
    won, compared = [], []
    for asked, group in zip(ERRORS, by_error):
        best, recent = min(group[:-1], key=lambda row: row["limit_ratio"]), group[-1]
        if recent["limit_ratio"] < best["limit_ratio"]:
            won.append(asked)
        compared.append([asked, best["algorithm"], f"{best['limit_ratio']:.2f}", f"{recent['limit_ratio']:.2f}"])
    doc.add(f"With 14 bits per live key, the epoch filter's rate is {percent(fixed[0]['fpr'])} % on average over its epochs, compared "
            "with 2.2 % in its paper. Bits per key divided by log2(1/error), the best other filter compared with `recent`:")
    doc.table(["requested", "best other filter", "its ratio", "`recent`"], compared)
    lost = [asked for asked in ERRORS if asked not in won]
    doc.add(f"`recent` has the lowest ratio at {', '.join(won) or 'no rate'}."
            + (f" At {', '.join(lost)}, filters of a few epochs need fewer bits, like `two-buffer`." if lost else "")
            + " Unlike `recent`, the epoch and time-limited filters guarantee their window (age99 is near age50).")
    doc.count("Guarded Epoch Bloom, time-limited Bloom, cuckoo with TTL and LRU", f"14 bits give {percent(fixed[0]['fpr'])} % (printed: 2.2); "
              f"`recent` remembers more keys per bit at {', '.join(won) or 'no rate'} of {', '.join(ERRORS)}")


# ---- frequent keys ----

NAMES = ["top", "heavykeeper", "cuckoo-keeper"]


def write_counts(doc, streams):
    """A row for each stream and memory. Returns in how many cases Cuckoo Heavy Keeper is better than both other sketches,
    equal to the better one, or worse; and in how many all three find all keys, and it has the best counts there."""
    lines, ahead, level, behind, nearer, all_found = [], 0, 0, 0, 0, 0
    for stream, rows in streams.items():
        for kib in sorted({row["kib"] for row in rows}):
            three = {row["sketch"]: row for row in rows if row["kib"] == kib}
            found = {name: three[name]["found"] for name in NAMES}
            best, keeper = max(found["top"], found["heavykeeper"]), found["cuckoo-keeper"]
            ahead, level, behind = ahead + (keeper > best), level + (keeper == best), behind + (keeper < best)
            if min(found.values()) >= 50:
                all_found += 1
                nearer += three["cuckoo-keeper"]["off"] < min(three[name]["off"] for name in NAMES[:2])
            lines.append([stream, f"{kib:.0f} KiB", *(f"{found[name]:.0f} / {three[name]['off']:.2g}" for name in NAMES)])
    doc.table(["stream", "memory", *(f"`{name}`" if name != "cuckoo-keeper" else "Cuckoo Heavy Keeper" for name in NAMES)], lines)
    return ahead, level, behind, nearer, all_found


def verdict(doc, counted, what):
    ahead, level, behind, nearer, all_found = counted
    cases = ahead + level + behind
    doc.add(f"In {cases} cases, Cuckoo Heavy Keeper finds more of the first 50 keys than both others in {ahead}, as many as the better in "
            f"{level}, and fewer in {behind}. In {all_found} cases all three find all keys; its counts are the most accurate in {nearer} "
            "of them. " + ("It is not included, because the better of `heavykeeper` and `top` finds at least as many in almost all cases."
                           if ahead <= behind else "It is better than both more often than worse."))
    doc.count(f"Cuckoo Heavy Keeper, {what}", f"better than `top` and `heavykeeper` in {ahead} of {cases} cases, worse than the better "
              f"of them in {behind}; the claimed accuracy is {'not confirmed' if ahead <= behind else 'confirmed'}")


def write_frequent(doc, _):
    rows = rows_of("frequent", "--draws", 1000000)
    streams = {}
    for row in rows:
        streams.setdefault(row["stream"], []).append(row)
    doc.add("### Frequent keys: Cuckoo Heavy Keeper",
            "[Ngo and Papatriantafilou 2024](references.md#ngo2024) claim that their sketch is up to four orders of magnitude more "
            "accurate than others, including HeavyKeeper, in little memory and at low skew. `bench/peers/cuckoo_keeper.h` states how "
            "the description was interpreted. Here it stores 50 keys by estimate in addition to its buckets, like `heavykeeper`, in the "
            "same total memory. A million draws from a million Zipf keys (`build/bench/frequent`). Cells: how many of the true first 50 "
            "keys are found / the relative error of their counts.")
    verdict(doc, write_counts(doc, streams), "Zipf")


def write_frequent_traces(doc, _):
    streams = {}
    for name in TRACES:
        trace = unpacked(name)
        streams[name.split("_")[0] + " " + name.split("_")[1]] = rows_of("frequent", trace.name)
    doc.add("### Frequent keys in real streams", "The same sketches on real streams, with the same columns.")
    verdict(doc, write_counts(doc, streams), "real streams")


PARTS = [
    Part("comparisons", write_head),
    Part("comparisons-retention", write_retention),
    Part("comparisons-frequent", write_frequent),
    Part("comparisons-frequent-traces", write_frequent_traces, traces=True),
]
