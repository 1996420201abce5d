"""Fixtures: a service that all tests share, services of a test's own, and callers, each with an application of its own.

Applications do not see each other, so tests on the shared service may run in any order and at one time.
"""

import tempfile
from pathlib import Path

import pytest

from support.caller import new_caller
from support.phone import Phone
from support.postgres import PostgresServer
from support.server import BINARY, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The service that tests share, if they neither stop nor configure it."""
    if not BINARY.exists():
        pytest.exit(f"there is no {BINARY}: run `make debug-load`, or set TOUCHSTONE_BINARY", returncode=1)
    server = Server(tmp_path_factory.mktemp("shared") / "data")
    yield server
    server.close()


@pytest.fixture
def start(tmp_path):
    """Starts a service of the test's own; on the same data directory again, if it asks twice."""
    started = []

    def start(name="data", **options):
        server = Server(tmp_path / name, **options)
        started.append(server)
        return server

    yield start
    for server in started:
        server.close()


@pytest.fixture(scope="module")
def postgres():
    """A server of the module's own."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def caller(server):
    """A relying service, with an application of its own on a connection of its own."""
    return new_caller(server)


@pytest.fixture
def other_caller(server):
    """A relying service that has nothing to do with `caller`."""
    return new_caller(server)


@pytest.fixture
def phone(caller):
    """A phone that `caller` has bound."""
    phone = Phone()
    caller.bind(phone)
    return phone


@pytest.fixture
def url(served):
    """The address of HTTP of the service that a module's tests share."""
    return served.urls[0]


@pytest.fixture
def shop(served):
    """A relying service of it, with an application of its own. Where it is the `caller`, it binds the `phone`."""
    return new_caller(served)


@pytest.fixture
def public_directory():
    """One that other users reach; pytest's own are private."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path
