"""Damaged and forged values: each is rejected or usable, and no process of the server ends.

The inputs are the golden files with bytes changed, removed and inserted, as they are and with correct checksums. Each is
passed to the type's input, and every function is called on what is accepted. A value that is damaged after it was stored
is simulated by a function that skips the check."""
import pathlib
import random
import sys

import pytest

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "tests/module"))
from forge import seal  # noqa: E402

GOLDEN = sorted(pathlib.Path(SOURCE / "tests/golden").glob("*.weir"))

# Returns the number of values that the input accepts. Every error of a function is caught; a crash is not.
TRY = """
CREATE FUNCTION unchecked(bytea, bytea) RETURNS weirfilter AS 'byteacat' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION use(f weirfilter) RETURNS void LANGUAGE plpgsql AS $$
DECLARE sql text;
BEGIN
    FOREACH sql IN ARRAY ARRAY['SELECT weir_has($1, ''a'') OR $1 @> 1 OR $1 @> ''\\x00''::bytea', 'SELECT weir_info($1)',
        'SELECT weir_count($1, ''a'')', 'SELECT * FROM weir_top($1, ''all'')',
        'SELECT weir_merge(f) FROM (VALUES ($1), ($1)) v(f)', 'SELECT $1::text::weirfilter'] LOOP
        BEGIN
            EXECUTE sql USING f;
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
    END LOOP;
END $$;
CREATE FUNCTION try(b bytea) RETURNS int LANGUAGE plpgsql AS $$
DECLARE f weirfilter;
BEGIN
    PERFORM use(unchecked(b, ''));
    BEGIN
        f := b::weirfilter;
    EXCEPTION WHEN OTHERS THEN RETURN 0;
    END;
    PERFORM use(f);
    RETURN 1;
END $$;
CREATE TABLE hostile (b bytea);
"""


def mutations(data, rng, n):
    """Truncated files, then n files with changed bytes, half of them in the header; and each with correct checksums."""
    for size in {0, 1, 4, 63, 64, 65, len(data) // 2, len(data) - 64, len(data) - 1}:
        yield data[:size]
    for i in range(n):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(min(len(changed), 256) if i % 2 else len(changed))
            changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, changed[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))
        if rng.random() < 0.1:
            at = rng.randrange(len(changed))
            changed[at:at] = rng.randbytes(rng.choice((1, 8, 64)))
        yield bytes(changed)
        yield seal(changed)


def accepted(db, blobs):
    copy = "COPY hostile FROM STDIN;\n" + "".join("\\\\x" + blob.hex() + "\n" for blob in blobs) + "\\.\n"
    return int(db.one("TRUNCATE hostile;\n" + copy + "SELECT sum(try(b)) FROM hostile"))


def test_golden_files_are_accepted_except_screens(db):
    db.rows(TRY)
    for path in GOLDEN:
        assert accepted(db, [path.read_bytes()]) == (0 if path.name.startswith("screen") else 1), path.name


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_no_mutation_crashes_the_server(db, path):
    db.rows(TRY)
    data = path.read_bytes()
    blobs = list(mutations(data, random.Random(path.name), 150))
    taken = accepted(db, blobs)
    assert accepted(db, [data]) == (0 if path.name.startswith("screen") else 1)
    assert taken < len(blobs)
    if not path.name.startswith("screen"):
        assert taken > 10  # forged cells are valid


def test_every_changed_byte_without_a_forged_checksum_is_rejected(db):
    """Except zeros after the end of the cells' checksums, which are checked too."""
    db.rows(TRY)
    data = (SOURCE / "tests/golden/bloom.weir").read_bytes()
    blobs = [data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1:] for i in range(len(data))]
    assert accepted(db, blobs) == 0


def test_several_filters_notes_and_shards_in_one_value(db):
    db.rows(TRY)
    bloom, top, screen = ((SOURCE / f"tests/golden/{name}.weir").read_bytes() for name in ("bloom", "top", "screen-cache"))
    assert accepted(db, [bloom + bloom, bloom + top, top + bloom, bloom + screen, bloom + b"x", b"\0" * 64]) == 0
