"""Bhoraskar, Gabale, Kulkarni, Kulkarni 2013 (IBF): Figures 3-18, Table II, the sweep of M."""
import bisect
import itertools
import math
import random

import bhoraskar_table as table
from bhoraskar_streams import BF, CELLS, FILTERS, K, MEMORY, ORDERS, P, SETS, SIZED, measure, real, short
from common import COLOURS, Panel, Part, draw, evaluate, percent, say, temporary

RECORDS = 100000
BIASES = {  # name, figures, how likely a key of that importance is
    "even": ("9-11", lambda i: 1),
    "inverse": ("12-14", lambda i: 1 / i),
    "direct": ("15-17", lambda i: i),
}


LABEL = {BF: "`bloom`, as many cells", "bloom": "`bloom`, 16 KB"}
DRAWN = [*FILTERS, "bloom"]


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


# ---- figures by importance ----

def panels(trace, importance, title, kept=None):
    """How many arrivals, false positives, false negatives: by importance. The rows go to kept."""
    rows = measure(trace, importance, "--permutations", ORDERS, "--by-importance")
    groups = [r for r in rows if r["algorithm"] == "sbf"]
    if kept is not None:
        kept.append({f: [r for r in rows if r["algorithm"] == f] for f in DRAWN})
    middles = [middle(r["importance"]) for r in groups]
    log = "x" if middles[-1] > 1000 else ""
    arrivals = Panel(f"{title}: arrivals", "importance", "arrivals", least=0, log=log)
    arrivals.add("arrivals", [(x, r["n"]) for x, r in zip(middles, groups)], "lines", "#1d2329")
    out = [arrivals]
    for measure_of, name in ("fpr", "false positives"), ("fnr", "false negatives"):
        panel = Panel(f"{title}: {name}", "importance", "%", least=0, log=log)
        for f in DRAWN:
            points = [(x, 100 * r[measure_of]) for x, r in zip(middles, (r for r in rows if r["algorithm"] == f))
                      if r[measure_of] is not None]
            panel.add(f, points, colour=None if f in FILTERS else COLOURS["bloom"], dashed=f == "bloom")
        out.append(panel)
    return out


def middle(text):
    """Of "3" or "10-19", something to plot at."""
    parts = [float(p) for p in str(text).split("-")] if isinstance(text, str) else [text]
    return max(sum(parts) / len(parts), 0.5)


def rates(row):
    return [percent(row[c]) for c in ("fpr", "fnr", "wfpr", "wfnr", "wfpr_all", "wfnr_all")]


RATES = ["FPR %", "FNR %", "wFPR %", "wFNR %", "wFP of all %", "wFN of all %"]


