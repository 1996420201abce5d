"""`touchstone restored`: a database that was put back by other means revives nothing that was used (R28, R35, R39)."""

import shutil
import uuid

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.caller import Caller, new_caller
from support.data_directory import contents
from support.issued import Issued
from support.phone import Phone
from support.replicas import Replicas
from support.server import run
from support.stores import databases, of_sqlite
from support.stubs import administration_pb2, evaluation_pb2

USAGE = 64
UNAVAILABLE = 69
UNWRITABLE = 73
LOCKED = 75
OTHER_SCHEMA = 76

APPLICATION = "shop"

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

pytestmark = of_sqlite


class OnSQLite:
    """Its file is copied while nobody has it, as a volume's snapshot."""

    store = None

    def __init__(self, directory):
        self._data = directory / "data"
        self._copy = directory / "copy"
        self.location = ("--data-dir", self._data)

    def keep(self):
        shutil.copytree(self._data, self._copy)

    def put_back(self):
        shutil.rmtree(self._data)
        self._copy.rename(self._data)


class OnPostgreSQL:
    """The database is copied on the server, to what becomes of it."""

    def __init__(self, _directory):
        self._name = f"restored_{uuid.uuid4().hex}"
        self.store = databases().create_database(self._name)
        assert run("migrate", "--store", self.store).returncode == 0
        self.location = ("--store", self.store)

    def keep(self):
        databases().execute(f"CREATE DATABASE {self._name}_copy TEMPLATE {self._name}")

    def put_back(self):
        databases().drop_database(self._name)
        databases().execute(f"ALTER DATABASE {self._name}_copy RENAME TO {self._name}")


@pytest.fixture(params=[OnSQLite, OnPostgreSQL], ids=["sqlite", "postgresql"])
def place(request, tmp_path):
    return request.param(tmp_path)


def restored(*location):
    """Answers what it prints."""
    ended = run("restored", *location)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_what_was_used_since_stays_unusable(place, start):
    server = start(store=place.store)
    caller, phone = new_caller(server, APPLICATION), Phone()
    caller.bind(phone, "profile-1")
    issued = Issued(caller, phone)
    last = caller.events()[-1]
    server.terminate()
    place.keep()
    server = start(store=place.store)
    issued.use(new_caller(server, APPLICATION))
    server.terminate()
    place.put_back()
    said = restored(*place.location)
    assert f"LOST: everything after event {last.sequence}." in said

    server = start(store=place.store)
    caller = new_caller(server, APPLICATION)
    issued.assert_void(caller)
    # And what is issued now serves at once.
    assert caller.login(phone).outcome == SUCCEEDED
    assert caller.consume(caller.pay(phone).token).consumed
    request = administration_pb2.ListEventsRequest(after_sequence=last.sequence, page_size=10)
    restoration = caller.administration.ListEvents(request).events[0]
    assert restoration.kind == "store.restored"
    assert restoration.details["last_sequence"] == str(last.sequence)
    assert restoration.hash.hex() in said
    server.terminate()
    assert run("audit", "verify", *place.location).returncode == 0


def test_a_directory_in_use_is_left_alone(start):
    server = start()
    caller, phone = new_caller(server, APPLICATION), Phone()
    caller.bind(phone)
    opened = caller.begin(phone)
    ended = run("restored", "--data-dir", server.data_directory)
    assert (ended.returncode, ended.stdout) == (LOCKED, "")
    assert str(server.data_directory) in ended.stderr
    assert caller.submit(phone, opened).outcome == SUCCEEDED


def test_replicas_that_run_refuse_everything_until_they_start_again(tmp_path):
    """One that is busy at once, one that is idle within seconds: they hold what may have been used."""
    replicas = Replicas(tmp_path)
    try:
        busy, idle = replicas.start(), replicas.start()
        caller, phone = new_caller(busy, APPLICATION), Phone()
        caller.bind(phone)
        opened = caller.begin(phone)
        token = caller.login(phone).token
        watch = health_pb2_grpc.HealthStub(idle.channel()).Watch(health_pb2.HealthCheckRequest(), timeout=60)
        next(watch)
        restored("--store", replicas.store)
        with pytest.raises(grpc.RpcError) as raised:
            caller.submit(phone, opened)
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
        assert "start it again" in busy.next_error("touchstone restored")
        assert next(watch).status == NOT_SERVING
        with pytest.raises(grpc.RpcError) as raised:
            Caller(idle.channel(), APPLICATION).introspect(token)
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
        assert "start it again" in idle.next_error("touchstone restored")
        caller = new_caller(replicas.start(), APPLICATION)
        assert not caller.introspect(token).active
        assert caller.login(phone).outcome == SUCCEEDED
    finally:
        replicas.close()


def test_what_is_no_service_of_ours_is_left_alone(tmp_path):
    (tmp_path / "data").mkdir()
    empty = databases().create_database()
    before = contents(tmp_path)
    for location, code in [
        (("--data-dir", tmp_path / "nowhere"), UNWRITABLE),
        (("--data-dir", tmp_path / "data"), UNWRITABLE),
        (("--store", empty), OTHER_SCHEMA),
        (("--store", "postgresql:///touchstone?host=/nowhere"), UNAVAILABLE),
        (("--store", "sqlite"), USAGE),
        ((), USAGE),
    ]:
        ended = run("restored", *location)
        assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr
        assert ended.stderr.splitlines()[-1].startswith("touchstone: "), ended.stderr
    assert contents(tmp_path) == before
