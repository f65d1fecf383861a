"""Save and load: paths, bytes, open files, views, pickle, and the command's files."""
import io
import os
import pathlib
import pickle
import subprocess

import pytest

import weir

SPEC = "memory=64K seed=1"


@pytest.fixture
def filled():
    f = weir.Filter(SPEC)
    f.observe_many(map(str, range(1000)))
    return f


def test_by_path_and_as_bytes(filled, tmp_path):
    path = tmp_path / "seen.weir"
    filled.save(path)
    assert path.read_bytes() == filled.tobytes()
    for source in (path, str(path), filled.tobytes(), bytearray(filled.tobytes()), memoryview(filled.tobytes())):
        f = weir.Filter.load(source)
        assert f.tobytes() == filled.tobytes()
        assert f.observe("999") and not f.observe("new")


def test_saving_replaces_in_one_step(filled, tmp_path):
    path = tmp_path / "seen.weir"
    path.write_bytes(b"old")
    path.chmod(0o640)
    filled.save(path)
    assert weir.Filter.load(path).stats().observed == 1000
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["seen.weir"]
    mask = os.umask(0o027)
    try:
        filled.save(tmp_path / "new.weir")
    finally:
        os.umask(mask)
    assert (tmp_path / "new.weir").stat().st_mode & 0o777 == 0o640


def test_links_are_followed_and_devices_written_to(filled, tmp_path):
    (tmp_path / "real.weir").write_bytes(b"")
    (tmp_path / "link.weir").symlink_to("real.weir")
    filled.save(tmp_path / "link.weir")
    assert (tmp_path / "link.weir").is_symlink()
    assert weir.Filter.load(tmp_path / "real.weir").stats().observed == 1000
    filled.save("/dev/null")
    assert not pathlib.Path("/dev/null").is_file()


