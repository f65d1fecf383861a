"""Bera, Dutta, Narang, Bhattacherjee 2012 (RSBF, BSBF, BSBFSD, RLBSBF): Tables 1-9, Figures 2-11,
the recurrences, and their clickstream experiment on a click trace."""
import csv
import math
import random

from common import (ROOT, Panel, agrees, difference, draw, evaluate, percent, say, unpacked)

FILTERS = ["sbf", "rsbf-tables", "bsbf", "bsbfsd", "rlbsbf"]  # their rsbf is our rsbf-tables
BESIDE = {"bloom": "`bloom` k=4", "rsbf": "`rsbf` of the text, k=2", "weir": "`weir` fpr=10%"}
SBF = ["cell=1", "decay=4"]
POINTS = 20
SLIP_SCALE = 1000


def printed():
    with open(ROOT / "tests" / "papers" / "bera2012.tsv") as f:
        return [{**row, **{c: float(row[c]) for c in ("n", "distinct_pct", "memory_mib", "fpr_pct", "fnr_pct")}}
                for row in csv.DictReader(f, delimiter="\t")]


def spec(n, distinct, scale):
    return f"uniform:n={int(n / scale)},distinct={distinct:g}%"


def bytes_of(mib, scale):
    return int(mib * 2**20 / scale)


def paper_name(algorithm):
    return "rsbf" if algorithm == "rsbf-tables" else algorithm


def mib_of(row, memories, scale):
    return min(memories, key=lambda m: abs(bytes_of(m, scale) - row["memory_bytes"]))


# ---- measuring ----

def measure_tables_by_k(scale):
    """Tables 1-3: one stream, k from 1 to 5."""
    ours, memories = {}, [8, 128, 512]
    for k in range(1, 6):
        say(f"Bera et al., Tables 1-3, k={k}")
        for row in evaluate("--synthetic", spec(1e9, 60, scale), filters=["bsbf", "bsbfsd", "rlbsbf"],
                            memories=[bytes_of(m, scale) for m in memories], sets=[f"k={k}"]):
            ours[(1e9, 60, mib_of(row, memories, scale), k, row["algorithm"])] = row
    return ours


def measure_borderline(ours, scale):
    """Two rows keep 3.8 and 3.9 % from the printed figure: nearer to full scale, so that noise does not decide."""
    scale = max(1, scale / 10)
    for k in 3, 4:
        say(f"Bera et al., Table 3, 512 MiB, k={k}, at 1/{scale:g}")
        ours[(1e9, 60, 512, k, "rlbsbf")], = evaluate("--synthetic", spec(1e9, 60, scale), filters=["rlbsbf"],
                                                      memories=[bytes_of(512, scale)], sets=[f"k={k}"])


def beside(*args, memories):
    """What they might have compared with."""
    return (evaluate(*args, filters=["bloom", "rsbf"], memories=memories)
            + evaluate(*args, filters=["weir"], memories=memories, sets=["fpr=10%"]))


def measure_streams(scale):
    """Tables 4-9 and all figures: six streams, four memories, k=2, over the stream."""
    curves, memories = {}, [64, 128, 256, 512]
    for n in 695e6, 1e9:
        for distinct in 15, 60, 90:
            say(f"Bera et al., {n / 1e6:g}M records, {distinct} % distinct")
            stream, sizes = spec(n, distinct, scale), [bytes_of(m, scale) for m in memories]
            rows = evaluate("--synthetic", stream, "--curve", POINTS, filters=FILTERS, memories=sizes,
                            sets=["k=2", *SBF])
            rows += beside("--synthetic", stream, "--curve", POINTS, memories=sizes)
            for row in rows:
                key = (n, distinct, mib_of(row, memories, scale), 2, row["algorithm"])
                curves.setdefault(key, []).append(row)
    return curves


def slipped_sbf(n, distinct, mib, scale=SLIP_SCALE, seed=1):
    """SBF whose runs to lower start in the lower half alone, as plainly as can be."""
    n, cells = int(n / scale), int(mib * 2**23 / scale)
    keys, half = universe(n, distinct / 100), cells // 2
    rng = random.Random(seed)
    below, place = rng.randrange, {}
    cell, wrong, all_of = bytearray(cells), [0, 0], [0, 0]
    for _ in range(n):
        key = below(keys)
        old = key in place
        if not old:
            place[key] = below(cells), below(cells)
        a, b = place[key]
        all_of[old] += 1
        wrong[old] += (cell[a] and cell[b]) != old
        start = below(half)
        for i in range(start, start + 4):
            cell[i] = 0
        cell[a] = cell[b] = 1
    return 100 * wrong[0] / all_of[0], 100 * wrong[1] / all_of[1]


