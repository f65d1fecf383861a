"""The streams of Bera et al. 2012, and the figures that the paper prints."""
import csv
import math

from common import ROOT

FILTERS = ["sbf", "rsbf-tables", "bsbf", "bsbfsd", "rlbsbf"]  # their rsbf is rsbf-tables here
SBF = ["cell=1", "decay=4"]


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


def universe(n, share):
    """The number of keys U of which n draws select share * n: U (1 - e^(-n/U)) = share n."""
    low, high = 1.0, 1e12
    for _ in range(200):
        middle = (low * high) ** 0.5
        drawn = middle * -math.expm1(-n / middle)
        low, high = (middle, high) if drawn < share * n else (low, middle)
    return int(high)
