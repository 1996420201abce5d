"""`touchstone migrate --from sqlite --to postgresql`: a service goes on elsewhere as if nothing had happened."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
from urllib.parse import urlsplit

import grpc
import pytest

from support.caller import COFFEE, gesture, new_caller, passcode
from support.data_directory import contents, database
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.postgres import PORT
from support.server import BINARY, run, run_to_end
from support.stores import databases, of_sqlite
from support.stubs import administration_pb2, evaluation_pb2

pytestmark = of_sqlite

USAGE = 64
CORRUPT = 65
UNWRITABLE = 73
LOCKED = 75
OTHER_SCHEMA = 76

APPLICATION = "shop"

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT


@pytest.fixture
def uri():
    """Of an empty database."""
    return databases().create_database()


def move(directory, uri, *arguments):
    return run("migrate", "--from", directory, "--to", uri, *arguments)


def assert_refused(ended, exit_code, says):
    assert ended.returncode == exit_code, ended.stderr
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("touchstone: ")
    assert str(says) in line


class History:
    """What happened on a service: something of every kind."""

    def __init__(self, server):
        caller = new_caller(server, APPLICATION)
        self.phone, self.locked, self.lost = Phone(BIOMETRY, DEVICE_OWNER), Phone(), Phone()
        for phone, profile in ((self.phone, "anna"), (self.locked, "bert"), (self.lost, "carl")):
            caller.bind(phone, profile)
        self.by_touch_id = Phone()
        self.touch_id = os.urandom(32)
        caller.bind(self.by_touch_id, "dora", touch_id=self.touch_id)
        caller.set_secret("anna", passcode("271828"))
        caller.set_secret("anna", gesture(0, 1, 2, 5, 8))
        caller.set_settings("bert", biometry_enabled=True, gesture_enabled=False, passcode_enabled=True)
        for _ in range(2):
            self.fail_passcode(caller)
        for _ in range(2):
            opened = caller.begin(self.locked)
            for _ in range(3):
                caller.submit_wrong(self.locked, opened)
        caller.revoke(self.lost.binding)
        erased = Phone()
        caller.bind(erased, "erich")
        caller.login(erased)
        caller.erase_profile("erich")
        caller.begin(self.phone, binding_id="nobody-has-this-binding")

        self.used, self.unused = (caller.attempt(self.phone, caller.begin(self.phone)) for _ in range(2))
        assert caller.evaluations.SubmitAttempt(self.used).outcome == SUCCEEDED
        self.half_used = caller.begin(self.phone)
        caller.submit_wrong(self.phone, self.half_used)
        fritz = Phone()
        self.used_ticket, self.ticket = (
            caller.completion(fritz, caller.begin_binding(fritz, "fritz")) for _ in range(2)
        )
        caller.bindings.CompleteBinding(self.used_ticket)
        self.consumed, self.left = caller.pay(self.phone).token, caller.pay(self.phone).token
        assert caller.consume(self.consumed).consumed
        self.revoked, self.login = caller.login(self.phone).token, caller.login(self.phone).token
        caller.revoke_token(self.revoked)

    def fail_passcode(self, caller):
        opened = caller.begin(self.phone, "deviceOwnerAuthentication")
        return caller.submit(self.phone, opened, secret=passcode("314159"))

    def answers(self, caller):
        """To calls that change nothing."""
        phones = [self.phone, self.locked, self.lost, self.by_touch_id]
        event_filter = administration_pb2.ListEventsRequest(page_size=1000)
        return [
            *(caller.get_binding(phone.binding.binding_id) for phone in phones),
            *(caller.can_evaluate(phone) for phone in phones),
            *(caller.can_evaluate(phone, "payment") for phone in phones),
            *(caller.list_bindings(name, include_revoked=True) for name in ("anna", "bert", "carl", "erich", "fritz")),
            *(caller.get_profile(name) for name in ("anna", "bert", "carl", "dora", "fritz")),
            *(caller.get_settings(name) for name in ("anna", "bert", "erich")),
            *(caller.introspect(token) for token in (self.consumed, self.left, self.revoked, self.login)),
            caller.administration.ListEvents(event_filter),
        ]

    def assert_goes_on(self, caller):
        """What was used is used, what was not serves, and counts go on."""
        for request in (self.used, self.unused):
            outcome = caller.evaluations.SubmitAttempt(request).outcome
            assert outcome == (INVALID_CONTEXT if request is self.used else SUCCEEDED)
        # One was wrong before, and three end an evaluation.
        outcomes = [caller.submit_wrong(self.phone, self.half_used).outcome for _ in range(2)]
        assert outcomes == [evaluation_pb2.OUTCOME_TRY_AGAIN, evaluation_pb2.OUTCOME_FAILED]
        with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TICKET_INVALID"):
            caller.bindings.CompleteBinding(self.used_ticket)
        assert caller.bindings.CompleteBinding(self.ticket).binding.profile_id == "fritz"
        assert caller.consume(self.consumed).reason == "ALREADY_CONSUMED"
        assert caller.consume(self.left).consumed
        assert caller.consume(self.left, COFFEE).reason == "ALREADY_CONSUMED"
        assert caller.begin(self.lost).denial.reason == "BINDING_REVOKED"
        assert not caller.can_evaluate(self.locked).can_evaluate
        opened = caller.begin(self.by_touch_id)
        assert caller.submit(self.by_touch_id, opened, profile_touch_id=self.touch_id).outcome == SUCCEEDED
        # Two wrong ones were before, and the fifth locks.
        outcomes = [self.fail_passcode(caller).outcome for _ in range(3)]
        assert outcomes[-1] == evaluation_pb2.OUTCOME_LOCKED_OUT
        assert outcomes[0] != evaluation_pb2.OUTCOME_LOCKED_OUT
        assert caller.login(self.phone).outcome == SUCCEEDED


@pytest.fixture
def stopped(start):
    """A service that has stopped, what happened on it, and what it answered last."""
    server = start()
    history = History(server)
    answers = history.answers(new_caller(server, APPLICATION))
    server.terminate()
    return server.data_directory, history, answers


@pytest.fixture
def serve(start):
    """On PostgreSQL, with the keys that are in the directory."""

    def serve(directory, uri):
        return start(directory.name, store=uri)

    return serve


def test_a_moved_service_answers_as_before_and_goes_on(stopped, uri, serve):
    directory, history, answers = stopped
    moved = move(directory, uri)
    assert (moved.returncode, moved.stderr) == (0, "")
    head = answers[-1].events[-1]
    assert moved.stdout.count(head.hash.hex()) == 2
    assert f"{len(answers[-1].events)} events\n" in moved.stdout

    server = serve(directory, uri)
    caller = new_caller(server, APPLICATION)
    assert history.answers(caller) == answers
    history.assert_goes_on(caller)
    verified = run("audit", "verify", "--store", uri)
    assert verified.returncode == 0, verified.stderr


def test_where_from_and_where_to_may_be_what_is_configured(stopped, uri, tmp_path):
    directory, *_ = stopped
    configuration = tmp_path / "touchstone.yaml"
    configuration.write_text(f"data_dir: {directory}\nstore: {uri}\n")
    moved = run("migrate", "--from", "sqlite", "--to", "postgresql", "--config", configuration)
    assert (moved.returncode, moved.stderr) == (0, "")


def test_nobody_serves_from_what_was_moved(stopped, uri):
    directory, *_ = stopped
    assert move(directory, uri).returncode == 0
    before = contents(directory)
    assert_refused(run_to_end(directory), OTHER_SCHEMA, says="was moved to PostgreSQL")
    assert_refused(move(directory, uri), OTHER_SCHEMA, says="was moved to PostgreSQL")
    assert contents(directory) == before


def test_a_move_that_a_reader_is_in_the_way_of_leaves_the_directory_served_and_the_database_not(stopped, uri, start):
    directory, history, answers = stopped
    with contextlib.closing(sqlite3.connect(f"file:{database(directory)}?mode=ro", uri=True)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        assert_refused(move(directory, uri), LOCKED, says="run the same again when no other process reads it")
        assert_refused(run_to_end(directory, arguments=["--store", uri]), OTHER_SCHEMA, says="--from DIRECTORY --to URI")
    server = start(directory.name)
    assert history.answers(new_caller(server, APPLICATION)) == answers
    server.terminate()
    # It may go somewhere else, too: the first one is not served from.
    elsewhere = databases().create_database()
    assert move(directory, elsewhere).returncode == 0
    assert_refused(run_to_end(directory), OTHER_SCHEMA, says="was moved to PostgreSQL")


#: Holds a move up when it sets the lineage, or in its commit if `when` is DEFERRABLE INITIALLY DEFERRED. Other
#: transactions see the sequences. They have a schema of their own, because a move wants an empty one.
HOLD = """
CREATE SCHEMA holding;
CREATE SEQUENCE holding.held;
CREATE SEQUENCE holding.released;
CREATE FUNCTION holding.hold() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM nextval('holding.held');
    WHILE NOT (SELECT is_called FROM holding.released) LOOP PERFORM pg_sleep(0.01); END LOOP;
    RETURN NULL;
  END $$;