def universe(n, share):
    """Keys U of which n draws show share * n: U (1 - e^(-n/U)) = share n."""
    low, high = 1.0, 1e12
    for _ in range(200):
        middle = (low * high) ** 0.5
        shown = middle * -math.expm1(-n / middle)
        low, high = (middle, high) if shown < share * n else (low, middle)
    return int(high)


# ---- tables ----

def table_rows(rows, ours):
    out, good, slips = [], 0, []
    for row in rows:
        name = "rsbf-tables" if row["algorithm"] == "rsbf" else row["algorithm"]
        got = ours[(row["n"], row["distinct_pct"], row["memory_mib"], int(row["k"]), name)]
        got = got[-1] if isinstance(got, list) else got
        fpr, fnr = 100 * got["fpr"], 100 * got["fnr"]
        slip = row["algorithm"] == "sbf" and row["memory_mib"] == 512
        fits = agrees(fpr, row["fpr_pct"]) and agrees(fnr, row["fnr_pct"])
        good += fits and not slip
        slips += [row] if slip else []
        out.append([f"{row['memory_mib']:g} MiB", row["k"], f"`{row['algorithm']}`", f"{row['fpr_pct']:.4g}",
                    f"{fpr:.4g}", difference(fpr, row["fpr_pct"]), f"{row['fnr_pct']:.4g}", f"{fnr:.4g}",
                    difference(fnr, row["fnr_pct"]), "" if fits else "slip" if slip else "**differs**"])
    return out, good, slips


HEAD = ["memory", "k", "filter", "FPR %, paper", "ours", "difference", "FNR %, paper", "ours", "difference", ""]


def write_tables(doc, ours):
    rows, good, slips = printed(), 0, []
    by_table = {t: [r for r in rows if r["table"] == t] for t in map(str, range(1, 10))}
    for table, its in by_table.items():
        lines, fits, slipped = table_rows(its, ours)
        good, slips = good + fits, slips + slipped
        doc.add(f"### Table {table}: {its[0]['n'] / 1e6:g}M records, {its[0]['distinct_pct']:g} % distinct")
        doc.table(HEAD, lines)
    others = len(rows) - good - len(slips)
    doc.count("Bera et al. 2012, Tables 1-9", f"{good} of {len(rows)} rows within 4 % or 0.15 points; {len(slips)} are SBF at 512 MiB, "
              f"a slip of the paper's{f'; {others} more differ' if others else ''}")
    return slips


def write_slips(doc, slips):
    doc.add("### SBF at 512 MiB",
            "512 MiB are 2^32 one-bit cells. If the random start of the run of cells to lower is drawn from 31 bits, the "
            f"upper half is never lowered. A plain model with that slip (at 1/{SLIP_SCALE}) gives what is printed:")
    lines = []
    for row in slips:
        say(f"Bera et al., SBF with the slip, {row['n'] / 1e6:g}M, {row['distinct_pct']:g} %")
        fpr, fnr = slipped_sbf(row["n"], row["distinct_pct"], row["memory_mib"])
        lines.append([f"{row['n'] / 1e6:g}M, {row['distinct_pct']:g} %", f"{row['fpr_pct']:.3g}", f"{fpr:.3g}",
                      f"{row['fnr_pct']:.3g}", f"{fnr:.3g}"])
    doc.table(["stream", "FPR %, paper", "with the slip", "FNR %, paper", "with the slip"], lines)


def write_beside(doc, curves):
    doc.add("### What they might have compared with",
            "The same streams and memories: a plain Bloom filter, RSBF as the text has it, and `weir`, beside the paper's best. FPR / "
            "FNR in percent. On such streams, where every old key is as likely to come again as a recent one and the end is "
            "known, Bloom is ahead wherever the stream fits; where it does not, it depends on what an error of either kind costs.")
    lines = []
    for (n, distinct, mib, k, name), rows in sorted(curves.items()):
        if name != "rlbsbf":
            continue
        pair = [curves[(n, distinct, mib, k, other)][-1] for other in ("rlbsbf", *BESIDE)]
        lines.append([f"{n / 1e6:g}M, {distinct} %", f"{mib} MiB",
                      *(f"{percent(r['fpr'])} / {percent(r['fnr'])}" for r in pair)])
    doc.table(["stream", "memory", "`rlbsbf` k=2", *BESIDE.values()], lines)