def test_a_name_without_a_folder(filled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filled.save("plain.weir")
    assert weir.Filter.view("plain.weir").ask("5")


def test_errors_of_the_system_are_oserrors(filled, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        weir.Filter.load(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        filled.save(tmp_path / "no" / "folder")
    with pytest.raises(OSError, match="No space"):
        filled.save("/dev/full")
    with pytest.raises(IsADirectoryError):
        weir.Filter.load(tmp_path)
    with pytest.raises(OSError):
        filled.save(tmp_path)
    with pytest.raises(TypeError):
        weir.Filter.load(5)
    with pytest.raises(ValueError):
        weir.Filter.load("a\0b")
    assert list(tmp_path.iterdir()) == []


def test_damaged_bytes_are_refused(filled, tmp_path):
    good = filled.tobytes()
    for wrong in (b"", b"WEIR", good[:100], good[:-1], good[:200] + b"X" + good[201:], b"\0" * 5000):
        with pytest.raises(weir.DataError):
            weir.Filter.load(wrong)
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(weir.DataError):
            weir.Filter.load(tmp_path / "wrong")


def test_a_view_is_read_only(filled, tmp_path):
    filled.save(tmp_path / "seen.weir")
    for source in (tmp_path / "seen.weir", filled.tobytes()):
        with weir.Filter.view(source) as v:
            assert "5" in v and "new" not in v
            assert v.ask_many(["5", "new"]) == b"\1\0"
            for call in (lambda: v.observe("a"), lambda: v.observe_many(["a"]), v.clear):
                with pytest.raises(weir.UnsupportedError, match="view"):
                    call()
            with pytest.raises(weir.UnsupportedError):
                v.copy()
            assert pickle.loads(pickle.dumps(v)).observe("5")
            assert v.tobytes() == filled.tobytes()


@pytest.mark.parametrize("spec", ["memory=64K seed=1", "rlbsbf memory=64K seed=1", "bloom memory=64K seed=1", "ibf-mc memory=64K seed=1",
                                      "cuckoo memory=64K seed=1", "apbf window=1000 seed=1", "two-buffer memory=64K window=1000 seed=1"])
def test_a_view_works_at_any_alignment(spec):
    f = weir.Filter(spec)
    f.observe_many(map(str, range(500)))
    these = [str(i) for i in range(1000)]
    for shift in (0, 1, 3, 8, 33):
        block = bytes(shift) + f.tobytes()
        assert weir.Filter.view(memoryview(block)[shift:]).ask_many(these) == f.ask_many(these)


def test_a_view_keeps_its_bytes(filled):
    block = bytearray(filled.tobytes())
    v = weir.Filter.view(block)
    with pytest.raises(BufferError):
        block.append(1)
    v.close()
    block.append(1)
    v = weir.Filter.view(filled.tobytes())  # nobody else has these bytes
    assert v.ask("5")


def test_pickle(filled):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        f = pickle.loads(pickle.dumps(filled, protocol))
        assert f.tobytes() == filled.tobytes()
    for closed in (filled, weir.Shared("memory=64K"), weir.Sketch("top memory=64K"), weir.Screen("memory=64K")):
        closed.close()
        with pytest.raises(ValueError, match="closed"):
            pickle.dumps(closed)


def test_files_of_the_command_load(tool, tmp_path):
    """A state file has notes before the filter."""
    state = tmp_path / "state.weir"
    subprocess.run([tool, "dedup", "-m", "1M", "--state", state], input=b"a\nb\n", check=True, capture_output=True)
    assert weir.Filter.load(state).ask_many(["a", "b", "c"]) == b"\1\1\0"
    assert weir.Filter.view(state).ask_many(["a", "b", "c"]) == b"\1\1\0"
    assert weir.Shared.load(state).ask_many(["a", "b", "c"]) == b"\1\1\0"


def test_saved_files_work_with_the_command(filled, tool, tmp_path):
    filled.save(tmp_path / "seen.weir")
    said = subprocess.run([tool, "ask", tmp_path / "seen.weir"], input=b"5\nnew\n7\n", capture_output=True)
    assert said.stdout == b"seen\t5\nnew\tnew\nseen\t7\n"


def test_files_in_shards_are_for_shared(tool, tmp_path):
    state = tmp_path / "state.weir"
    lines = b"".join(b"%d\n" % i for i in range(1000))
    subprocess.run([tool, "dedup", "-m", "1M", "--shards", "2", "--state", state], input=lines, check=True, capture_output=True)
    for call in (weir.Filter.load, weir.Filter.view):
        with pytest.raises(weir.UnsupportedError, match="Shared"):
            call(state)
    these = [str(i) for i in range(2000)]
    for f in (weir.Shared.load(state), weir.Shared.view(state), weir.Shared.view(state.read_bytes())):
        assert f.shards == 2
        assert f.ask_many(these) == b"\1" * 1000 + bytes(1000)
    with pytest.raises(weir.UnsupportedError, match="view"):
        weir.Shared.view(state).observe("a")


def test_loading_another_kind_is_an_error(filled):
    sketch = weir.Sketch("top memory=64K")
    with pytest.raises(weir.DataError, match="weir.Sketch.load"):
        weir.Filter.load(sketch.tobytes())
    with pytest.raises(weir.DataError, match="weir.Filter.load"):
        weir.Sketch.load(filled.tobytes())
    with pytest.raises(weir.DataError, match="weir.Filter.load"):
        weir.Screen.load(filled.tobytes())


# ---- files whose keys were not used as given ----

def build(tool, path, *options, keys=b"ABC\n"):
    subprocess.run([tool, "build", "-q", "-o", path, *options], input=keys, check=True)
    return path


@pytest.mark.parametrize("kind,options", [(weir.Filter, ["-m", "4K"]), (weir.Shared, ["-m", "4K", "--shards", "2"])])
def test_a_file_with_other_keys_is_refused_unless_allowed(kind, options, tool, tmp_path):
    path = build(tool, tmp_path / "folded.weir", "--ignore-case", *options)
    for way in (kind.load, kind.view):
        with pytest.raises(weir.MismatchError, match="made with --ignore-case, .* pass keys_differ=True"):
            way(path)
        assert way(path, keys_differ=True).keys == "--ignore-case"
    f = kind.load(path, keys_differ=True)
    assert f.ask("abc") and not f.ask("ABC")
    f.save(tmp_path / "again.weir")  # and what is saved is refused again
    assert f.tobytes() == (tmp_path / "again.weir").read_bytes() == path.read_bytes()
    with pytest.raises(weir.MismatchError):
        kind.load(tmp_path / "again.weir")
    copy = pickle.loads(pickle.dumps(f))
    assert copy.keys == "--ignore-case" and copy.tobytes() == f.tobytes()
    plain = build(tool, tmp_path / "plain.weir", *options)
    assert kind.load(plain).keys == "" and kind.load(plain).ask("ABC")


def test_filters_of_different_keys_are_not_merged(tool, tmp_path):
    options = ["-m", "4K", "--seed", "1"]
    a = weir.Filter.load(build(tool, tmp_path / "a", *options))
    b = weir.Filter.load(build(tool, tmp_path / "b", "--ignore-space", *options), keys_differ=True)
    assert b.copy().keys == "--ignore-space"
    with pytest.raises(weir.MismatchError, match="made in different ways"):
        a.merge(b)
    a.merge(weir.Filter.load(tmp_path / "a"))


def test_open_files(filled, tmp_path):
    with open(tmp_path / "f", "wb") as file:
        filled.save(file)
    assert (tmp_path / "f").read_bytes() == filled.tobytes()
    for kind in (weir.Filter, weir.Shared):
        with open(tmp_path / "f", "rb") as file:
            assert kind.load(file).ask("5")
    assert weir.Filter.view(io.BytesIO(filled.tobytes())).ask("5")
    for made in (weir.Sketch("top"), weir.Screen("memory=64K")):
        file = io.BytesIO()
        made.save(file)
        assert type(made).load(io.BytesIO(file.getvalue())).config == made.config
    with open(tmp_path / "f", "r", errors="replace") as file, pytest.raises(TypeError, match="'rb'"):
        weir.Filter.load(file)
    with pytest.raises(OSError):
        filled.save(open(tmp_path / "f", "rb"))