def write_synthetic(doc, _):
    doc.add("### Figures 9-17: synthetic streams",
            f"{RECORDS} records (the paper does not say how many), importance 1-50 at random, 10, 30 or 50 % of the records repeats; a key "
            "comes as often as any other, or in proportion to its importance (direct), or to one over it (inverse). Each is shown "
            f"in {ORDERS} shuffled orders. Importance in tenths of the arrivals.")
    lines, every = [], {}
    for bias, (figures, weight) in BIASES.items():
        drawn = []
        for repeats in 0.1, 0.3, 0.5:
            say(f"Bhoraskar et al., {bias}, {100 * repeats:g} % repeats")
            trace = synthetic(repeats, weight)
            drawn += panels(trace, "1-50", f"{bias}, {100 * repeats:g} %")
            rows = measure(trace, "1-50", "--permutations", ORDERS)
            every[bias, repeats] = {row["algorithm"]: row for row in rows}
            lines += [[bias, f"{100 * repeats:g} %", LABEL.get(row["algorithm"], f"`{row['algorithm']}`"), *rates(row)] for row in rows]
        doc.add(f"**Figures {figures}**: {bias}, 10, 30 and 50 % repeats; data, false positives, false negatives.")
        doc.figure(f"Figures {figures}", draw(f"bhoraskar-{bias}", drawn, 3))
    worst = sum(rows[BF]["fpr"] == max(row["fpr"] for row in rows.values()) for rows in every.values())
    least = sum(rows["sbf"]["fnr"] < min(rows[f]["fnr"] for f in ("ibf-2c", "ibf-mc", "ibf-h")) for rows in every.values())
    h_more = sum(rows["ibf-h"]["fnr"] > rows["ibf-mc"]["fnr"] for rows in every.values())
    falling = sum(rows["sbf"]["fpr"] > rows["ibf-2c"]["fpr"] > rows["ibf-mc"]["fpr"] > rows["ibf-h"]["fpr"] for rows in every.values())
    doc.add(f"As printed: false positives fall from SBF over 2C and MC to H (in {falling} of {len(every)} cases); the false negatives of IBF fall with importance, in two steps for 2C "
            f"and gradually for MC and H; H forgets more than MC (in {h_more}). BF is the worst in false positives in {worst} of {len(every)} cases if it has as many cells "
            f"as the others, {CELLS} bits, as the paper's Table IV has it (M-insert with M = 1); of all 16 KB, {8 * MEMORY // 1000}K bits, a plain Bloom filter has fewer false positives than SBF "
            f"in {sum(rows['bloom']['fpr'] < rows['sbf']['fpr'] for rows in every.values())}, and it never forgets. "
            f"Not as printed: that IBF has about as few false negatives as SBF for what matters most. SBF forgets least in {least} of {len(every)} cases, at every importance, and must ([below](#the-proof-for-2c-and-who-forgets-least)). "
            "`recent` with the same importance (fpr=20%) is beside them:")
    doc.table(["bias", "repeats", "filter", *RATES], lines)
    doc.count("Bhoraskar et al. 2013, Figures 9-17", f"redrawn for 10, 30 and 50 % repeats; trends with importance as printed; BF of as many cells is the worst in {worst} of {len(every)} cases; SBF forgets less than IBF")


# ---- real streams ----

def write_real(doc, _):
    doc.add("### Figures 3-8: real streams, importance by length",
            "The first data set maps importance linearly with the top tenth capped (`importance=capped`), the second by percentile "
            "(`importance=percentile`). The paper's trace of YouTube requests is not to be had with lengths. In its place: "
            + "; ".join(f"*{short(n)}*, {what}" for n, what in SIZED.items())
            + "; *video*, requests of the same kind as theirs, 100,000 on a campus network, with lengths drawn at random (lognormal).")
    found = real()
    kept = []
    for figures, importance in ("3-5", "capped"), ("6-8", "percentile"):
        drawn = []
        for name in "video", "web", "block":  # most arrivals of llm have one importance
            if found.get(name):
                say(f"Bhoraskar et al., {name}, {importance}")
                drawn += panels(found[name], importance, name, kept)
        doc.add(f"**Figures {figures}**: importance {importance}; data, false positives, false negatives.")
        doc.figure(f"Figures {figures}", draw(f"bhoraskar-{importance}", drawn, 3))
    falling, least, groups = 0, 0, 0
    for rows in kept:
        for sbf, two, many in zip(rows["sbf"], rows["ibf-2c"], rows["ibf-mc"]):
            if None in (sbf["fpr"], sbf["fnr"]):
                continue
            groups += 1
            falling += sbf["fpr"] >= two["fpr"] >= many["fpr"]
            least += sbf["fnr"] <= min(two["fnr"], many["fnr"])
    doc.add(f"As in the paper, false positives fall from SBF over 2C to MC (in {falling} of {groups} groups of importance), and the false negatives of 2C and MC fall with "
            "importance (*video*; where importance and the time between two requests go together, as in *block*, they need not). Not "
            f"as in the paper, SBF forgets less than both (in {least} of {groups}).")
    doc.count("Bhoraskar et al. 2013, Figures 3-8", "redrawn on other traces; trends as printed, but SBF forgets less than IBF")


# ---- the sweep of M ----

def write_sweep(doc, _):
    doc.add("### M = 3, 7, 15",
            "The paper fixes memory, K and P and finds the sum of both rates least at M = 7 (on streams of its own, for which filter it does not say). Ours, 30 % repeats, FPR / FNR / sum in percent:")
    lines, best = [], []
    for bias, (_, weight) in BIASES.items():
        trace = synthetic(0.3, weight)
        by_cell = {cell: {r["algorithm"]: r for r in measure(trace, "1-50", "--permutations", ORDERS, cell=cell)} for cell in (2, 3, 4)}
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


