"""The service's role on PostgreSQL needs nothing but its own database: `deploy/postgresql-role.sql` makes both."""

import time
from pathlib import Path

import pytest

from support.caller import new_caller
from support.phone import Phone
from support.postgres import PORT, PostgresServer
from support.server import run
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

ROLE = "plain"
SCRIPT = Path(__file__).parents[2] / "deploy/postgresql-role.sql"
PATIENCE_SECONDS = 30


@pytest.fixture(scope="module")
def postgres():
    server = PostgresServer()
    password = server.directory / "password"
    password.write_text("a 'quoted\" one\n")
    server.execute_file(SCRIPT, role=ROLE, database=ROLE, environment={"TOUCHSTONE_PASSWORD_FILE": str(password)})
    yield server
    server.close()


@pytest.fixture
def plain(postgres):
    """The URI by which the role connects."""
    return f"postgresql://{ROLE}@/{ROLE}?host={postgres.directory}&port={PORT}"


def test_the_role_is_no_superuser_and_owns_its_database_alone(postgres, plain):
    rights = "rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls"
    assert postgres.execute(f"SELECT {rights} FROM pg_roles WHERE rolname = '{ROLE}'") == ["f"]
    owned = "SELECT datname FROM pg_database JOIN pg_roles r ON r.oid = datdba WHERE rolname"
    assert postgres.execute(f"{owned} = '{ROLE}'") == [ROLE]
    # Nobody else connects to it.
    postgres.execute("CREATE ROLE stranger LOGIN")
    with pytest.raises(RuntimeError, match="permission denied for database"):
        postgres.execute("SELECT 1", plain.replace(f"//{ROLE}@", "//stranger@"))


def test_it_is_enough_for_all_that_the_service_does(start, postgres, plain, tmp_path):
    """Migrating, serving, sweeping, erasing, archiving, verifying."""
    assert run("migrate", "--store", plain).returncode == 0
    server = start(store=plain)
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    assert caller.login(phone).outcome == SUCCEEDED

    deadline = time.monotonic() + PATIENCE_SECONDS
    while postgres.execute("SELECT swept_before > 0 FROM sweep_mark", plain) != ["t"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    caller.erase_profile(phone.binding.profile_id)
    assert postgres.execute("SELECT count(*) FROM bindings", plain) == ["0"]
    caller.bind(Phone())
    server.terminate()

    archive = tmp_path / "archive"
    location = ("--store", plain)
    # All that happened is old enough by then.
    time.sleep(1.1)
    keys = ("--keys", server.data_directory / "keys")
    archived = run("audit", "archive", *location, *keys, "--older-than", "1s", "--archive", archive)
    assert (archived.returncode, archived.stderr) == (0, "")
    verified = run("audit", "verify", *location, "--archive", archive)
    assert (verified.returncode, verified.stderr) == (0, "")
    # All that is there is its own.
    strangers = f"SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tableowner <> '{ROLE}'"
    assert postgres.execute(strangers, plain) == ["0"]
    assert run("migrate", "--store", plain).returncode == 0


def test_a_role_that_may_not_read_the_timeline_is_warned_of(start, postgres, plain):
    """Without it a replaced primary is not found; everything else goes on."""
    postgres.execute(f"CREATE DATABASE hidden OWNER {ROLE}")
    postgres.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC", "hidden")
    store = plain.replace(f"@/{ROLE}?", "@/hidden?")
    assert run("migrate", "--store", store).returncode == 0
    server = start(store=store)
    warning = server.next_error("the database does not say which timeline it writes")
    assert "warning" in warning and "permission denied" in warning
    new_caller(server).bind(Phone())
    server.terminate()

    # As the line says.
    postgres.execute(f"GRANT EXECUTE ON FUNCTION pg_control_system() TO {ROLE}", "hidden")
    server = start(store=store)
    server.terminate()
    assert "timeline" not in server.errors
