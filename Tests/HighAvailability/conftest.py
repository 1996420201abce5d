"""Fixtures: a cluster of three hosts, two processes of the service on it, and the times that it was out of service."""

import os
import random
import statistics
from pathlib import Path

import pytest

from availability.cluster import Cluster
from support.server import Server, make_keys

PROCESSES = 2

_OUTAGES = pytest.StashKey[dict]()


@pytest.fixture(scope="session")
def directory():
    """Of this run's own, in namespaces of its own (`contained`)."""
    if "HA_UNABLE" in os.environ:
        pytest.skip(os.environ["HA_UNABLE"])
    if "HA_DIRECTORY" not in os.environ:
        pytest.skip("these tests change the network: run them by `make test-ha`, in namespaces of their own")
    return Path(os.environ["HA_DIRECTORY"])


@pytest.fixture(scope="session")
def shared_cluster(directory):
    cluster = Cluster(directory)
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(shared_cluster):
    """Whole. Whatever a test did to it is mended afterwards."""
    shared_cluster.await_whole()
    yield shared_cluster
    # Shown if the test failed.
    print(shared_cluster.report())
    shared_cluster.heal()


@pytest.fixture(scope="session")
def servers(shared_cluster, directory):
    """Replicas, each of which finds the primary by itself."""
    keys = directory / "keys"
    make_keys(keys)
    started = [
        Server(directory / f"replica{number}", store=shared_cluster.uri, arguments=["--keys", keys])
        for number in range(PROCESSES)
    ]
    yield started
    for server in started:
        server.close()


@pytest.fixture
def seed(record_property):
    """Of everything random in a test: `HA_SEED` repeats it, as far as threads do."""
    seed = int(os.environ.get("HA_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"HA_SEED={seed}")
    record_property("seed", seed)
    return seed


@pytest.fixture
def outages(request):
    """Seconds, by fault; printed at the end."""
    return request.config.stash.setdefault(_OUTAGES, {})


def pytest_terminal_summary(terminalreporter, config):
    outages = config.stash.get(_OUTAGES, {})
    if outages:
        terminalreporter.section("seconds without an answered login")
    for fault, seconds in outages.items():
        times = " ".join(f"{each:.1f}" for each in sorted(seconds))
        terminalreporter.write_line(f"{fault}: median {statistics.median(seconds):.1f}, longest {max(seconds):.1f} ({times})")
