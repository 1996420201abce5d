"""Three processes of the service: one with all that SQLite, TLS, an archive and trust data show in metrics, one on PostgreSQL, and one to
be killed."""

import contextlib
import itertools
import time

import grpc

from support.caller import COFFEE, Caller, new_profile_id, passcode
from support.certificates import Authority
from support.credentials import Key, caller_with
from support.http import address_of
from support.phone import Phone
from support.postgres import PostgresServer
from support.server import Server, run

RIGHT, WRONG = passcode("2468"), passcode("1357")

#: Between two rounds of calls: too few wrong passcodes and strangers for an alert.
PAUSE_SECONDS = 0.5


class Installation:
    def __init__(self, directory):
        self.postgres = PostgresServer()
        self.authority = Authority(directory)
        self._key = Key()
        self.on_sqlite = Server(directory / "sqlite", configuration=self._configuration(directory), http=1)
        store = self.postgres.create_database()
        migrated = run("migrate", "--store", store)
        assert migrated.returncode == 0, migrated.stderr
        local = {"arguments": ["--http", "127.0.0.1:0"], "http": 1}
        self.on_postgresql = Server(directory / "postgresql", store=store, **local)
        self.lost = Server(directory / "lost", **local)

    @property
    def metrics_addresses(self):
        return [metrics_address(server) for server in (self.on_sqlite, self.on_postgresql, self.lost)]

    def _configuration(self, directory):
        certificate = self.authority.issue_server()
        revoked = directory / "revoked.json"
        revoked.write_text('{"entries": {}}')
        return {
            "tls": {"certificate": str(certificate.file), "key": str(certificate.key_file)},
            "callers": [{"name": "shop", "applications": ["shop"], "methods": "*", "keys": [self._key.digest]}],
            "http": "127.0.0.1:0",
            "attestation": {"revoked": {"android": str(revoked)}},
            "retention": {"events": "1s", "archive": str(directory / "archive")},
            "backup": {"every": "5s", "keep": 2, "to": str(directory / "backups")},
            # No collector is there, and no call is traced: the metrics of traces show all the same.
            "traces": {"endpoint": "127.0.0.1:9", "sample": 0},
        }

    # Callers

    def caller(self):
        """Of the process on SQLite."""
        return caller_with(self.on_sqlite.channel(authority=self.authority), "shop", self._key)

    def stranger(self):
        """Without a key."""
        return Caller(self.on_sqlite.channel(authority=self.authority), "shop")

    def caller_of_postgresql(self):
        return Caller(self.on_postgresql.channel(), "shop")

    def close(self):
        if not self.postgres.is_running:
            self.postgres.start()
        for server in (self.on_sqlite, self.on_postgresql, self.lost):
            server.close()
        self.postgres.close()


def metrics_address(server):
    host, port = address_of(server.urls[0])
    return f"{host}:{port}"


class Customer:
    """Logs in by finger and by passcode, pays, and mistypes the passcode sometimes."""

    def __init__(self, caller):
        self._caller, self._phone = caller, Phone()
        self._profile_id = new_profile_id()
        self._passcodes = itertools.cycle([WRONG, RIGHT, RIGHT, RIGHT, RIGHT])
        caller.bind(self._phone, self._profile_id)
        assert caller.set_secret(self._profile_id, RIGHT).accepted

    def __call__(self):
        token = self._caller.login(self._phone).token
        assert self._caller.introspect(token).active
        self._caller.consume(self._caller.pay(self._phone).token, COFFEE)
        guess(self._caller, self._profile_id, next(self._passcodes))
        time.sleep(PAUSE_SECONDS)


class Denied:
    """Calls that end in all the other ways: a stranger's, a locked phone's, one about nothing."""

    def __init__(self, caller, stranger):
        self._caller, self._stranger = caller, stranger
        self._phone = Phone()
        caller.bind(self._phone)
        caller.fail(self._phone, 5)

    def __call__(self):
        with contextlib.suppress(grpc.RpcError):
            self._stranger.get_settings("anyone")
        with contextlib.suppress(grpc.RpcError):
            self._caller.get_binding("unknown")
        with contextlib.suppress(grpc.RpcError):
            self._caller.begin(self._phone, "deviceOwnerAuthenticationWithBiometrics")
        time.sleep(PAUSE_SECONDS)


class Failing:
    """Writes to a store that is down."""

    def __init__(self, caller):
        self._caller = caller

    def __call__(self):
        with contextlib.suppress(grpc.RpcError):
            self._caller.set_settings("alice", biometry_enabled=True)
        time.sleep(PAUSE_SECONDS)


def guess(caller, profile_id, secret):
    phone = Phone()
    return caller.submit(phone, caller.begin(phone, profile_id=profile_id), secret=secret)


def guess_at_many(caller, profiles):
    """Five times at each passcode, which locks it."""
    for _ in range(profiles):
        profile_id = new_profile_id()
        assert caller.set_secret(profile_id, RIGHT).accepted
        for _ in range(5):
            guess(caller, profile_id, WRONG)
