"""Bhoraskar, Gabale, Kulkarni, Kulkarni 2013 (IBF): Figures 3-18, Table II, the sweep of M."""
import bisect
import csv
import itertools
import math
import random

from common import ROOT, Panel, draw, evaluate, percent, say, temporary, traces, unpacked

FILTERS = ["bloom", "sbf", "ibf-2c", "ibf-mc", "ibf-h"]
MEMORY = 16000  # 16 KB: 42.6K cells of 3 bits
K, P, TOP = 5, 10, 7
SETS = ["k=5", "cell=3", "decay=10"]
RECORDS = 100000
ORDERS = 5
BIASES = {  # name, figures, how likely a key of that importance is
    "even": ("9-11", lambda i: 1),
    "inverse": ("12-14", lambda i: 1 / i),
    "direct": ("15-17", lambda i: i),
}
SIZED = {  # traces with a size for importance: what they are
    "web_nasa_19950801": "a day of a web server's log (NASA, 1 August 1995), bytes sent",
    "block_cloudphysics": "disk requests of a virtual machine (CloudPhysics), bytes",
    "llm_mooncake_conversation": "cache blocks of a language-model service (Mooncake), tokens",
}


# ---- streams ----

def keys_for(repeats, weight):
    """How many keys make RECORDS draws have that share of repeats."""
    def distinct(keys):
        total = sum(weight(i) for i in range(1, 51)) / 50 * keys
        return sum(-math.expm1(RECORDS * math.log1p(-weight(i) / total)) for i in range(1, 51)) / 50 * keys

    low, high = 100.0, 1e9
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if distinct(middle) < (1 - repeats) * RECORDS else (low, middle)
    return int(high)


def synthetic(repeats, weight, seed=1):
    """Keys with an importance from 1 to 50 at random, drawn as likely as weight() says."""
    rng = random.Random(seed)
    keys = keys_for(repeats, weight)
    importance = [rng.randint(1, 50) for _ in range(keys)]
    upto = list(itertools.accumulate(weight(i) for i in importance))
    drawn = (min(bisect.bisect(upto, rng.random() * upto[-1]), keys - 1) for _ in range(RECORDS))
    return temporary("".join(f"{key}\t{importance[key]}\n" for key in drawn))


def measure(trace, importance, *args, cell=3):
    fields = ["--tsv", "-k", 1, "-i", 2, trace.name, "--permutations", ORDERS]
    sets = ["k=5", f"cell={cell}", "decay=10", f"importance={importance}"]
    return (evaluate(*fields, *args, filters=FILTERS, memories=[MEMORY], sets=sets)
            + evaluate(*fields, *args, filters=["weir"], memories=[MEMORY],
                       sets=[f"importance={importance}", "fpr=20%"]))


# ---- figures by importance ----

def panels(trace, importance, title):
    """How many arrivals, false positives, false negatives: by importance."""
    rows = measure(trace, importance, "--by-importance")
    groups = [r for r in rows if r["algorithm"] == "sbf"]
    middles = [middle(r["importance"]) for r in groups]
    log = "x" if middles[-1] > 1000 else ""
    arrivals = Panel(f"{title}: arrivals", "importance", "arrivals", least=0, log=log)
    arrivals.add("arrivals", [(x, r["n"]) for x, r in zip(middles, groups)], "lines", "#1d2329")
    out = [arrivals]
    for measure_of, name in ("fpr", "false positives"), ("fnr", "false negatives"):
        panel = Panel(f"{title}: {name}", "importance", "%", least=0, log=log)
        for f in FILTERS:
            points = [(x, 100 * r[measure_of]) for x, r in zip(middles, (r for r in rows if r["algorithm"] == f))
                      if r[measure_of] is not None]
            panel.add(f, points)
        out.append(panel)
    return out


def middle(text):
    """Of "3" or "10-19", something to plot at."""
    parts = [float(p) for p in str(text).split("-")] if isinstance(text, str) else [text]
    return max(sum(parts) / len(parts), 0.5)


def rates(row):
    return [percent(row[c]) for c in ("fpr", "fnr", "wfpr", "wfnr", "wfpr_all", "wfnr_all")]


RATES = ["FPR %", "FNR %", "wFPR %", "wFNR %", "wFP of all %", "wFN of all %"]


