"""A model of RedisBloom's values, written from the description of their format: what tests compare weir with, and dumps
that they load."""
import math
import struct

from forge import payload

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
MULTIPLIER = 0x5BD1E995


def murmur32(data, seed):
    h = (seed ^ len(data)) & M32
    for i in range(0, len(data) - 3, 4):
        k = int.from_bytes(data[i:i + 4], "little") * MULTIPLIER & M32
        k = (k ^ k >> 24) * MULTIPLIER & M32
        h = (h * MULTIPLIER & M32) ^ k
    rest = data[len(data) // 4 * 4:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * MULTIPLIER & M32
    h = (h ^ h >> 13) * MULTIPLIER & M32
    return h ^ h >> 15


def murmur64(data, seed):
    m = 0xC6A4A7935BD1E995
    h = seed ^ len(data) * m & M64
    for i in range(0, len(data) - 7, 8):
        k = int.from_bytes(data[i:i + 8], "little") * m & M64
        k = (k ^ k >> 47) * m & M64
        h = (h ^ k) * m & M64
    rest = data[len(data) // 8 * 8:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & M64
    h = (h ^ h >> 47) * m & M64
    return h ^ h >> 47


# ---- the encoding of an RDB ----

def length(n):
    return b"\x81" + struct.pack(">Q", n)


def number(n):
    return b"\2" + length(n)


def double(x):
    return b"\4" + struct.pack("<d", x)


def string(data):
    return b"\5" + length(len(data)) + bytes(data)


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def body(name, version, *values):
    """As in an RDB and in a dump."""
    id = 0
    for character in name:
        id = id << 6 | ALPHABET.index(character)
    return b"\7" + length(id << 10 | version) + b"".join(values) + b"\0"


class Value:
    def body(self, version=None):
        return body(self.name, self.version if version is None else version, *self.values())

    def dump(self, version=None):
        return payload(self.body(version) + struct.pack("<H", 10))


# ---- the four types ----

class Layer:
    def __init__(self, entries, error, options):
        self.error, self.size, self.n2 = error, 0, 0
        self.bpe = abs(math.log(error)) / 0.480453013918201
        self.hashes = math.ceil(0.693147180559945 * self.bpe)
        bits = entries * self.bpe
        if options & 1:
            self.modulus = max(int(bits), 1)
        else:
            self.n2 = int(math.floor(math.log2(bits))) + 1
            self.modulus = 1 << self.n2
            entries += int(math.floor(self.modulus - bits) / self.bpe)
        self.entries = entries
        self.cells = bytearray(8 * ((self.modulus + 63) // 64))
        if not self.n2:
            self.modulus = 8 * len(self.cells)

    def places(self, a, b):
        return [((a + i * b) & M64) % self.modulus for i in range(self.hashes)]


class Bloom(Value):
    """options: 1 sizes are not rounded up, 4 hashes of 64 bits, 8 does not scale."""
    name, version = "MBbloom--", 4

    def __init__(self, capacity=100, error=.01, growth=2, options=5):
        self.options, self.growth = options, growth
        self.layers = [Layer(capacity, error if options & 8 else error / 2, options)]

    def hashes(self, item):
        if self.options & 4:
            a = murmur64(item, 0xC6A4A7935BD1E995)
            return a, murmur64(item, a)
        a = murmur32(item, 0x9747B28C)
        return a, murmur32(item, a)

    def exists(self, item):
        a, b = self.hashes(item)
        return int(any(all(l.cells[x // 8] >> x % 8 & 1 for x in l.places(a, b)) for l in self.layers))

    def add(self, item):
        """None: full."""
        last = self.layers[-1]
        if self.exists(item):
            return 0
        if last.size >= last.entries:
            if self.options & 8:
                return None
            self.layers.append(Layer(last.entries * self.growth, last.error / 2, self.options))
            last = self.layers[-1]
        for x in last.places(*self.hashes(item)):
            last.cells[x // 8] |= 1 << x % 8
        last.size += 1
        return 1

    @property
    def size(self):
        return sum(layer.size for layer in self.layers)

    def values(self):
        yield from map(number, (self.size, len(self.layers), self.options, self.growth))
        for l in self.layers:
            yield from (number(l.entries), double(l.error), number(l.hashes), double(l.bpe), number(8 * len(l.cells)),
                        number(l.n2), string(l.cells), number(l.size))

    def chunks(self):
        head = struct.pack("<QIII", self.size, len(self.layers), self.options, self.growth)
        for l in self.layers:
            head += struct.pack("<QQQddIQB", len(l.cells), 8 * len(l.cells), l.size, l.error, l.bpe, l.hashes, l.entries,
                                l.n2)
        return chunks(head, [l.cells for l in self.layers])


def chunks(head, cells):
    cursor, found = 1, [(1, head)]
    for each in cells:
        cursor += len(each)
        found.append((cursor, bytes(each)))
    return found


class Cuckoo(Value):
    name, version = "MBbloomCF", 4

    def __init__(self, capacity=1024, slots=2, iterations=20, growth=1):
        self.buckets = 1
        while self.buckets < capacity // slots:
            self.buckets *= 2
        self.slots, self.iterations, self.growth = slots, iterations, growth
        self.items = self.deletes = 0
        self.filters = [bytearray(self.buckets * slots)]

    def size(self, j):
        return self.buckets * self.growth ** j

    @staticmethod
    def prints(item):
        h = murmur64(item, 0)
        return h, h % 255 + 1

    def bucket(self, j, h):
        start = h % self.size(j) * self.slots
        return range(start, start + self.slots)

    def pair(self, j, h, fp):
        return [*self.bucket(j, h), *self.bucket(j, h ^ fp * MULTIPLIER)]

    def count(self, item):
        h, fp = self.prints(item)
        return sum(self.filters[j][x] == fp for j in range(len(self.filters)) for x in self.pair(j, h, fp))

    def put(self, h, fp):
        for j in reversed(range(len(self.filters))):
            for x in self.pair(j, h, fp):
                if not self.filters[j][x]:
                    self.filters[j][x] = fp
                    return True
        j = len(self.filters) - 1
        cells, before = self.filters[j], bytes(self.filters[j])
        at, victim = h % self.size(j), 0
        for _ in range(self.iterations):
            x = at * self.slots + victim
            fp, cells[x] = cells[x], fp
            at = (at ^ fp * MULTIPLIER) % self.size(j)
            for x in self.bucket(j, at):
                if not cells[x]:
                    cells[x] = fp
                    return True
            victim = (victim + 1) % self.slots
        cells[:] = before
        return False

    def add(self, item):
        h, fp = self.prints(item)
        if not self.put(h, fp):
            if not self.growth:
                return None
            self.filters.append(bytearray(self.size(len(self.filters)) * self.slots))
            assert self.put(h, fp)
        self.items += 1
        return 1

    def delete(self, item):
        h, fp = self.prints(item)
        for j in reversed(range(len(self.filters))):
            for x in self.pair(j, h, fp):
                if self.filters[j][x] == fp:
                    self.filters[j][x] = 0
                    self.items -= 1
                    self.deletes += 1
                    if len(self.filters) > 1 and self.deletes > self.items / 10:
                        self.compact(False)
                    return 1
        return 0

    def compact(self, every=True):
        for j in reversed(range(1, len(self.filters))):
            for x, fp in enumerate(self.filters[j]):
                for older in range(j if fp else 0):
                    free = [y for y in self.pair(older, x // self.slots, fp) if not self.filters[older][y]]
                    if free:
                        self.filters[older][free[0]], self.filters[j][x] = fp, 0
                        break
            if not any(self.filters[j]) and j == len(self.filters) - 1:
                self.filters.pop()
            elif any(self.filters[j]) and not every:
                break
        self.deletes = 0

    def values(self):
        yield from map(number, (len(self.filters), self.buckets, self.items, self.deletes, self.slots, self.iterations,
                                self.growth))
        for j, cells in enumerate(self.filters):
            yield from (number(self.size(j)), string(cells))

    def chunks(self):
        return chunks(struct.pack("<QQQQHHH", self.items, self.buckets, self.deletes, len(self.filters), self.slots,
                                  self.iterations, self.growth), self.filters)


class Counts(Value):
    name, version = "CMSk-TYPE", 0

    def __init__(self, width, depth):
        self.width, self.depth, self.counter = width, depth, 0
        self.cells = [0] * (width * depth)

    def places(self, item):
        return [i * self.width + murmur32(item, i) % self.width for i in range(self.depth)]

    def add(self, item, amount):
        for x in self.places(item):
            total = (self.cells[x] + amount) & M32
            self.cells[x] = M32 if total < amount else total
        self.counter += amount
        return self.query(item)

    def query(self, item):
        return min(self.cells[x] for x in self.places(item))

    def values(self):
        return [number(self.width), number(self.depth), number(self.counter),
                string(struct.pack(f"<{len(self.cells)}I", *self.cells))]


class Top(Value):
    """With decay 1 another item's count is always decremented, with 0 never."""
    name, version = "TopK-TYPE", 0

    def __init__(self, k, width=8, depth=7, decay=1.0):
        self.k, self.width, self.depth, self.decay = k, width, depth, decay
        self.buckets = [[0, 0] for _ in range(width * depth)]
        self.heap = [[0, 0, b""] for _ in range(k)]  # fingerprint, count, item

    def rows(self, item):
        return [self.buckets[i * self.width + murmur32(item, i) % self.width] for i in range(self.depth)]

    def place(self, item):
        fp = murmur32(item, 1919)
        found = [i for i, (f, count, stored) in enumerate(self.heap) if count and (f, stored) == (fp, item)]
        return found[0] if found else None

    def count(self, item):
        fp = murmur32(item, 1919)
        least = 0 if self.place(item) is None else self.heap[0][1]
        return max([count for f, count in self.rows(item) if f == fp and count >= least], default=0)

    def sift(self, at):
        first = True
        while 2 * at + 1 < self.k:
            child = 2 * at + 1
            if child + 1 < self.k and self.heap[child][1] > self.heap[child + 1][1]:
                child += 1
            difference = self.heap[child][1] - self.heap[at][1]
            if difference > 0 or (not first and difference == 0):
                return
            self.heap[at], self.heap[child] = self.heap[child], self.heap[at]
            at, first = child, False

    def add(self, item, amount=1):
        """Returns the item that is expelled."""
        fp, most = murmur32(item, 1919), 0
        for row in self.rows(item):
            left = amount
            if row[1] and row[0] != fp:
                left = max(amount - row[1] + 1, 0) if self.decay == 1 else 0
                row[1] = max(row[1] - amount, 0) if self.decay == 1 else row[1]
                if row[1]:
                    continue
                row[1] = 0
            row[0], row[1] = fp, row[1] + left
            most = max(most, row[1])
        if not most or most < self.heap[0][1]:
            return None
        at = self.place(item)
        if at is not None:
            self.heap[at][1] = most
            self.sift(at)
            return None
        expelled = self.heap[0]
        self.heap[0] = [fp, most, item]
        self.sift(0)
        return expelled[2] if expelled[1] else None

    def list(self):
        return [(item, count) for f, count, item in sorted(self.heap, key=lambda e: -e[1]) if count]

    def values(self):
        yield from map(number, (self.k, self.width, self.depth))
        yield double(self.decay)
        yield string(b"".join(struct.pack("<II", *each) for each in self.buckets))
        yield string(b"".join(struct.pack("<IIQII", f, len(item), 0, count, 0) for f, count, item in self.heap))
        for _, _, item in self.heap:
            yield string(item + b"\0")
