"""Fixtures: the kits as apps install them, unpacked into a folder of their own."""

import os
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: The output of `make kits`.
KITS = Path(os.environ.get("TOUCHSTONE_KITS") or ROOT / ".build-kits")
VECTORS = ROOT / "Tests/Vectors/kit"


@pytest.fixture(scope="session")
def web_project(tmp_path_factory):
    """A folder with the web kit's package in node_modules, and nothing else."""
    packages = sorted(KITS.glob("touchstone-kit-*.tgz"))
    if not packages:
        pytest.exit(f"there is no package in {KITS}: run `make kits`", returncode=1)
    project = tmp_path_factory.mktemp("web")
    target = project / "node_modules/touchstone-kit"
    with tarfile.open(packages[-1]) as package:
        for member in package.getmembers():
            member.name = member.name.removeprefix("package/")
            package.extract(member, target)
    return project


@pytest.fixture(scope="session")
def package(web_project):
    return web_project / "node_modules/touchstone-kit"
