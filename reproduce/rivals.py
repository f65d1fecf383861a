"""Rivals since: filters and a sketch of others, written from their descriptions in bench/, beside ours."""
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
    doc.add("## Rivals since",
            "What was published after the papers above, each written anew from its description (`bench/rivals.h`, `bench/cuckoo_keeper.h`), for comparison only: none of it is in the library.")


# ---- filters ----

def per_mib(age):
    return f"{age / 1000:.0f}K"


def write_retention(doc, _):
    rows = rows_of("retention", "--rivals", "--memory", MEMORY)
    fixed, by_error = rows[:2], [rows[2 + 5 * i:7 + 5 * i] for i in range(len(ERRORS))]
    doc.add("### Filters that forget by age",
            f"`build/bench/retention --rivals --memory {MEMORY}`: an endless stream of new keys, as in [the filter recent](recent.md#retention); error asked for as a ceiling at the fullest. *epoch*: Guarded Epoch Bloom (arXiv 2606.19210), r = 8 as in its figures and with the "
            "r that remembers most. *time-limited*: Time-limited Bloom filter (arXiv 2306.06742); where keys come evenly its generations are as long as those of an age-partitioned filter. *cuckoo*: buckets of 4 slots, a print, 8 bits of age for time-to-live and LRU, 8 bits of a counter; "
            "prints of 16 bits, or as many as the error takes.")
    lines = []
    for asked, group in [("", fixed), *zip(ERRORS, by_error)]:
        for row in group:
            lines.append([asked, f"`{row['algorithm']}`" if row["algorithm"] == "recent" else row["algorithm"],
                          " ".join(word for word in row["settings"].split() if not word.startswith(("memory", "importance", "hash", "seed"))),
                          f"{percent(row['fpr'])} %", f"{row['bits_per_key']:.2f}", f"{row['limit_ratio']:.2f}", per_mib(row["age99"]), per_mib(row["age90"]), per_mib(row["age50"])])
    doc.table(["asked", "filter", "settings", "fpr", "bits per key", "limit ratio", "age99", "age90", "age50"], lines)
    fewer, ratios = [], []
    for asked, group in zip(ERRORS, by_error):
        best = min(group[:-1], key=lambda row: row["limit_ratio"])
        ratios.append(best["limit_ratio"] / group[-1]["limit_ratio"])
        fewer.append(f"{best['limit_ratio']:.2f} ({best['algorithm']}) against {group[-1]['limit_ratio']:.2f} at {asked}")
    won = [asked for asked, ratio in zip(ERRORS, ratios) if ratio > 1]
    doc.add(f"With 14 bits for each live key the epoch filter errs at {percent(fixed[0]['fpr'])} % on average over its epochs: the paper's 2.2 % comes out. Bits per key over log2(1/error), the best rival against `recent`: "
            + "; ".join(fewer) + f". `recent` needs least at {' and '.join(won) if won else 'none of them'}{'' if len(won) == len(ERRORS) else '; at ' + ' and '.join(a for a in ERRORS if a not in won) + ' few epochs need less, as `two-buffer` does'}. "
            "What a rival has and it has not: the window of the epoch filter and of the time-limited one is certain (age99 near age50).")
    doc.count("Guarded Epoch Bloom, time-limited Bloom, cuckoo with TTL and LRU", f"14 bits give {percent(fixed[0]['fpr'])} % (printed 2.2); `recent` remembers more per bit at {', '.join(won) if won else 'no error'} of {', '.join(ERRORS)}")


# ---- frequent keys ----

NAMES = ["top", "heavykeeper", "cuckoo-keeper"]


def write_counts(doc, streams):
    """Found and off by stream and memory; returns how often Cuckoo Heavy Keeper is ahead of both, level, behind one."""
    lines, ahead, level, behind, nearer, all_found = [], 0, 0, 0, 0, 0
    for stream, rows in streams.items():
        for kib in sorted({row["kib"] for row in rows}):
            three = {row["sketch"]: row for row in rows if row["kib"] == kib}
            found = {name: three[name]["found"] for name in NAMES}
            best = max(found["top"], found["heavykeeper"])
            ahead, level, behind = ahead + (found["cuckoo-keeper"] > best), level + (found["cuckoo-keeper"] == best), behind + (found["cuckoo-keeper"] < best)
            if min(found.values()) >= 50:
                all_found += 1
                nearer += three["cuckoo-keeper"]["off"] < min(three[name]["off"] for name in NAMES[:2])
            lines.append([stream, f"{kib:.0f} KiB", *(f"{found[name]:.0f} / {three[name]['off']:.2g}" for name in NAMES)])
    doc.table(["stream", "memory", *(f"`{name}`" if name != "cuckoo-keeper" else "Cuckoo Heavy Keeper" for name in NAMES)], lines)
    return ahead, level, behind, nearer, all_found


def verdict(doc, counted, what):
    ahead, level, behind, nearer, all_found = counted
    doc.add(f"Of {ahead + level + behind} cases Cuckoo Heavy Keeper finds more of the first 50 than both of ours in {ahead}, as many as the better in {level}, fewer in {behind}; of the {all_found} in which all three find all, its counts are nearer than both in {nearer}. "
            + ("It is not taken as a sketch: the better of `heavykeeper` and `top` finds as many or more nearly everywhere." if ahead <= behind else "It is ahead of both more often than behind."))
    doc.count(f"Cuckoo Heavy Keeper, {what}", f"ahead of `top` and `heavykeeper` in {ahead} of {ahead + level + behind} cases, behind the better in {behind}: the claim of better accuracy {'does not hold against these' if ahead <= behind else 'holds here'}")


def write_frequent(doc, _):
    rows = rows_of("frequent", "--draws", 1000000)
    streams = {}
    for row in rows:
        streams.setdefault(row["stream"], []).append(row)
    doc.add("### Frequent keys: Cuckoo Heavy Keeper",
            "arXiv 2412.12873 claims accuracy up to four orders of magnitude better than that of its rivals, HeavyKeeper among them, in little memory and at low skew. `bench/cuckoo_keeper.h` says how its description was read. Here it keeps 50 keys by estimate beside its buckets, as `heavykeeper` does, and takes as much memory in all. "
            "A million draws from a million keys by Zipf's law (`build/bench/frequent`): how many of the true first 50 are told / how far their counts are off, as a share:")
    verdict(doc, write_counts(doc, streams), "Zipf")


def write_frequent_traces(doc, _):
    streams = {}
    for name in TRACES:
        trace = unpacked(name)
        streams[name.split("_")[0] + " " + name.split("_")[1]] = rows_of("frequent", trace.name)
    doc.add("### The same on real streams")
    verdict(doc, write_counts(doc, streams), "real streams")


PARTS = [
    Part("rivals", write_head),
    Part("rivals-retention", write_retention),
    Part("rivals-frequent", write_frequent),
    Part("rivals-frequent-traces", write_frequent_traces, traces=True),
]
