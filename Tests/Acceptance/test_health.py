"""grpc.health.v1 by the stock grpcio-health-checking, and `touchstone healthcheck`."""

import contextlib
import signal
import socket
import sqlite3
import threading

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.caller import new_caller
from support.certificates import Authority
from support.credentials import Key
from support.phone import Phone
from support.server import run
from support.stores import of_sqlite
from support.stubs import METHODS, evaluation_pb2

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

SERVICES = ["", *sorted({method.containing_service.full_name for method in METHODS.values()})]

UNREACHABLE = 69


def request(service=""):
    return health_pb2.HealthCheckRequest(service=service)


@of_sqlite
def test_a_store_that_cannot_write_is_noticed_without_a_call(start):
    server = start()
    watch = health_pb2_grpc.HealthStub(server.channel()).Watch(request(), timeout=60)
    assert next(watch).status == SERVING
    with contextlib.closing(sqlite3.connect(server.data_directory / "touchstone.db", isolation_level=None)) as other:
        # Nobody else can write meanwhile.
        other.execute("BEGIN IMMEDIATE")
        assert next(watch).status == NOT_SERVING
        other.execute("ROLLBACK")
        assert next(watch).status == SERVING
    watch.cancel()


@of_sqlite
def test_a_short_lock_of_another_process_fails_no_call(start):
    """As tools for backup and replication hold one."""
    server = start()
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    path = server.data_directory / "touchstone.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        for _ in range(5):
            other.execute("BEGIN IMMEDIATE")
            unlocked = threading.Timer(0.03, lambda: other.execute("ROLLBACK"))
            unlocked.start()
            assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
            unlocked.join()


def test_whoever_watches_hears_of_the_end_before_it_comes(start):
    server = start()
    stub = health_pb2_grpc.HealthStub(server.channel())
    watches = [stub.Watch(request(service), timeout=30) for service in SERVICES]
    assert [next(watch).status for watch in watches] == [SERVING] * len(SERVICES)
    server.process.send_signal(signal.SIGTERM)
    assert [next(watch).status for watch in watches] == [NOT_SERVING] * len(SERVICES)
    for watch in watches:
        with pytest.raises(grpc.RpcError) as raised:
            next(watch)
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    # Nobody who watches holds it up.
    assert server.process.wait(15) == 0


def test_everybody_may_ask_where_only_some_may_call(start, tmp_path):
    authority = Authority(tmp_path)
    certificate = authority.issue_server()
    configuration = {
        "tls": {"certificate": str(certificate.file), "key": str(certificate.key_file)},
        "callers": [{"name": "shop", "keys": [Key().digest], "applications": ["shop"], "methods": "*"}],
    }
    server = start(configuration=configuration)
    stub = health_pb2_grpc.HealthStub(server.channel(authority=authority))
    assert stub.Check(request(), timeout=20).status == SERVING
    done = run("healthcheck", "--target", server.address, "--tls-authorities", authority.file)
    assert (done.returncode, done.stdout) == (0, "serving\n"), done.stderr
    # Whom nobody vouches for is nobody.
    assert run("healthcheck", "--target", server.address, "--tls").returncode == UNREACHABLE
    assert run("healthcheck", "--target", server.address).returncode == UNREACHABLE


# The command


def test_the_command_says_that_it_serves(server):
    done = run("healthcheck", "--target", server.address)
    assert (done.returncode, done.stdout, done.stderr) == (0, "serving\n", "")


def test_the_command_over_a_unix_socket(start, tmp_path):
    server = start(listen=[f"unix:{tmp_path}/socket"])
    assert run("healthcheck", "--target", server.address).returncode == 0


def test_the_command_where_nobody_answers(tmp_path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{listener.getsockname()[1]}"
        assert run("healthcheck", "--target", closed).returncode == UNREACHABLE
        # Accepted by the system, and answered by nobody.
        listener.listen()
        done = run("healthcheck", "--target", closed, "--timeout", "1")
        assert done.returncode == UNREACHABLE
        assert "no answer in 1s" in done.stderr
    assert run("healthcheck", "--target", f"unix:{tmp_path}/none").returncode == UNREACHABLE


def test_the_command_asks_for_one_service(server):
    assert run("healthcheck", "--target", server.address, "--service", SERVICES[1]).returncode == 0
    done = run("healthcheck", "--target", server.address, "--service", "nobody")
    assert done.returncode == UNREACHABLE
    assert "NOT_FOUND" in done.stderr
