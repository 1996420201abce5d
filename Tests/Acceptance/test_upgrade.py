"""An upgrade: the tables of an earlier build get what is missing, and services go on beside additions of a later one.

`EARLIER_TOUCHSTONE` names a build of an earlier schema, which then runs beside this one on one PostgreSQL."""

import contextlib
import functools
import os
import re
import signal
import sqlite3
import subprocess
from pathlib import Path

import grpc
import pytest

from support.caller import new_caller
from support.data_directory import contents, database
from support.phone import Phone
from support.replicas import Load
from support.server import BINARY, Server, make_keys, run, run_to_end
from support.stores import databases, of_sqlite
from support.stubs import evaluation_pb2

pytestmark = of_sqlite

SCHEMAS = Path(__file__).with_name("schemas")
EARLIER = os.environ.get("EARLIER_TOUCHSTONE")

CORRUPT, UNREACHABLE, OTHER_SCHEMA = 65, 69, 76
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

#: An upgrade by a later build, which adds a column to each table, and a table. As `migrate` does it: a statement behind
#: it waits for a second at most.
LATER_COLUMN = "SET lock_timeout = '1s'; ALTER TABLE {} ADD COLUMN later BIGINT NOT NULL DEFAULT 7"
LATER_TABLE = (
    "BEGIN; CREATE TABLE later (id BIGINT); UPDATE touchstone_schema SET additions = additions + 1;"
    "INSERT INTO schema_changes SELECT version, additions, now(), 'later' FROM touchstone_schema; COMMIT"
)
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
DEFINITIONS = """
    SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
    WHERE table_schema = 'public'
    UNION ALL SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2
"""


@pytest.fixture
def earlier(postgres):
    """A database of schema 2.0."""
    uri = postgres.create_database()
    postgres.execute((SCHEMAS / "postgresql-2.0.sql").read_text(), uri)
    return uri