def write_synthetic(doc):
    doc.add("### Figures 9-17: synthetic streams",
            f"{RECORDS} records (the paper does not say how many), importance 1-50 at random, 10, 30 or 50 % of the records repeats; a key "
            "comes as often as any other, or in proportion to its importance (direct), or to one over it (inverse). Each is shown "
            f"in {ORDERS} shuffled orders. Importance in tenths of the arrivals.")
    lines = []
    for bias, (figures, weight) in BIASES.items():
        drawn = []
        for repeats in 0.1, 0.3, 0.5:
            say(f"Bhoraskar et al., {bias}, {100 * repeats:g} % repeats")
            trace = synthetic(repeats, weight)
            drawn += panels(trace, "1-50", f"{bias}, {100 * repeats:g} %")
            lines += [[bias, f"{100 * repeats:g} %", f"`{row['algorithm']}`", *rates(row)]
                      for row in measure(trace, "1-50")]
        doc.add(f"**Figures {figures}**: {bias}, 10, 30 and 50 % repeats; data, false positives, false negatives.")
        doc.figure(f"Figures {figures}", draw(f"bhoraskar-{bias}", drawn, 3))
    doc.add("As printed: false positives fall from SBF over 2C and MC to H; the false negatives of IBF fall with importance, in two steps for 2C "
            "and gradually for MC and H; H forgets more than MC. Not as printed: that IBF has about as few false negatives as SBF for what "
            "matters most (at this length SBF forgets less at every importance, and takes twice as many new keys for seen), and that "
            "BF is the worst: a plain Bloom filter of these 16 KB has fewer false positives than SBF, and forgets nothing. `weir` "
            "with the same importance (fpr=20%) is beside them:")
    doc.table(["bias", "repeats", "filter", *RATES], lines)
    doc.count("Bhoraskar et al. 2013, Figures 9-17", "redrawn for 10, 30 and 50 % repeats; trends with importance as printed, levels of BF and SBF not")


# ---- real streams ----

def video():
    """Video requests as theirs; the trace has no lengths, so each video gets one at random."""
    trace = unpacked("video_youtube_ids_100k")
    if not trace:
        return None
    rng, length, lines = random.Random(1), {}, []
    for line in open(trace.name):
        key = line.split("\t")[0]
        if key not in length:
            length[key] = max(1, int(rng.lognormvariate(5.2, 1)))
        lines.append(f"{key}\t{length[key]}\n")
    return temporary("".join(lines))


def short(name):
    return name.split("_")[0]


def real():
    found = {short(name): trace for name in SIZED if (trace := unpacked(name))}
    return {**found, "video": video()} if (traces() and found) else {}


def write_real(doc):
    doc.add("### Figures 3-8: real streams, importance by length",
            "The first data set maps importance linearly with the top tenth capped (`importance=capped`), the second by percentile "
            "(`importance=percentile`). The paper's trace of YouTube requests is not to be had with lengths. In its place: "
            + "; ".join(f"*{short(n)}*, {what}" for n, what in SIZED.items())
            + "; *video*, requests of the same kind as theirs, 100,000 on a campus network, with lengths drawn at random (lognormal).")
    found = real()
    if not found:
        doc.add("Skipped: needs the folder of traces (`WEIR_TRACES`).")
        doc.count("Bhoraskar et al. 2013, Figures 3-8, Table II", "skipped: no traces")
        return
    for figures, importance in ("3-5", "capped"), ("6-8", "percentile"):
        drawn = []
        for name in "video", "web", "block":  # most arrivals of llm have one importance
            if found.get(name):
                say(f"Bhoraskar et al., {name}, {importance}")
                drawn += panels(found[name], importance, name)
        doc.add(f"**Figures {figures}**: importance {importance}; data, false positives, false negatives.")
        doc.figure(f"Figures {figures}", draw(f"bhoraskar-{importance}", drawn, 3))
    doc.add("As in the paper, false positives fall from SBF over 2C to MC at every importance, and the false negatives of 2C and MC fall with "
            "importance (*video*; where importance and the time between two requests go together, as in *block*, they need not). Not "
            "as in the paper, SBF forgets less than all of them, at every importance.")
    doc.count("Bhoraskar et al. 2013, Figures 3-8", "redrawn on other traces; trends as printed, but SBF forgets less than IBF")
    write_table2(doc, found)


def printed_table2():
    with open(ROOT / "tests" / "papers" / "bhoraskar2013_table2.tsv") as f:
        return {(r["dataset"], r["algorithm"]): r for r in csv.DictReader(f, delimiter="\t")}


def write_table2(doc, found):
    paper, lines = printed_table2(), []
    for data, importance in ("1", "capped"), ("2", "percentile"):
        for f in FILTERS:
            row = paper[(data, f)]
            lines.append([f"paper {data}", f"`{f}`", row["fp_pct"], row["fn_pct"], row["wfp_pct"], row["wfn_pct"]])
        for name, trace in found.items():
            say(f"Bhoraskar et al., Table II, {name}, {importance}")
            for row in measure(trace, importance):
                share = row["distinct"] / row["n"]
                of_all = row["fpr"] * share, (row["fnr"] or 0) * (1 - share)
                lines.append([f"{name}, {importance}", f"`{row['algorithm']}`", *(percent(x) for x in of_all),
                              percent(row["wfpr_all"]), percent(row["wfnr_all"])])
    doc.add("### Table II",
            "Errors of all arrivals, in percent, weighted and not. The paper defines wFP and wFN so, but not what FP and FN are divided by, nor how "
            "long its trace is: its levels are not to be explained, only shown. `weir` is that of fpr=20%, the paper's bound.")
    doc.table(["data", "filter", "FP", "FN", "wFP", "wFN"], lines)
    doc.count("Bhoraskar et al. 2013, Table II", "layout redone; as printed, FP falls and FN rises from SBF over 2C to MC; BF has more false positives than SBF there, fewer on three of four traces here")


