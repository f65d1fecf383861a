"""The build backend of the Python package (PEP 517): wheels and source distributions, with only Python and a C compiler.

The libraries are compiled into the extension, so the wheel needs no libweir.so. libxxhash, libsodium and libutf8proc
are linked statically if their archives can be, so the wheel needs only glibc. In a directory without the library's sources, the
installed libweir is linked, as pkg-config describes it. Needs libxxhash-dev, libsodium-dev and
libutf8proc-dev, or libweir-dev.
"""
import base64
import concurrent.futures
import gzip
import hashlib
import io
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TREE = (ROOT / "lib" / "filter" / "list.h").is_file()
PACKAGE = ("__init__.py", "_ready_made.py", "_support.py", "_weir.pyi", "py.typed", "scrapy.py")
NEEDED = ("libxxhash", "libsodium", "libutf8proc")
NAME = "weir_filters"  # on PyPI, where weir is another project
NEWER = {  # files for newer processors, which the library selects at run time
    "_avx2": ["-mavx2", "-mbmi", "-mbmi2"],
    "_avx512": ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512cd", "-mavx512vbmi", "-mavx512vbmi2", "-mbmi", "-mbmi2"],
}

FLAGS = ["-O3", "-fPIC", "-fvisibility=hidden", "-std=gnu11", "-D_GNU_SOURCE", "-fno-tree-slp-vectorize"]


def compiler():
    return shlex.split(os.environ.get("CC", sysconfig.get_config_var("CC") or "cc").split(" -")[0])


def run(*command):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(f"{command[0]} is missing; install build-essential, pkg-config, libxxhash-dev, libsodium-dev and libutf8proc-dev") from None
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def pkg_config(*arguments):
    return run("pkg-config", *arguments).split()


def version():
    if TREE:
        header = (ROOT / "include" / "weir" / "version.h").read_text()
        return re.search(r'^#define WEIR_VERSION "(.*)"$', header, re.M)[1]
    return run("pkg-config", "--modversion", "weir").strip()


def sources():
    """Each source file with its flags."""
    extension = FLAGS + [f"-I{sysconfig.get_path('include')}"]
    extension += [f"-I{ROOT / 'include'}"] if TREE else pkg_config("--cflags", "weir-near")
    for file in sorted((HERE / "src").glob("*.c")):
        yield file, extension
    if TREE:
        library = FLAGS + [f"-I{ROOT / 'include'}", f"-I{ROOT / 'lib'}", f"-I{ROOT}", *pkg_config("--cflags", *NEEDED)]
        newer = NEWER if platform.machine() in ("x86_64", "AMD64") else {}
        for file in sorted([*(ROOT / "lib").rglob("*.c"), *(ROOT / "near").glob("*.c")]):
            end = next((end for end in NEWER if file.name.endswith(f"{end}.c")), None)
            if not end or end in newer:
                yield file, [*library, *newer.get(end, [])]
            for end in newer if file.name == "verdict_paths.c" else ():  # once for each processor
                yield file, [*library, *newer[end], f"-DVERDICT_PATHS=verdict_paths{end}"]


def compile_extension(folder):
    cc = compiler()

    def compile_one(numbered):
        number, (file, flags) = numbered
        target = pathlib.Path(folder, f"{number}.o")
        run(*cc, *flags, "-c", file, "-o", target)
        return target

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, enumerate(sources())))
    target = pathlib.Path(folder, "_weir.abi3.so")

    def link(*libraries):
        run(*cc, "-shared", "-pthread", "-Wl,-s,-Bsymbolic,--exclude-libs,ALL", "-o", target, *objects, *libraries)

    if not TREE:
        link(*pkg_config("--libs", "weir-near"))
        return target.read_bytes(), False
    folders = [word for word in pkg_config("--libs", *NEEDED) if word.startswith("-L")]
    try:
        link(*folders, "-l:libxxhash.a", "-l:libsodium.a", "-l:libutf8proc.a", "-lm")
    except SystemExit:  # no archives, or not compiled as position-independent code
        link(*pkg_config("--libs", *NEEDED), "-lm")
        return target.read_bytes(), False
    return target.read_bytes(), True


# ---- the wheel ----


def tag(is_static):
    """manylinux, as of this machine's glibc, if the extension needs no other library."""
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    libc = os.confstr("CS_GNU_LIBC_VERSION") if is_static and "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    if libc and system.startswith("linux_"):
        system = "manylinux_" + libc.split()[1].replace(".", "_") + system[len("linux"):]
    return f"cp311-abi3-{system}"


def metadata():
    return f"""Metadata-Version: 2.1
Name: weir-filters
Version: {version()}
Summary: Deduplicate unbounded streams in constant memory; test membership; count frequent items
Keywords: bloom filter,deduplication,stream,sketch,membership,count-min
License: MIT
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Developers
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Programming Language :: Python :: Implementation :: CPython
Classifier: Topic :: Database
Classifier: Typing :: Typed
Requires-Python: >=3.11
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel, name, data):
    """All files have one date, so builds are reproducible."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, data)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    about = f"{NAME}-{version()}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        extension, is_static = compile_extension(folder)
    files = {"weir/_weir.abi3.so": extension}
    files |= {f"weir/{name}": (HERE / "weir" / name).read_bytes() for name in PACKAGE}
    files[f"{about}/METADATA"] = metadata().encode()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: weir\nRoot-Is-Purelib: false\nTag: {tag(is_static)}\n".encode()
    record = f"{about}/RECORD"
    files[record] = "".join([*(row(n, d) for n, d in files.items()), f"{record},,\n"]).encode()
    name = f"{NAME}-{version()}-{tag(is_static)}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        for file, data in files.items():
            add(wheel, file, data)
    return name


# ---- the source distribution ----


def sdist_files():
    """The extension, the library and its headers, in the directories of the source tree."""
    yield "PKG-INFO", metadata().encode()
    yield "pyproject.toml", (HERE / "pyproject.toml").read_text().replace('["."]', '["bindings/python"]').encode()
    yield "LICENSE", (ROOT / "LICENSE").read_bytes()
    for folder, patterns in (("lib", ["*.[ch]"]), ("near", ["*.[ch]"]), ("include", ["*.h"]), ("bindings/python", ["*.[ch]", "*.py", "*.pyi", "*.md", "*.toml", "py.typed"])):
        for file in sorted({file for pattern in patterns for file in (ROOT / folder).rglob(pattern)}):
            yield str(file.relative_to(ROOT)), file.read_bytes()


def build_sdist(sdist_directory, config_settings=None):
    if not TREE:
        raise SystemExit("a source distribution needs the library's sources; build it in weir's source tree")
    base = f"{NAME}-{version()}"
    with open(pathlib.Path(sdist_directory, f"{base}.tar.gz"), "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed, \
            tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as archive:
        for name, data in sdist_files():
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return f"{base}.tar.gz"
