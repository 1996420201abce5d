"""A service on PostgreSQL: how its database is made, which ones it refuses, and what it does while there is none."""

import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.caller import from_threads, new_caller
from support.phone import Phone
from support.postgres import PostgresServer
from support.server import BINARY, make_keys, run, run_to_end
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

USAGE = 64
CORRUPT = 65
UNAVAILABLE = 69
UNWRITABLE = 73
OTHER_SCHEMA = 76
BAD_CONFIGURATION = 78

#: All that is said before TLS.
SSL_REQUEST = bytes.fromhex("0000000804d2162f")

#: What a call is given while the database is gone, and what it is answered by; a store's own limit is 4 s.
DEADLINE_SECONDS = 15
#: By when a call is refused where the server refuses connections: at once, if the machine has time for one of some.
REFUSAL_SECONDS = 2
#: From the database's return to the service's. Printed by `pytest -s`.
RECOVERY_SECONDS = 1
#: A slow machine has more tries, not more time.
RECOVERY_TRIES = 8


@pytest.fixture
def empty(postgres):
    """The URI of a database of the test's own."""
    return postgres.create_database()


@pytest.fixture
def database(empty):
    """The same, with the tables."""
    migrated = run("migrate", "--store", empty)
    assert migrated.returncode == 0, migrated.stderr
    return empty


def contents(postgres, uri):
    """All tables with all that is in them."""
    return postgres.execute(
        """SELECT table_name, query_to_xml(format('SELECT * FROM %I', table_name), true, false, '')
        FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1""",
        uri,
    )


def assert_refused(postgres, uri, exit_code, advice, *commands):
    before = contents(postgres, uri)
    for ended in commands:
        assert ended.returncode == exit_code, ended.stderr
        assert ended.stdout == ""
        lines = ended.stderr.splitlines()
        assert len(lines) == 1, ended.stderr
        assert lines[0].startswith("touchstone: ")
        assert advice in lines[0]
    assert contents(postgres, uri) == before


def serve_to_end(tmp_path, uri):
    make_keys(tmp_path / "data" / "keys")
    return run_to_end(tmp_path / "data", arguments=["--store", uri])


# Making and refusing databases


def test_an_empty_database_is_not_served_and_not_touched(postgres, empty, tmp_path):
    assert_refused(postgres, empty, OTHER_SCHEMA, "touchstone migrate", serve_to_end(tmp_path, empty))
    assert contents(postgres, empty) == []


def test_a_migration_says_what_it_would_do_and_does_it_once(postgres, empty, start):
    planned = run("migrate", "--store", empty, "--dry-run")
    assert (planned.returncode, planned.stderr) == (0, "")
    assert "CREATE TABLE bindings" in planned.stdout
    assert contents(postgres, empty) == []

    # What is printed is SQL that makes the same.
    copy = postgres.create_database()
    postgres.execute(planned.stdout, copy)
    assert "nothing to do" in run("migrate", "--store", copy).stdout

    done = run("migrate", environment={"TOUCHSTONE_STORE": empty})
    assert (done.returncode, done.stderr) == (0, "")
    assert "has schema 2.1 now" in done.stdout
    again = run("migrate", "--store", empty)
    assert (again.returncode, again.stderr) == (0, "")
    assert "nothing to do" in again.stdout
    caller = new_caller(start(store=empty))
    caller.bind(Phone())


def test_migrations_at_once_do_the_work_once(empty):
    migrations = from_threads(4, lambda _: run("migrate", "--store", empty))
    assert [ended.returncode for ended in migrations] == [0] * 4, [ended.stderr for ended in migrations]
    assert sum("has schema 2.1 now" in ended.stdout for ended in migrations) == 1


def test_a_role_without_privileges_is_told_so(postgres, database, tmp_path):
    postgres.execute("CREATE ROLE stranger LOGIN", database)
    stranger = database.replace("touchstone@", "stranger@", 1)
    assert_refused(postgres, database, UNWRITABLE, "privileges", serve_to_end(tmp_path, stranger))


def test_the_audit_log_is_verified_where_it_is(postgres, database, start):
    caller = new_caller(start(store=database), "shop")
    caller.bind(Phone())
    assert len(caller.events()) == 1
    whole = run("audit", "verify", "--store", database)
    assert (whole.returncode, whole.stderr) == (0, "")
    # The first says that accounts are signed.
    assert whole.stdout.startswith("2 events")
    postgres.execute("UPDATE events SET caller = 'somebody else'", database)
    altered = run("audit", "verify", "--store", database)
    assert (altered.returncode, altered.stdout) == (CORRUPT, "")
    assert "event 1 " in altered.stderr


