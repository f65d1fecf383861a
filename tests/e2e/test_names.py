"""scripts/check-names finds retired names."""
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])


def uses(tree):
    done = subprocess.run([tree / "scripts/check-names"], capture_output=True, text=True)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(SOURCE / "scripts/check-names", tmp_path / "scripts")
    return tmp_path


@pytest.mark.parametrize("text, new", [
    ("typedef struct weir weir;", "weir_filter"),
    ("weir *w = NULL;", "weir_filter *"),
    ("weir_save(f, buffer, size, NULL);", "weir_save_buffer()"),
    ("weir_sketch_load_from(", "weir_load_stream()"),
    ("weir_listed_knob(kind, 0, 1)", "weir_algorithm_at(), weir_parameter_at()"),
    ("weir check --oracle URL", "--store"),
    ("weir eval --truth-memory 1G", "--baseline-memory"),
    ("weir info --json f", "--format json"),
    ("weir plan --keys 1M", "plan --count"),
    ("weir dedup -a weir -m 1M", "-a recent"),
    ('weir_open(&f, "weir memory=1M", NULL)', "recent memory=... (or cache for a screen)"),
    ("any other knob", "parameter"),
])
def test_a_retired_name_is_found_with_its_line(tree, text, new):
    (tree / "page.md").write_text(f"first line\n{text}\n")
    assert any(line.startswith("page.md:2: ") and line.endswith(f", use {new}") for line in uses(tree))


@pytest.mark.parametrize("text", [
    "weir_filter *f;", "weir_save_buffer(f, b, n, NULL)", "weir dedup --jsonl", "weir dedup --json-lines", "struct weir_filter *f",
    "weir filter --keys hosts.txt", "weir::filter f;", 'import weir\nweir.Filter(memory="1M")'])
def test_names_in_use_are_not_reported(tree, text):
    (tree / "page.md").write_text(text + "\n")
    assert uses(tree) == []