def migrate(uri, *arguments):
    ended = run("migrate", "--store", uri, *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def log_in(caller, phone):
    assert caller.login(phone).outcome == SUCCEEDED


def people(*servers):
    """For each server two people, who log in again and again."""
    work = []
    for server in servers:
        for _ in range(2):
            caller, phone = new_caller(server, "shop"), Phone()
            caller.bind(phone)
            work.append(functools.partial(log_in, caller, phone))
    return work


# PostgreSQL


def test_an_earlier_database_becomes_what_a_new_one_is(postgres, earlier, tmp_path):
    refused = run_to_end(tmp_path / "data", arguments=["--store", earlier])
    assert refused.returncode == OTHER_SCHEMA
    assert "has schema 2.0, and this version needs 2.1: run `touchstone migrate`" in refused.stderr
    planned = migrate(earlier, "--dry-run")
    assert "ADD COLUMN additions" in planned and "CREATE TABLE bindings" not in planned
    assert "has schema 2.1 now" in migrate(earlier)
    fresh = postgres.create_database()
    migrate(fresh)
    assert postgres.execute(DEFINITIONS, earlier) == postgres.execute(DEFINITIONS, fresh)
    assert re.search(r"nothing to do, it has schema 2\.1, made at \S+Z by \d", migrate(earlier))


def test_an_upgrade_that_is_killed_halfway_changes_nothing_and_is_done_by_the_next(postgres, earlier):
    before = postgres.execute(DEFINITIONS, earlier)
    reader = subprocess.Popen(
        [*postgres._command("psql"), "--no-psqlrc", "--quiet", earlier],
        stdin=subprocess.PIPE,
        text=True,
        cwd=postgres.directory,
    )
    # As pg_dump does.
    reader.stdin.write("BEGIN; LOCK TABLE touchstone_schema IN ACCESS SHARE MODE;\n")
    reader.stdin.flush()
    held = "SELECT count(*) FROM pg_locks WHERE relation = 'touchstone_schema'::regclass AND {}granted"
    postgres.await_answer(held.format(""), ["1"], earlier)
    with subprocess.Popen([BINARY, "migrate", "--store", earlier], stderr=subprocess.DEVNULL) as upgrade:
        postgres.await_answer(held.format("NOT "), ["1"], earlier)
        upgrade.kill()
    ended = run("migrate", "--store", earlier)
    assert ended.returncode == UNREACHABLE
    assert "another session (a dump, an open transaction) holds a table" in ended.stderr.splitlines()[-1]
    reader.stdin.close()
    reader.wait()
    assert postgres.execute(DEFINITIONS, earlier) == before
    assert "has schema 2.1 now" in migrate(earlier)


def test_services_go_on_beside_the_additions_of_a_later_build(postgres, tmp_path):
    uri = postgres.create_database()
    migrate(uri)
    make_keys(tmp_path / "keys")

    def serve(name):
        return Server(tmp_path / name, store=uri, arguments=["--keys", tmp_path / "keys"])

    with serve("a") as first, serve("b") as second:
        with Load(*people(first, second)) as load:
            load.wait_for_rounds(3)
            for table in postgres.execute(TABLES, uri):
                postgres.execute(LATER_COLUMN.format(table), uri)
                load.wait_for_rounds(1)
            postgres.execute(LATER_TABLE, uri)
            load.wait_for_rounds(3)
        # One that begins, or begins again, takes the later build's tables.
        with serve("c") as third, Load(*people(third)) as load:
            load.wait_for_rounds(3)
        assert re.search(r"nothing to do, it has schema 2\.2, made at \S+ by later", migrate(uri))
        assert first.verify_audit().returncode == 0
    postgres.execute("UPDATE touchstone_schema SET version = 3", uri)
    refused = run_to_end(tmp_path / "data", arguments=["--store", uri])
    assert refused.returncode == OTHER_SCHEMA
    assert "has schema 3.2, where this version knows 2.1" in refused.stderr


@pytest.mark.skipif(EARLIER is None, reason="EARLIER_TOUCHSTONE names no build")
def test_an_earlier_build_and_this_one_take_turns_on_one_database(postgres, tmp_path):
    """Two replicas under load are replaced one by one, forth and back; both builds write to the same records."""
    uri = postgres.create_database()
    assert run("migrate", "--store", uri, program=EARLIER).returncode == 0
    make_keys(tmp_path / "keys")

    def serve(name, program):
        arguments = ["--keys", tmp_path / "keys"]
        return Server(tmp_path / name, store=uri, arguments=arguments, program=(program,))

    servers = [serve("a", EARLIER), serve("b", EARLIER)]
    callers = [[new_caller(server, "shop") for _ in range(4)] for server in servers]
    phones = [Phone() for _ in range(4)]
    for caller, phone in zip(callers[0], phones, strict=True):
        caller.bind(phone)
    turns = [0] * 4

    def log_in_somewhere(person):
        """By turns at both replicas; at the other one while one is replaced."""
        turns[person] += 1
        for replica in (turns[person] % 2, 1 - turns[person] % 2):
            # A replica that ends closes its channels.
            with contextlib.suppress(grpc.RpcError, ValueError):
                return log_in(callers[replica][person], phones[person])
        raise AssertionError("neither replica answered")

    with Load(*(functools.partial(log_in_somewhere, person) for person in range(4))) as load:
        load.wait_for_rounds(3)
        assert "has schema 2.1 now" in migrate(uri)
        for program in (BINARY, EARLIER):
            for replica in range(2):
                load.wait_for_rounds(3)
                servers[replica].terminate()
                servers[replica] = serve(f"{replica}-{Path(program).parent.name}", program)
                callers[replica] = [new_caller(servers[replica], "shop") for _ in range(4)]
        load.wait_for_rounds(3)
        assert "nothing to do" in run("migrate", "--store", uri, program=EARLIER).stdout
    for server in servers:
        server.close()
    for program in (EARLIER, BINARY):
        assert run("audit", "verify", "--store", uri, program=program).returncode == 0


# SQLite


def make_earlier(directory):
    """A data directory of schema 3.0, with keys."""
    directory.mkdir(mode=0o700)
    make_keys(directory / "keys")
    with contextlib.closing(sqlite3.connect(directory / "touchstone.db")) as connection:
        connection.executescript((SCHEMAS / "sqlite-3.0.sql").read_text())


def version(directory):
    with contextlib.closing(sqlite3.connect(database(directory))) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def alter(directory, sql):
    with contextlib.closing(sqlite3.connect(database(directory))) as connection:
        connection.executescript(sql)


def serve_once(start, name):
    server = start(name)
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    log_in(caller, phone)
    server.terminate()
    return server.errors


def test_a_start_adds_what_an_earlier_data_directory_lacks(start, tmp_path):
    make_earlier(tmp_path / "data")
    assert version(tmp_path / "data") == 3
    assert "notice the database was upgraded from=3.0 to=3.1" in serve_once(start, "data")
    assert version(tmp_path / "data") == 1003
    assert "upgraded" not in serve_once(start, "data")


def test_an_earlier_builds_backup_is_restored(start, tmp_path):
    make_earlier(tmp_path / "data")
    assert run("backup", "--data-dir", tmp_path / "data", "--to", tmp_path / "copy").returncode == 0
    assert version(tmp_path / "data") == 3
    make_keys(tmp_path / "restored/keys")
    keys = tmp_path / "data/keys"
    (tmp_path / "restored").chmod(0o700)
    ended = run("restore", "--from", tmp_path / "copy", "--data-dir", tmp_path / "restored", "--keys", keys)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert version(tmp_path / "restored") == 1003
    serve_once(start, "restored")


ADDITIONS = """
    ALTER TABLE bindings ADD COLUMN later INTEGER NOT NULL DEFAULT 7;
    CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;
    CREATE INDEX later_bindings ON bindings (later);
    PRAGMA user_version = 2003;
"""


def test_a_later_builds_additions_are_served_backed_up_and_restored(start, tmp_path):
    serve_once(start, "data")
    alter(tmp_path / "data", ADDITIONS)
    serve_once(start, "data")
    assert version(tmp_path / "data") == 2003
    keys = tmp_path / "data/keys"
    assert run("backup", "--data-dir", tmp_path / "data", "--to", tmp_path / "copy").returncode == 0
    ended = run("restore", "--from", tmp_path / "copy", "--data-dir", tmp_path / "restored", "--keys", keys)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert version(tmp_path / "restored") == 2003


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DROP TABLE backups", CORRUPT),
        ("ALTER TABLE devices DROP COLUMN failures", CORRUPT),
        ("DROP INDEX active_binding_of_device", CORRUPT),
        ("PRAGMA user_version = 2004", OTHER_SCHEMA),
    ],
)
def test_a_later_builds_other_changes_are_refused_and_left_as_they_are(start, tmp_path, change, code):
    serve_once(start, "data")
    alter(tmp_path / "data", ADDITIONS + change)
    before = contents(tmp_path / "data")
    refused = run_to_end(tmp_path / "data")
    assert refused.returncode == code, refused.stderr
    assert contents(tmp_path / "data") == before


def test_a_start_that_is_killed_while_it_upgrades_leaves_what_the_next_one_upgrades(start, tmp_path):
    make_earlier(tmp_path / "data")
    for _ in range(5):
        with subprocess.Popen(
            [BINARY, "serve", "--listen", "127.0.0.1:0", "--data-dir", tmp_path / "data"], stderr=subprocess.DEVNULL
        ) as killed:
            # As soon as the database is open; the upgrade is near.
            while killed.poll() is None and not (tmp_path / "data/touchstone.db-wal").exists():
                pass
            killed.send_signal(signal.SIGKILL)
        assert version(tmp_path / "data") in (3, 1003)
    serve_once(start, "data")
    assert version(tmp_path / "data") == 1003


def test_a_count_of_additions_below_zero_is_refused():
    store = databases().create_database("below_zero")
    assert run("migrate", "--store", store).returncode == 0
    databases().execute("UPDATE touchstone_schema SET additions = -1", "below_zero")
    ended = run("migrate", "--store", store)
    assert ended.returncode == 76 and "schema 2.-1" in ended.stderr, (ended.returncode, ended.stderr)