def write_zeros(doc, _):
    n = 400000
    stream = "--synthetic", f"uniform:n={n},distinct=100%,importance=1-50", "--curve", 40
    rows = evaluate(*stream, filters=FILTERS[1:], memories=[MEMORY], sets=[*SETS, "importance=1-50"])
    rows += [{**row, "algorithm": BF} for row in evaluate(*stream, filters=["bloom"], memories=[CELLS // 8], sets=["k=5"])]
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
            "of importance (for H with draws in proportion to 1/value). BF has a bit for each cell. Mean of the second half:")
    doc.table(["filter", "zeros %, theory", "measured"], lines)
    doc.figure("Figure 18", draw("bhoraskar-18", [panel], 1))
    doc.count("Bhoraskar et al. 2013, Figure 18", "stable, and where the law says; BF fills up")


# ---- the proof ----

def printed_empty(half):
    """V_0 of 2C by the paper's proof: V_(M/2) is taken for 0, and so is all below it."""
    return (P / K / (P / K + 0.5)) ** half


def write_proof(doc, _):
    laws, bound = expected(), {f: (1 - empty) ** K for f, empty in expected().items()}
    printed = [(1 - printed_empty(half)) ** K for half in (3, 3.5, 4)]
    doc.add("### The proof for 2C, and who forgets least",
            "With k the chance that a cell is set and p' that it is lowered, A the share of cells above M/2 and B = (p'/(p'+k/2))^(M/2), the balance at M/2 gives V_(M/2) = (k/2)/(p'+k) (1-A+B). The paper prints (1-A-B). "
            f"Since A = 1-B, that is 0, and with it the share of every value from M/2 down to 1 (where an exponent is missing, too): the proof as printed gives V_0 = B, and an FPR of {percent(min(printed), 2)} to {percent(max(printed), 2)} % for "
            f"K = 5, P = 10, M = 7, by how M/2 is rounded. The chain itself gives {percent(bound['ibf-2c'])} %. It may be where \"K = 5 and P = 10 keep the false positives at 20 %\" comes from: by the law they keep them at {percent(bound['ibf-mc'], 2)} % for MC, "
            f"{percent(bound['ibf-2c'], 2)} % for 2C, {percent(bound['sbf'], 2)} % for SBF. `weir plan -a ibf-2c` tells the formula as printed beside the law.")
    doc.table(["filter", "V_0 %, law", "FPR %, law"], [[f"`{f}`", percent(laws[f]), percent(bound[f])] for f in laws])
    doc.add("*SBF forgets least.* Let SBF (with random deletion), 2C and MC have the same hash functions, and let them lower the same cells at every arrival. Lowering takes one from a cell that is not 0; inserting raises a cell to M in SBF, to at most M in the others. "
            "Both keep the order of two cells: what was not above before is not above after. So no cell of 2C or MC is ever above that of SBF, every key that they know SBF knows, at any importance, and with equal K, P and M the claim that IBF has fewer "
            "false negatives for what is important cannot hold for 2C or MC. H lowers other cells than SBF, and is not covered. The price is false positives, of which SBF has the most by the same argument. "
            "`tests/papers/ibf.c` runs the three side by side: in 60,000 arrivals no cell of 2C or MC was above SBF's, and cells of H were.")
    doc.count("Bhoraskar et al. 2013, the proof for 2C", f"1-A-B for 1-A+B: {percent(min(printed), 2)}-{percent(max(printed), 2)} % as printed, {percent(bound['ibf-2c'])} % by its chain; SBF forgets less than 2C and MC at every importance, by coupling")


def write_head(doc, _):
    doc.add("## Bhoraskar et al. 2013: importance-aware filters",
            f"16 KB, K = 5, P = 10, M = 7, as its Table III. SBF is the same with every key of the top class; BF has one bit for each of as many cells. `{' '.join(SETS)}`.")


PARTS = [
    Part("bhoraskar", write_head),
    Part("bhoraskar-real", write_real, traces=True),
    Part("table-II", table.write_table, traces=True),
    Part("bhoraskar-synthetic", write_synthetic),
    Part("bhoraskar-sweep", write_sweep),
    Part("bhoraskar-zeros", write_zeros),
    Part("bhoraskar-proof", write_proof),
]
