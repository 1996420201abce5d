"""Fixtures: sites of a test's own, on each store, and what they stand on."""

import os
import random
import sys
from pathlib import Path

# Shared with the acceptance tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Acceptance"))
# The service is started by fork and exec; gRPC has no part in that.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import pytest  # noqa: E402

pytest.register_assert_rewrite("support.errors", "support.server", "faults")

from faults import disk as disks  # noqa: E402
from faults.cluster import Cluster  # noqa: E402
from faults.proxy import Proxy  # noqa: E402
from faults.site import PostgresSite, SQLiteSite  # noqa: E402
from support.postgres import PORT, PostgresServer  # noqa: E402
from support.server import BINARY, remove_own_variables  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def binary():
    remove_own_variables()
    if not BINARY.exists():
        pytest.exit(f"there is no {BINARY}: run `make test`, or set TOUCHSTONE_BINARY", returncode=1)


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
