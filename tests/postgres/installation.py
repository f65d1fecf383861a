"""A private installation of PostgreSQL with the extension, for tests and benchmarks. Nothing of the system is changed:
`make install DESTDIR=ROOT` installs the extension, and the server's own files are copied or linked there. PostgreSQL
finds its directories relative to its program."""
import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def link(system, private):
    """Links everything of a directory of the system that is missing in the private one."""
    private.mkdir(parents=True, exist_ok=True)
    for path in pathlib.Path(system).iterdir():
        if not (private / path.name).exists():
            (private / path.name).symlink_to(path)


def install(build, root, pg_config="pg_config"):
    """Installs the server and the extension of a build directory under root. Returns the directory of the programs."""
    def directory(name):
        return subprocess.run([pg_config, f"--{name}"], capture_output=True, text=True, check=True).stdout.strip()

    build = pathlib.Path(build).resolve()
    subprocess.run(["make", "-s", "-C", build / "bindings/postgres", "-f", SOURCE / "bindings/postgres/Makefile", "install",
                    f"DESTDIR={root}", f"PG_CONFIG={pg_config}", f"WEIR={build / 'lib/libweir.a'}"],
                   check=True, capture_output=True)
    share = directory("sharedir")
    for system in share + "/extension", share, directory("pkglibdir"):
        link(system, pathlib.Path(f"{root}{system}"))
    programs = f"{root}{directory('bindir')}"
    shutil.copytree(directory("bindir"), programs)
    return programs