# ---- the sweep of M ----

def write_sweep(doc):
    doc.add("### M = 3, 7, 15",
            "The paper fixes memory, K and P and finds the sum of both rates least at M = 7 (on streams of its own, for which filter it does not say). Ours, 30 % repeats, FPR / FNR / sum in percent:")
    lines, best = [], []
    for bias, (_, weight) in BIASES.items():
        say(f"Bhoraskar et al., sweep of M, {bias}")
        trace = synthetic(0.3, weight)
        by_cell = {cell: {r["algorithm"]: r for r in measure(trace, "1-50", cell=cell)} for cell in (2, 3, 4)}
        for f in "ibf-2c", "ibf-mc", "ibf-h":
            sums = {cell: rows[f]["fpr"] + rows[f]["fnr"] for cell, rows in by_cell.items()}
            least = min(sums, key=sums.get)
            best.append(least == 3)
            lines.append([bias, f"`{f}`", *(f"{percent(rows[f]['fpr'])} / {percent(rows[f]['fnr'])} / {percent(sums[c])}"
                                            for c, rows in by_cell.items()), str(2**least - 1)])
    doc.table(["bias", "filter", "M = 3", "M = 7", "M = 15", "least at"], lines)
    doc.count("Bhoraskar et al. 2013, M = 3, 7, 15", f"the sum is least at M = 7 in {sum(best)} of {len(best)} cases")


# ---- Figure 18 ----

def law(classes, harmonic=False):
    """V_0 of the stationary law; classes[i]: share of arrivals of class i + 1."""
    top, r = len(classes), P / K
    above = [sum(classes[i - 1:]) for i in range(1, top + 1)]
    if harmonic:
        return harmonic_law(above, r)
    t = 0.0
    for i in range(top, 0, -1):
        t = (above[i - 1] + r * t) / (above[i - 1] + r)
    return 1 - t


def harmonic_law(above, r):
    """A_i (1 - T_i) = r V_i / (i H), H = sum V_j / j: by iteration on H."""
    low, high = 1e-6, 1.0
    for _ in range(200):
        h = (low + high) / 2
        t, values = 0.0, {}
        for i in range(len(above), 0, -1):
            c = r / (i * h)
            t, before = (above[i - 1] + c * t) / (above[i - 1] + c), t
            values[i] = t - before
        got = sum(v / i for i, v in values.items())
        low, high = (h, high) if got > h else (low, h)
    return 1 - t


def expected():
    sizes = [8 if i == 0 else 7 for i in range(7)]  # of 50 values in seven classes
    even = [s / 50 for s in sizes]
    two = [0, 0, 0, 0.5, 0, 0, 0.5]  # M/2 = 4 and M
    return {"sbf": law([0] * 6 + [1]), "ibf-2c": law(two), "ibf-mc": law(even), "ibf-h": law(even, True)}


def write_zeros(doc):
    say("Bhoraskar et al., Figure 18")
    n = 400000
    rows = evaluate("--synthetic", f"uniform:n={n},distinct=100%,importance=1-50", "--curve", 40, filters=FILTERS,
                    memories=[MEMORY], sets=[*SETS, "importance=1-50"])
    panel, theory, lines = Panel("cells with value zero", "arrivals", "% of cells", least=0, most=100), expected(), []
    for f in FILTERS:
        points = [(r["n"], 100 * (1 - r["fill"])) for r in rows if r["algorithm"] == f]
        panel.add(f, points)
        measured = sum(y for x, y in points if x > n / 2) / sum(x > n / 2 for x, _ in points)
        if f in theory:
            panel.add(f"{f}, theory", [(0, 100 * theory[f]), (n, 100 * theory[f])], colour=None, dashed=True)
        lines.append([f"`{f}`", percent(theory[f], 4) if f in theory else "0 in the end", f"{measured:.4g}"])
    doc.add("### Figure 18: cells with value zero",
            "New keys only, importance 1-50 even, M = 7, K = 5, P = 10. The law is T_i = (A_i + r T_(i+1)) / (A_i + r) with r = P/K, for any mix "
            "of importance (for H with draws in proportion to 1/value); the paper's proof for 2C lacks an exponent. Mean of the second half:")
    doc.table(["filter", "zeros %, theory", "measured"], lines)
    doc.figure("Figure 18", draw("bhoraskar-18", [panel], 1))
    doc.count("Bhoraskar et al. 2013, Figure 18", "stable, and where the law says; BF fills up")


def write(doc):
    doc.add("## Bhoraskar et al. 2013: importance-aware filters",
            f"16 KB, K = 5, P = 10, M = 7, as its Table III. SBF is the same with every key of the top class; BF has one bit per cell. `{' '.join(SETS)}`.")
    write_real(doc)
    write_synthetic(doc)
    write_sweep(doc)
    write_zeros(doc)
