"""The experiments of Bhoraskar et al. 2013: filters, memory, real streams with importance."""
import random

from common import evaluate, temporary, unpacked

MEMORY = 16000  # 16 KB
CELLS = 42664   # of 3 bits, rounded so that BF has whole bytes
BF = "bf"       # a Bloom filter with one bit for each cell of the others
FILTERS = [BF, "sbf", "ibf-2c", "ibf-mc", "ibf-h"]
K, P, TOP = 5, 10, 7
SETS = ["k=5", "cell=3", "decay=10"]
ORDERS = 5
SIZED = {  # traces whose importance is a size
    "web_nasa_19950801": "a day of a web server's log (NASA, 1 August 1995); importance is the bytes sent",
    "block_cloudphysics": "disk requests of a virtual machine (CloudPhysics); importance is the size in bytes",
    "llm_mooncake_conversation": "cache blocks of a language-model service (Mooncake); importance is the number of tokens",
}


def measure(trace, importance, *args, cell=3):
    """A row for each filter: BF, the paper's, a Bloom filter of 16 KB, and recent."""
    fields = ["--tsv", "-k", 1, "-i", 2, trace.name, *args]
    sets = ["k=5", f"cell={cell}", "decay=10", f"importance={importance}"]
    bits = MEMORY * 8 // cell // 8
    return ([{**row, "algorithm": BF} for row in evaluate(*fields, filters=["bloom"], memories=[bits], sets=["k=5"])]
            + evaluate(*fields, filters=[*FILTERS[1:], "bloom"], memories=[MEMORY], sets=sets)
            + evaluate(*fields, filters=["recent"], memories=[MEMORY], sets=[f"importance={importance}", "fpr=20%"]))


def lines_of(trace):
    return [(key, int(size)) for key, size, *_ in (line.rstrip("\n").split("\t") for line in open(trace.name))]


def stream_of(lines):
    return temporary("".join(f"{key}\t{size}\n" for key, size in lines))


def video(most=None):
    """Video requests like the paper's. The trace has no lengths, so each video gets a random one."""
    trace = unpacked("video_youtube_ids_100k")
    rng, length, lines = random.Random(1), {}, []
    for line in list(open(trace.name))[:most]:
        key = line.split("\t")[0]
        if key not in length:
            length[key] = max(1, int(rng.lognormvariate(5.2, 1)))
        lines.append((key, length[key]))
    return stream_of(lines)


def short(name):
    return name.split("_")[0]


def real():
    found = {short(name): trace for name in SIZED if (trace := unpacked(name))}
    return {**found, "video": video()}
