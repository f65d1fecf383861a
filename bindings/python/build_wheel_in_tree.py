"""What pip calls to make the wheel (PEP 517), with nothing but Python and a C compiler.

The library is compiled into the extension from the sources above this folder, so that the wheel needs no
libweir.so. Where they are not (this folder alone), the installed library is linked, as pkg-config
names it. Needs libxxhash-dev and libsodium-dev, or libweir-dev.
"""
import base64
import concurrent.futures
import hashlib
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TREE = (ROOT / "lib" / "filter" / "list.h").is_file()
PACKAGE = ("__init__.py", "_ready_made.py", "_weir.pyi", "py.typed", "scrapy.py")
NEWER = {  # files for newer machines; the library asks before it calls them
    "_avx2.c": ["-mavx2", "-mbmi", "-mbmi2"],
    "_avx512.c": ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512cd", "-mavx512vbmi", "-mavx512vbmi2", "-mbmi", "-mbmi2"],
}

FLAGS = ["-O3", "-fPIC", "-fvisibility=hidden", "-std=gnu11", "-D_GNU_SOURCE", "-fno-tree-slp-vectorize"]


def compiler():
    return shlex.split(os.environ.get("CC", sysconfig.get_config_var("CC") or "cc").split(" -")[0])


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def pkg_config(*arguments):
    try:
        return run("pkg-config", *arguments).split()
    except FileNotFoundError:
        raise SystemExit("pkg-config is not there: install pkg-config, libxxhash-dev and libsodium-dev") from None


def version():
    if TREE:
        header = (ROOT / "include" / "weir" / "version.h").read_text()
        return re.search(r'^#define WEIR_VERSION "(.*)"$', header, re.M)[1]
    return run("pkg-config", "--modversion", "weir").strip()


def sources():
    """Each file that is compiled, and its flags."""
    extension = FLAGS + [f"-I{sysconfig.get_path('include')}"]
    extension += [f"-I{ROOT / 'include'}"] if TREE else pkg_config("--cflags", "weir")
    for file in sorted((HERE / "src").glob("*.c")):
        yield file, extension
    if TREE:
        library = FLAGS + [f"-I{ROOT / 'include'}", f"-I{ROOT / 'lib'}", *pkg_config("--cflags", "libxxhash", "libsodium")]
        for file in sorted((ROOT / "lib").rglob("*.c")):
            newer = next((flags for end, flags in NEWER.items() if file.name.endswith(end)), [])
            if not newer or platform.machine() in ("x86_64", "AMD64"):
                yield file, [*library, *newer]


def compile_extension(folder):
    cc = compiler()

    def compile_one(numbered):
        number, (file, flags) = numbered
        target = pathlib.Path(folder, f"{number}.o")
        run(*cc, *flags, "-c", file, "-o", target)
        return target

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, enumerate(sources())))
    libraries = [*pkg_config("--libs", "libxxhash", "libsodium"), "-lm"] if TREE else pkg_config("--libs", "weir")
    target = pathlib.Path(folder, "_weir.abi3.so")
    run(*cc, "-shared", "-pthread", "-Wl,-s,-Bsymbolic", "-o", target, *objects, *libraries)
    return target.read_bytes()


# ---- the wheel ----


def tag():
    return "cp311-abi3-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def metadata():
    return f"""Metadata-Version: 2.1
Name: weir
Version: {version()}
Summary: Have I seen this before? Filters for streams without end, in fixed memory
License: MIT
Requires-Python: >=3.11
"""


def row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel, name, data):
    """With one date for all, so that two builds give equal bytes."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, data)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    about = f"weir-{version()}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        files = {"weir/_weir.abi3.so": compile_extension(folder)}
    files |= {f"weir/{name}": (HERE / "weir" / name).read_bytes() for name in PACKAGE}
    files[f"{about}/METADATA"] = metadata().encode()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: weir\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()
    record = f"{about}/RECORD"
    files[record] = "".join([*(row(n, d) for n, d in files.items()), f"{record},,\n"]).encode()
    name = f"weir-{version()}-{tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        for file, data in files.items():
            add(wheel, file, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source distribution of the binding alone: it is built in the tree of weir")
