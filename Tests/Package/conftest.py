"""Fixtures: the package that `make deb` built, and a clean Debian in a directory, on which it is installed."""

from pathlib import Path

import pytest

from debian import Debian
from support.collector import Collector
from support.wheels import WHEELS

PACKAGES = Path(__file__).resolve().parents[2] / ".build-deb"


@pytest.fixture(scope="session")
def package():
    found = sorted(PACKAGES.glob("touchstone_*.deb"), key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.exit("there is no package: run `make deb`", returncode=1)
    return found[-1]


@pytest.fixture(scope="session")
def wheel():
    if not WHEELS:
        pytest.exit("there is no wheel: run `make clients`", returncode=1)
    return WHEELS[-1]


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.close()


@pytest.fixture(scope="session")
def clean_debian():
    debian = Debian()
    yield debian
    debian.close()


@pytest.fixture(scope="session")
def debian(clean_debian, package):
    """With the package."""
    clean_debian.install(package)
    return clean_debian
