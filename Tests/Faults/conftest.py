"""Fixtures: sites of a test's own, on each store, and what they stand on."""

import os
import random

import pytest

from faults import disk as disks
from faults.cluster import Cluster
from faults.site import PostgresSite, SQLiteSite
from support.postgres import PORT, PostgresServer
from support.proxy import Proxy


@pytest.fixture
def seed(record_property):
    """Of everything random in a test: `FAULTS_SEED` repeats a run, as far as threads do."""
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"FAULTS_SEED={seed}")
    record_property("seed", seed)
    return seed


@pytest.fixture(scope="session")
def disk_library(tmp_path_factory):
    return disks.build(tmp_path_factory.mktemp("disk"))


@pytest.fixture
def disk(tmp_path, disk_library):
    """Of a test's own."""
    return disks.Disk(disk_library, tmp_path / "disk")


@pytest.fixture
def sqlite_site(tmp_path):
    site = SQLiteSite(tmp_path)
    yield site
    site.close()


@pytest.fixture
def disk_site(tmp_path, disk, seed):
    """On the failing disk. Whoever is killed there loses power, too."""
    site = SQLiteSite(tmp_path, disk, random.Random(seed))
    yield site
    site.close()


@pytest.fixture(scope="session")
def shared_postgres():
    """For tests that do nothing to it."""
    postgres = PostgresServer(fsync=True)
    yield postgres
    postgres.close()


@pytest.fixture
def postgres_site(tmp_path, shared_postgres):
    site = PostgresSite(tmp_path, shared_postgres)
    yield site
    site.close()


@pytest.fixture
def proxy(shared_postgres):
    proxy = Proxy(shared_postgres.address, PORT)
    yield proxy
    proxy.close()


@pytest.fixture
def distant_site(tmp_path, shared_postgres, proxy):
    """Whose service reaches its database by the proxy."""
    site = PostgresSite(
        tmp_path, shared_postgres, lambda name: shared_postgres.uri(name, host=proxy.host, port=proxy.port)
    )
    yield site
    site.close()


@pytest.fixture
def mortal_postgres():
    """For a test that kills it."""
    postgres = PostgresServer(fsync=True)
    yield postgres
    postgres.close()


@pytest.fixture
def mortal_site(tmp_path, mortal_postgres):
    site = PostgresSite(tmp_path, mortal_postgres)
    yield site
    site.close()


@pytest.fixture
def cluster():
    cluster = Cluster()
    yield cluster
    cluster.close()
