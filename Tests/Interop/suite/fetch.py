"""Fetches the distribution's source packages and PyPI's wheels into the cache."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

#: Debian's and Ubuntu's own lists of packages, in both formats; other publishers' have no sources of grpc.
APT_LISTS = [
    Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d/debian.sources"),
    Path("/etc/apt/sources.list.d/ubuntu.sources"),
]


def source_package(name, cache: Path):
    """The unpacked source package of the version that the distribution has."""
    directory = cache / "sources" / name
    if directory.exists():
        return directory
    packages = cache / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    options = apt_options(cache)
    call(["apt-get", *options, "source", "--download-only", name], directory=packages)
    description = newest(packages.glob(f"{name}_*.dsc"))
    directory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = directory.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    # apt-get has checked what it fetched against the archive's signature.
    call(["dpkg-source", "--no-check", "--extract", str(description), str(unfinished)], directory=packages)
    unfinished.rename(directory)
    return directory


def apt_options(cache):
    """Lists of source packages beside the system's, in the cache; they are fetched once."""
    apt = cache / "apt"
    options = {
        "Dir::Etc::sourcelist": apt / "sources.list", "Dir::Etc::sourceparts": apt / "sources.list.d",
        "Dir::State": apt / "state", "Dir::Cache": apt / "cache", "APT::Sandbox::User": "root",
    }
    arguments = [argument for name, value in options.items() for argument in ("-o", f"{name}={value}")]
    if not (apt / "done").exists():
        for directory in ("sources.list.d", "state/lists/partial", "cache/archives/partial"):
            (apt / directory).mkdir(parents=True, exist_ok=True)
        write_source_lists(apt)
        call(["apt-get", *arguments, "-qq", "update"])
        (apt / "done").touch()
    return arguments


def write_source_lists(apt):
    for path in APT_LISTS:
        if not path.exists():
            continue
        text = path.read_text()
        if path.suffix == ".sources":
            (apt / "sources.list.d" / path.name).write_text(re.sub(r"(?m)^Types:.*$", "Types: deb-src", text))
        else:
            (apt / path.name).write_text(re.sub(r"(?m)^deb\s", "deb-src ", text))


def newest(paths):
    return max(paths, key=lambda path: path.stat().st_mtime)


def python_environment(requirements: Path, cache: Path):
    """An interpreter that has the packages."""
    environment = cache / "python-environment"
    wanted = requirements.read_text()
    stamp = environment / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(environment, ignore_errors=True)
        call([sys.executable, "-m", "venv", str(environment)])
        call([str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
              "--requirement", str(requirements)])
        stamp.write_text(wanted)
    return environment / "bin/python"


def call(command, directory=None, environment=None):
    """Runs a program that must succeed; shows what it said only where it does not."""
    result = subprocess.run(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace")
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stdout[-4000:]}")
    return result.stdout