# What says where it is


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://touchstone:opensesame@db/shop",
        "postgresql://db/shop?password=opensesame",
        "postgresql://db/shop?sslkey=key.pem&sslpassword=opensesame",
    ],
)
def test_no_password_on_the_command_line(tmp_path, uri):
    """Whoever lists processes would see it."""
    for ended in (serve_to_end(tmp_path, uri), run("migrate", "--store", uri), run("audit", "verify", "--store", uri)):
        assert ended.returncode == USAGE
        assert "TOUCHSTONE_STORE" in ended.stderr
        assert "opensesame" not in ended.stderr + ended.stdout


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://[opensesame",
        "postgres:opensesame",
        "mysql://u:opensesame@db/x",
        "opensesame",
        "postgresql://u:open/opensesame@db/x",
        "postgresql://u:open@opensesame@db/x",
    ],
)
def test_what_is_no_uri_is_refused_and_not_quoted(tmp_path, uri):
    configuration = tmp_path / "touchstone.yaml"
    configuration.write_text(f'store: "{uri}"\n')
    for ended, exit_code in (
        (serve_to_end(tmp_path, uri), USAGE),
        (run("check-config", configuration), BAD_CONFIGURATION),
        (run("migrate", environment={"TOUCHSTONE_STORE": uri}), BAD_CONFIGURATION),
    ):
        assert ended.returncode == exit_code
        assert "postgresql://HOST/DATABASE" in ended.stderr
        assert "opensesame" not in ended.stderr + ended.stdout


@pytest.mark.parametrize(
    ("uri", "environment"),
    [
        ("postgresql://u:opensesame@/db", {"PGHOSTADDR": "127.0.0.1"}),
        ("postgresql://u:opensesame@localhost/db", {"PGHOSTADDR": "127.0.0.1", "PGSSLMODE": "prefer"}),
        ("postgresql://u:opensesame@/?service=elsewhere", {}),
    ],
)
def test_no_password_for_a_server_without_tls_whatever_the_environment_says(tmp_path, uri, environment):
    """Such as one who stands between, and would ask for it in plaintext."""
    services = tmp_path / "services"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(DEADLINE_SECONDS)
        port = listener.getsockname()[1]
        services.write_text(f"[elsewhere]\nhost=db.example.com\nhostaddr=127.0.0.1\nport={port}\nsslmode=prefer\n")
        environment = {"PGPORT": str(port), "PGSERVICEFILE": str(services), "TOUCHSTONE_STORE": uri, **environment}
        process = subprocess.Popen([BINARY, "migrate", "--dry-run"], env={**os.environ, **environment})
        try:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(DEADLINE_SECONDS)
                assert connection.recv(1024) == SSL_REQUEST
                connection.sendall(b"N")
                assert connection.recv(1024) == b""
        finally:
            process.kill()
            process.wait()


def test_a_password_in_a_configuration_that_others_can_read(tmp_path):
    configuration = tmp_path / "touchstone.yaml"
    configuration.write_text("store: postgresql://touchstone:opensesame@db:5433,db2/shop\n")
    configuration.chmod(0o644)
    refused = run("check-config", configuration)
    assert (refused.returncode, refused.stdout) == (BAD_CONFIGURATION, "")
    assert "chmod" in refused.stderr
    configuration.chmod(0o640)
    taken = run("check-config", configuration)
    assert taken.returncode == 0, taken.stderr
    assert "postgresql db:5433,db2/shop" in taken.stdout
    assert "opensesame" not in refused.stderr + taken.stdout


def test_no_data_directory_is_needed_where_the_keys_are_elsewhere(database, start, tmp_path):
    make_keys(tmp_path / "keys")
    new_caller(start(store=database, arguments=["--keys", tmp_path / "keys"])).bind(Phone())
    assert not (tmp_path / "data").exists()


def test_the_environment_is_wiped(postgres, database, start):
    """A password there is nobody else's to read; nor does a process's title show it."""
    uri = database.replace("touchstone@", "touchstone:opensesame@", 1)
    server = start(environment={"TOUCHSTONE_STORE": uri, "TOUCHSTONE_DEBUGGABLE": "1"}, store="")
    new_caller(server).bind(Phone())
    process = Path(f"/proc/{server.process.pid}")
    environment = (process / "environ").read_bytes()
    assert b"TOUCHSTONE_STORE=\0" in environment
    assert b"opensesame" not in environment + (process / "cmdline").read_bytes()
    assert b"opensesame" not in server.errors.encode()
    titles = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout
    assert b"opensesame" not in titles