CREATE FUNCTION holding.attach() RETURNS event_trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.lineage') THEN
      CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON public.lineage {when} FOR EACH ROW EXECUTE FUNCTION holding.hold();
    END IF;
  END $$;
CREATE EVENT TRIGGER attach ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION holding.attach();
"""
FILLING, COMMITTING = "", "DEFERRABLE INITIALLY DEFERRED"
TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
OTHER_SESSIONS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def kill_move(directory, uri, when, *, ends_session):
    """Kills a move there. With `ends_session` the server loses its client at once, otherwise it finishes the statement."""
    databases().execute(HOLD.format(when=when), uri)
    with subprocess.Popen([BINARY, "migrate", "--from", directory, "--to", uri]) as moving:
        while databases().execute("SELECT is_called FROM holding.held", uri) == ["f"]:
            assert moving.poll() is None
        moving.kill()
    if ends_session:
        databases().execute(f"SELECT pg_terminate_backend(pid) {OTHER_SESSIONS}", uri)
    databases().execute("SELECT nextval('holding.released')", uri)
    databases().await_answer(f"SELECT count(*) {OTHER_SESSIONS}", ["0"], uri)


def test_a_move_that_is_killed_while_it_fills_leaves_nothing_and_begins_anew(stopped, uri, start, serve):
    directory, history, answers = stopped
    kill_move(directory, uri, FILLING, ends_session=False)
    assert databases().execute(TABLES, uri) == ["0"]
    assert_refused(run_to_end(directory, arguments=["--store", uri]), OTHER_SCHEMA, says="--from DIRECTORY --to URI")
    server = start(directory.name)
    assert history.answers(new_caller(server, APPLICATION)) == answers
    server.terminate()
    assert move(directory, uri).returncode == 0
    assert history.answers(new_caller(serve(directory, uri), APPLICATION)) == answers


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_move_that_is_killed_between_both_stores_leaves_one_at_most_and_is_finished_by_the_next(
    stopped, uri, serve, is_committed
):
    directory, history, answers = stopped
    kill_move(directory, uri, COMMITTING, ends_session=not is_committed)
    assert (databases().execute(TABLES, uri) != ["0"]) == is_committed

    before = contents(directory)
    assert_refused(run_to_end(directory), OTHER_SCHEMA, says="run `touchstone migrate --from")
    assert contents(directory) == before
    assert_goes_nowhere_else(directory, uri)
    assert move(directory, uri).returncode == 0
    assert_refused(run_to_end(directory), OTHER_SCHEMA, says="was moved to PostgreSQL")
    caller = new_caller(serve(directory, uri), APPLICATION)
    assert history.answers(caller) == answers
    history.assert_goes_on(caller)


def assert_goes_nowhere_else(directory, uri):
    """Both could be served from: whoever was killed cannot know."""
    empty, begun = (databases().create_database() for _ in range(2))
    assert run("migrate", "--store", begun).returncode == 0
    place = f"{databases().directory}:{PORT}/{urlsplit(uri).path.strip('/')}"
    for other in (empty, begun):
        assert_refused(move(directory, other), OTHER_SCHEMA, says=f"run the same with --to {place}")
    assert databases().execute(TABLES, empty) == ["0"]
    assert databases().execute("SELECT count(*) FROM bindings", begun) == ["0"]


def test_a_move_whose_end_the_directory_did_not_learn_of_is_no_second_one(stopped, uri, serve, tmp_path):
    directory, history, _ = stopped
    copy = shutil.copytree(directory, tmp_path / "copy")
    assert move(directory, uri).returncode == 0
    caller = new_caller(serve(directory, uri), APPLICATION)
    caller.login(history.phone)
    before = history.answers(caller)
    assert move(copy, uri).returncode == 0
    assert history.answers(caller) == before
    assert_refused(run_to_end(copy), OTHER_SCHEMA, says="was moved to PostgreSQL")


def test_another_services_database_is_left_alone(stopped, uri, start):
    directory, *_ = stopped
    assert move(directory, uri).returncode == 0
    other = start("other")
    new_caller(other).bind(Phone())
    other.terminate()
    before = contents(other.data_directory)
    assert_refused(move(other.data_directory, uri), UNWRITABLE, says="not empty")
    assert contents(other.data_directory) == before
    assert run("audit", "verify", "--store", uri).returncode == 0


def test_a_database_with_tables_is_left_alone(stopped, uri, start):
    directory, history, answers = stopped
    assert run("migrate", "--store", uri).returncode == 0
    assert_refused(move(directory, uri), UNWRITABLE, says="give the move a database without tables")
    assert history.answers(new_caller(start(directory.name), APPLICATION)) == answers


def test_a_running_service_is_not_moved(start, uri):
    server = start()
    new_caller(server).bind(Phone())
    assert_refused(move(server.data_directory, uri), LOCKED, says=server.data_directory)


def test_a_broken_log_is_not_moved(stopped, uri):
    directory, *_ = stopped
    with contextlib.closing(sqlite3.connect(database(directory))) as connection:
        connection.executescript("UPDATE events SET caller = 'somebody else' WHERE sequence = 2")
    assert_refused(move(directory, uri), CORRUPT, says="event 2 was altered")


def test_a_directory_that_is_not_there(uri, tmp_path):
    ended = move(tmp_path / "nowhere", uri)
    assert ended.returncode == UNWRITABLE
    assert str(tmp_path / "nowhere") in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_changes_nothing(stopped, uri):
    directory, _, answers = stopped
    before = contents(directory)
    ended = move(directory, uri, "--dry-run")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"{len(answers[-1].events)} events\n" in ended.stdout
    assert contents(directory) == before
    assert databases().execute(TABLES, uri) == ["0"]


def test_a_dry_run_changes_nothing_of_a_service_that_was_killed(start, uri):
    server = start()
    caller = new_caller(server, APPLICATION)
    for _ in range(3):
        caller.bind(Phone())
    server.kill()
    before = files(server.data_directory)
    ended = move(server.data_directory, uri, "--dry-run")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "3 bindings\n" in ended.stdout
    assert files(server.data_directory) == before


def files(directory):
    """Without SQLite's index of its log, which says nothing that the log does not."""
    return {path: content for path, content in contents(directory).items() if not path.name.endswith("-shm")}


def test_where_from_and_where_to_go_together(tmp_path, uri):
    assert run("migrate", "--from", tmp_path).returncode == USAGE
    assert run("migrate", "--to", uri).returncode == USAGE
    assert run("migrate", "--from", tmp_path, "--to", "sqlite").returncode == USAGE


def test_no_password_is_taken_where_everybody_sees_it(tmp_path):
    ended = run("migrate", "--from", tmp_path, "--to", "postgresql://touchstone:hunter2@127.0.0.1/touchstone")
    assert ended.returncode == USAGE
    assert "hunter2" not in ended.stderr