# ---- figures ----

FIGURES = [  # number, records, distinct, MiB, what the text says of it
    (2, 1e9, 15, 128, "FPR 1-2 %, stable from 300-350M; FNR of SBF nearly 45 %, of RLBSBF less than 1 %, falling"),
    (3, 1e9, 15, 256, "FPR 0.4-0.6 %; FNR from 30 % (SBF) to 0.2 % (RLBSBF)"),
    (4, 1e9, 15, 512, "FNR below 1 % for BSBF, BSBFSD, RLBSBF; RSBF half of SBF's"),
    (5, 1e9, 60, 128, "FNR of SBF 70 %, of RLBSBF almost 10 %, for 3 % more FPR"),
    (6, 1e9, 60, 256, "FPR 4-7 %; FNR better than SBF's by 2, 2.5, 5 and 10 times"),
    (7, 1e9, 60, 512, "FPR low and alike, FNR ever better than SBF's"),
    (8, 695e6, 15, 512, "FPR almost alike and stable; FNR far below SBF's"),
    (9, 695e6, 60, 512, "no stable FPR yet; FNR of BSBF, BSBFSD, RLBSBF near it, SBF's not"),
    (10, 695e6, 90, 512, "as Figure 9"),
]


def series(curves, n, distinct, mib, measure, scale):
    panel = Panel({"fpr": "FPR", "fnr": "FNR", "fill": "load"}[measure] + f", {mib} MiB", "records", "%", least=0)
    for name in FILTERS:
        rows = curves[(n, distinct, mib, 2, name)]
        panel.add(paper_name(name), [(row["n"] * scale, 100 * row[measure]) for row in rows
                                     if row[measure] is not None])
    return panel


def write_figures(doc, curves, scale):
    doc.add("### Figures 2-10", "FPR and FNR of all arrivals so far. The paper prints no numbers; what its text says of each "
            "figure stands beside ours at the end of the stream.")
    for number, n, distinct, mib, claim in FIGURES:
        path = draw(f"bera-{number}", [series(curves, n, distinct, mib, m, scale) for m in ("fpr", "fnr")], 2)
        end = {name: curves[(n, distinct, mib, 2, name)][-1] for name in FILTERS}
        doc.add(f"**Figure {number}**: {n / 1e6:g}M records, {distinct} % distinct, {mib} MiB. Paper: {claim}. Ours (FPR / FNR, %): "
                + ", ".join(f"{paper_name(f)} {percent(r['fpr'])} / {percent(r['fnr'])}" for f, r in end.items()) + ".")
        doc.figure(f"Figure {number}", path)
    path = draw("bera-11", [series(curves, 1e9, 15, mib, "fill", scale) for mib in (256, 512)], 2)
    doc.add("**Figure 11**: load (share of bits set), 1000M records, 15 % distinct. Paper: nearly stable from 300-400M on, sooner "
            "with more memory. Ours: the same shape; loads come to "
            + "; ".join(f"{mib} MiB: " + ", ".join(
                f"{paper_name(f)} {percent(curves[(1e9, 15, mib, 2, f)][-1]['fill'])} %" for f in FILTERS)
                for mib in (256, 512)) + ".")
    doc.figure("Figure 11", path)
    fnr = {(distinct, mib, name): f"{100 * curves[(1e9, distinct, mib, 2, name)][-1]['fnr']:.2g} %"
           for distinct, mib, name in ((15, 512, "bsbf"), (60, 128, "rlbsbf"))}
    doc.count("Bera et al. 2012, Figures 2-11", "redrawn; shapes and levels as the text says; where it rounds, the paper's "
              f"tables side with ours (Figure 4: FNR of BSBF {fnr[15, 512, 'bsbf']}, in the text below 1; "
              f"Figure 5: of RLBSBF {fnr[60, 128, 'rlbsbf']}, in the text almost 10)")


# ---- the recurrences ----

def mean_field(name, k):
    """Where dx/dt of a stream of fresh keys is 0: the stable FPR x^k, or None if that is 1."""
    clears = {"bsbf": lambda x: x, "rlbsbf": lambda x: x * x, "bsbfsd": lambda x: x / k}[name]
    low, high = 0.0, 1.0 - 1e-9
    for _ in range(200):
        x = (low + high) / 2
        low, high = (x, high) if (1 - x) - (1 - x**k) * clears(x) > 0 else (low, x)
    return None if low > 1 - 1e-6 else low**k