# While there is none


@pytest.fixture
def fragile(tmp_path):
    """A PostgreSQL of the test's own, to stop and start."""
    server = PostgresServer()
    uri = server.create_database("touchstone")
    assert run("migrate", "--store", uri).returncode == 0
    server.database_uri = uri
    yield server
    server.close()


def test_without_a_database_the_service_is_unavailable_and_comes_back_by_itself(fragile, start):
    server = start(store=fragile.database_uri)
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    opened = caller.begin(phone)
    watch = health_pb2_grpc.HealthStub(server.channel()).Watch(health_pb2.HealthCheckRequest(), timeout=120)
    assert next(watch).status == SERVING

    fragile.stop("immediate")
    calls = [
        lambda: caller.evaluations.SubmitAttempt(caller.attempt(phone, opened)),
        lambda: caller.login(phone),
        lambda: caller.get_binding(phone.binding.binding_id),
        lambda: caller.revoke(phone.binding),
        lambda: caller.events(),
    ]
    seconds = []
    for call in calls:
        began = time.monotonic()
        with pytest.raises(grpc.RpcError) as raised:
            call()
        seconds.append(time.monotonic() - began)
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE, raised.value
    assert min(seconds) < REFUSAL_SECONDS
    assert next(watch).status == NOT_SERVING
    assert run("healthcheck", "--target", server.address).returncode == 1

    fragile.start()
    assert next(watch).status == SERVING
    watch.cancel()
    # What was begun before is still good: the service did not restart.
    assert caller.submit(phone, opened).outcome == SUCCEEDED
    server.terminate()


def test_a_database_that_returns_is_served_within_a_second(fragile, start):
    """Both what is committed and what health says."""
    server = start(store=fragile.database_uri)
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    watch = health_pb2_grpc.HealthStub(server.channel()).Watch(health_pb2.HealthCheckRequest(), timeout=300)
    assert next(watch).status == SERVING
    times = []
    while not times or min(times) >= RECOVERY_SECONDS:
        assert len(times) < RECOVERY_TRIES, times
        fragile.stop("immediate")
        with pytest.raises(grpc.RpcError):
            caller.login(phone)
        assert next(watch).status == NOT_SERVING
        times.append(max(seconds_to_return(fragile, caller, phone, watch)))
    watch.cancel()


class Lateness:
    """By how much the machine lets a process wait that is ready to run: what short sleeps took too long."""

    _STEP_SECONDS = 0.005

    def __enter__(self):
        self._late = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._measure)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._ended.set()
        self._thread.join()

    def _measure(self):
        before = time.time()
        while not self._ended.wait(self._STEP_SECONDS):
            now = time.time()
            self._late.append((now, max(0, now - before - self._STEP_SECONDS)))
            before = now

    def between(self, start, end):
        return sum(late for at, late in self._late if start <= at <= end)


def seconds_to_return(postgres, caller, phone, watch):
    """From when it accepts connections: of the first commit, and of health."""
    times = {}

    def log_in_again():
        while True:
            try:
                assert caller.login(phone).outcome == SUCCEEDED
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                time.sleep(0.02)
            else:
                times["commit"] = time.time()
                return

    def watch_health():
        assert next(watch).status == SERVING
        times["health"] = time.time()

    threads = [threading.Thread(target=log_in_again), threading.Thread(target=watch_health)]
    with Lateness() as lateness:
        for thread in threads:
            thread.start()
        postgres.start()
        for thread in threads:
            thread.join(60)
    # The machine's own delays are not the service's.
    commit, health = (
        times[what] - postgres.ready_at - lateness.between(postgres.ready_at, times[what]) for what in ("commit", "health")
    )
    print(f"recovered: first commit after {commit:.2f} s, SERVING after {health:.2f} s")
    return commit, health


def test_a_database_that_comes_a_little_later_is_waited_for(fragile, start):
    fragile.stop("fast")
    server = start(store=fragile.database_uri, is_awaited=False)
    server.next_error("waiting for the database")
    fragile.start()
    server.await_addresses()


def test_a_database_that_does_not_come_is_not_waited_for_for_long(tmp_path):
    ended = serve_to_end(tmp_path, "postgresql:///touchstone?host=/nowhere")
    assert (ended.returncode, ended.stdout) == (UNAVAILABLE, "")
    assert "check the server and the URI" in ended.stderr.splitlines()[-1]
