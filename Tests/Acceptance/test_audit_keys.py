"""Who may write to the database and has no audit key removes no content unnoticed, even against a noted head (R41)."""

import contextlib
import hashlib
import shutil
import sqlite3

import grpc
import pytest

from support.caller import new_caller
from support.data_directory import database
from support.errors import refused
from support.phone import Phone
from support.server import run
from support.stores import of_sqlite

CORRUPT = 65
UNUSABLE_KEYS = 77

#: Event 1 says that accounts are signed; then a binding and three logins.
BLANKED = 3

pytestmark = of_sqlite


@pytest.fixture
def used_server(start):
    server = start()
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone, "victim")
    for _ in range(3):
        caller.login(phone)
    return server


@pytest.fixture
def public_keys(used_server, tmp_path):
    printed = run("keys", "public", used_server.data_directory / "keys")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert "PRIVATE" not in printed.stdout
    file = tmp_path / "audit-keys.pem"
    file.write_text(printed.stdout)
    return file


def verify(server, *options):
    return run("audit", "verify", "--data-dir", server.data_directory, *options)


class Attacker:
    """Writes the database as the service would, by the documented encoding."""

    def __init__(self, server):
        self._path = database(server.data_directory)

    def __enter__(self):
        self._closing = contextlib.closing(sqlite3.connect(self._path, isolation_level=None))
        self._database = self._closing.__enter__()
        return self

    def __exit__(self, *failure):
        self._closing.__exit__(*failure)

    def blank(self, sequence):
        columns = "salt, time, kind, application_id, profile_id, device_id, binding_id, caller, details"
        row = self._database.execute(f"SELECT {columns} FROM events WHERE sequence = ?", [sequence]).fetchone()
        digest = hashlib.sha256(self._content(*row)).digest()
        cleared = ", ".join(f"{column} = NULL" for column in columns.split(", "))
        self._database.execute(f"UPDATE events SET digest = ?, {cleared} WHERE sequence = ?", [digest, sequence])
        return digest

    def empty(self):
        self._database.executescript("DELETE FROM events; UPDATE event_chain SET sequence = 0, hash = zeroblob(32)")

    def append(self, kind, details):
        head, hash = self._database.execute("SELECT sequence, hash FROM event_chain").fetchone()
        row = (bytes(16), 1_800_000_000_000_000, kind, "shop", "", "", "", "operator", _details(details))
        new = hashlib.sha256(hash + (head + 1).to_bytes(8) + hashlib.sha256(self._content(*row)).digest()).digest()
        self._database.execute(
            """INSERT INTO events (sequence, hash, salt, time, kind, application_id, profile_id, device_id, binding_id,
            caller, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            [head + 1, new, *row],
        )
        self._database.execute("UPDATE event_chain SET sequence = ?, hash = ?", [head + 1, new])

    @staticmethod
    def _content(salt, time, kind, *fields):
        *texts, details = fields
        content = salt + time.to_bytes(8)
        for text in (kind, *texts):
            content += len(text.encode()).to_bytes(4) + text.encode()
        return content + (_count(details) // 2).to_bytes(4) + details


def _details(details):
    """As the table has them: key and value in turn, with their lengths in front."""
    texts = [text.encode() for pair in sorted(details.items()) for text in pair]
    return b"".join(len(text).to_bytes(4) + text for text in texts)


def _count(encoded):
    count = 0
    while encoded:
        encoded = encoded[4 + int.from_bytes(encoded[:4]) :]
        count += 1
    return count


FORGED = {"erased_events": "1", "erased_sequences": str(BLANKED)}


def test_an_untouched_log_verifies_by_the_public_keys_and_says_what_it_left_out_without(used_server, public_keys):
    caller = new_caller(used_server, "shop")
    caller.erase_profile("victim")
    by_keys = verify(used_server, "--audit-keys", public_keys)
    assert (by_keys.returncode, by_keys.stderr) == (0, "")
    assert "2 accounts of removed content, each signed by a given audit key" in by_keys.stdout
    assert "NOT CHECKED" not in by_keys.stdout
    without = verify(used_server)
    assert (without.returncode, without.stderr) == (0, "")
    assert "NOT CHECKED: the signatures of 2 accounts" in without.stdout
    assert "--audit-keys" in without.stdout


@pytest.mark.parametrize("signature", ["none", "replayed"])
def test_a_forged_account_of_a_blanked_event_is_found(used_server, public_keys, start, signature):
    caller = new_caller(used_server, "shop")
    caller.erase_profile("somebody-else")
    noted = caller.events()[-1]
    used_server.terminate()
    details = dict(FORGED)
    if signature == "replayed":
        details |= {key: value for key, value in noted.details.items() if key.startswith("signature")}
    with Attacker(used_server) as attacker:
        # What the account says of the content is the smallest part.
        digest = attacker.blank(BLANKED)
        attacker.append("profile.erased", details | {"erased_digests": digest[:16].hex()})
    found = verify(used_server, "--audit-keys", public_keys)
    assert found.returncode == CORRUPT
    assert f"event {noted.sequence + 1} accounts for removed content" in found.stderr
    if signature == "replayed":
        # The chain alone does not show it; a start does, by the service's own keys.
        assert verify(used_server).returncode == 0
        with pytest.raises(AssertionError, match="forged"):
            start()
    else:
        # A process without an audit key may have written it, so a start goes on; the reading beside it tells.
        assert f"event {noted.sequence + 1} accounts for removed content without a signature" in start().next_error("finding")


def test_the_boundary_that_was_noted_cannot_be_moved(used_server, public_keys, start):
    """The event that says that accounts are signed is blanked too; the next start says it anew."""
    used_server.terminate()
    with Attacker(used_server) as attacker:
        digests = "".join(attacker.blank(sequence)[:16].hex() for sequence in (1, BLANKED))
        details = {"erased_events": "2", "erased_sequences": f"1,{BLANKED}", "erased_digests": digests}
        attacker.append("profile.erased", details)
    server = start()
    line = server.next_error("the audit log is signed from event")
    assert "--signed-from" in line and "sequence=7" in line
    # Each start says so once: it looks the same in a log from before there were keys.
    assert "first_signed=7" in server.next_error("has unsigned accounts of removed content before the first")
    without = verify(server)
    assert (without.returncode, without.stderr) == (0, "")
    by_keys = verify(server, "--audit-keys", public_keys)
    assert by_keys.returncode == CORRUPT
    assert "event 6 accounts for removed content without a signature" in by_keys.stderr and "--signed-from" in by_keys.stderr
    noted = verify(server, "--audit-keys", public_keys, "--signed-from", "1")
    assert noted.returncode == CORRUPT
    assert "event 1 is not a signed account" in noted.stderr
    beyond = verify(server, "--audit-keys", public_keys, "--signed-from", "99")
    assert beyond.returncode == CORRUPT


def test_a_log_from_before_there_were_keys_verifies_by_what_was_noted(start, tmp_path):
    keys, public = tmp_path / "keys", tmp_path / "audit-keys.pem"
    assert run("keys", "new", keys).returncode == 0
    shutil.rmtree(keys / "audit")
    server = start(arguments=["--keys", keys])
    caller = new_caller(server, "shop")
    caller.bind(Phone(), "early")
    caller.erase_profile("early")
    # The first audit key falls due while the service runs.
    assert run("keys", "rotate", keys, "audit", "--after", "3s").returncode == 0
    server.reload()
    line = server.next_error("the audit log is signed from event")
    # The reload is an event, too.
    assert "sequence=4" in line
    assert [event.kind for event in caller.list_events()][-1] == "log.signed"
    public.write_text(run("keys", "public", keys).stdout)
    assert verify(server, "--audit-keys", public).returncode == CORRUPT
    noted = verify(server, "--audit-keys", public, "--signed-from", "4")
    assert (noted.returncode, noted.stderr) == (0, "")
    assert "1 account of removed content, from event 2 on, without a signature" in noted.stdout
    # What the log itself says is not asked: another number is refused.
    assert verify(server, "--audit-keys", public, "--signed-from", "2").returncode == CORRUPT


def test_an_event_that_was_made_another_profiles_is_not_erased_with_it(used_server, public_keys):
    """The service signs no erasure of an event that is not as it was written."""
    caller = new_caller(used_server, "shop")
    with contextlib.closing(sqlite3.connect(database(used_server.data_directory), isolation_level=None)) as connection:
        connection.execute("UPDATE events SET profile_id = 'mallory' WHERE sequence = ?", [BLANKED])
        caller.erase_profile("mallory")
        assert f"event {BLANKED} was altered" in used_server.next_error("an erasure left an altered event of the profile as it is")
        connection.execute("UPDATE events SET profile_id = 'victim' WHERE sequence = ?", [BLANKED])
    assert caller.events()[BLANKED - 2].profile_id == "victim"
    (broken,) = [event for event in caller.list_events() if event.kind == "log.broken"]
    assert dict(broken.details) == {"finding": f"event {BLANKED} was altered", "sequence": str(BLANKED)}
    verified = verify(used_server, "--audit-keys", public_keys)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "0 of them erased" in verified.stdout


def test_a_log_that_somebody_made_anew_is_not_taken(used_server, public_keys, tmp_path):
    used_server.terminate()
    with Attacker(used_server) as attacker:
        attacker.empty()
        attacker.append("made.anew", {})
    assert verify(used_server).returncode == 0
    found = verify(used_server, "--audit-keys", public_keys)
    assert found.returncode == CORRUPT
    assert "no event is signed" in found.stderr


def test_keys_of_an_earlier_version_get_an_audit_key_at_the_start(start):
    server = start()
    server.terminate()
    shutil.rmtree(server.data_directory / "keys" / "audit")
    # Nothing happened yet that needs a signature.
    caller = new_caller(start(), "shop")
    assert (server.data_directory / "keys" / "audit" / "1.pem").stat().st_mode & 0o777 == 0o600
    caller.bind(Phone(), "victim")


def test_without_a_key_nothing_is_erased_from_a_signed_log(start, tmp_path):
    keys = tmp_path / "keys"
    assert run("keys", "new", keys).returncode == 0
    server = start(arguments=["--keys", keys])
    server.terminate()
    shutil.rmtree(keys / "audit")
    server = start(arguments=["--keys", keys])
    assert "there is no audit key" in server.next_error("audit key")
    caller = new_caller(server, "shop")
    caller.bind(Phone(), "victim")
    with refused(grpc.StatusCode.UNAVAILABLE):
        caller.erase_profile("victim")
    assert "touchstone keys rotate" in server.next_error("the store failed")
    # Nothing else depends on it.
    phone = Phone()
    caller.bind(phone)
    caller.login(phone)


def test_a_file_that_holds_no_key_is_refused(used_server, tmp_path):
    file = tmp_path / "nothing"
    file.write_text("nothing")
    assert verify(used_server, "--audit-keys", file).returncode == UNUSABLE_KEYS