def write_recurrences(doc):
    say("Bera et al., the recurrences")
    doc.add("### The recurrences (3.27), (4.3), (5.2)",
            "They say that the load of every filter tends to 1: a bit already set is counted as set again. In the mean field of a "
            "stream of new keys (a set bit gains nothing) two of the three have a stable error below 1; measured over the last "
            "twentieth of 4M new keys in 64 KiB:")
    lines = []
    for k in 2, 3:
        rows = evaluate("--synthetic", "uniform:n=4M,distinct=100%", "--curve", 20, filters=["bsbf", "bsbfsd", "rlbsbf"],
                        memories=[65536], sets=[f"k={k}"])
        for name in "bsbf", "rlbsbf", "bsbfsd":
            end = [r for r in rows if r["algorithm"] == name][-1]
            stable = mean_field(name, k)
            lines.append([f"`{name}`", str(k), "100", "100, slowly" if stable is None else percent(stable),
                          percent(end["interval_fpr"])])
    doc.table(["filter", "k", "stable FPR %, recurrence", "mean field", "measured"], lines)
    doc.count("Bera et al. 2012, recurrences", "do not hold; the mean field does")


# ---- the clickstream ----

def write_clicks(doc):
    doc.add("### The clickstream")
    trace = unpacked("click_bms_webview2")
    if not trace:
        doc.add("Skipped: needs the folder of traces (`WEIR_TRACES`).")
        doc.count("Bera et al. 2012, clickstream", "skipped: no traces")
        return
    say("Bera et al., clickstream")
    sizes = [256, 512, 1024, 2048, 4096]
    rows = evaluate("--tsv", "-k", 1, trace.name, filters=FILTERS, memories=sizes, sets=["k=2", *SBF])
    rows += beside("--tsv", "-k", 1, trace.name, memories=sizes)
    doc.add(f"The paper's 3M clicks of KDD Cup 2000 are not to be had whole; this is their BMS-WebView-2 part: {rows[0]['n']:.0f} clicks "
            f"on {rows[0]['distinct']:.0f} pages. The paper prints no figures for it, only that the order is the same: SBF forgets most, RSBF "
            "next, then BSBF; RLBSBF least, but for memories below three bits per page, where BSBFSD forgets less at more false "
            "positives. So it is. FPR / FNR in percent:")
    names = {**{f: f"`{paper_name(f)}`" for f in FILTERS}, **BESIDE}
    lines = [[label, *(f"{percent(r['fpr'])} / {percent(r['fnr'])}" for r in rows if r["algorithm"] == name)]
             for name, label in names.items()]
    doc.table(["filter", *(f"{s} bytes" for s in sizes)], lines)
    doc.count("Bera et al. 2012, clickstream", f"{rows[0]['n']:.0f} clicks of the same source")


def write(doc, scale):
    doc.add("## Bera et al. 2012: RSBF, BSBF, BSBFSD, RLBSBF",
            f"Streams are n draws from U equally likely keys, U solved from U(1-e^(-n/U)) = D n; records and memory at 1/{scale:g} of "
            "the paper's, which changes only the noise (two rows of Table 3 that keep almost 4 % from the printed figure are at ten times "
            "that). Three things need a reading:",
            "",
            "- **RSBF.** Text and pseudo-code describe algorithms that forget nothing at 512 MiB, where Table 8 prints an FNR of 20 %. "
            "What gives every RSBF column is: each record, from the first, is inserted with probability min(1, s/i), and every "
            "insertion clears a random bit per array. That is `rsbf-tables`; `rsbf` is as the text says.",
            "- **SBF** is K=2, one bit per cell, P=4 (their FPS of 0.1 gives 4.33); at 512 MiB it slipped, see below.",
            "- **Swapped labels.** The first test of Algorithms 2-4 prints DISTINCT and DUPLICATE the wrong way round. MB are 2^20 bytes.")
    ours = measure_tables_by_k(scale)
    measure_borderline(ours, scale)
    curves = measure_streams(scale)
    slips = write_tables(doc, {**ours, **{k: v for k, v in curves.items() if k not in ours}})
    write_slips(doc, slips)
    write_beside(doc, curves)
    write_figures(doc, curves, scale)
    write_recurrences(doc)
    write_clicks(doc)
