"""Where a service lives: what outlives its process, and how that is looked at from outside."""

import sqlite3
import time
import uuid

from support.server import START_SECONDS, Server, run, run_to_end

#: Every record that has a version, as SQL for both stores.
_VERSIONED = {
    "bindings": "binding_id",
    "devices": "device_id",
    "profiles": "profile_id",
    "evaluations": "id",
    "tokens": "id",
}
_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'touchstone' AND datname = current_database()"


class SQLiteSite:
    """A data directory."""

    def __init__(self, directory, disk=None, random=None):
        """`disk`: takes what was not synchronised with it when the power goes."""
        self.data_directory = directory / "data"
        self.disk = disk
        #: So many kills are losses of power.
        self.power_loss_share = 1.0
        self._random = random
        self.server = None

    @property
    def _store(self):
        return ("--data-dir", self.data_directory)

    @property
    def _environment(self):
        return self.disk.environment if self.disk else None

    def start(self, configuration=None, **options):
        """Another process on what the last one left."""
        self.server = Server(
            self.data_directory, configuration=configuration, environment=self._environment, **options
        )
        return self.server

    def run_to_end(self):
        """A start that is expected to be refused."""
        return run_to_end(self.data_directory, environment=self._environment)

    def start_and_kill(self, seconds):
        """One that is killed while it starts, more or less."""
        server = self.start(is_awaited=False)
        time.sleep(seconds)
        server.kill()
        self._killed()

    def kill(self):
        """SIGKILL, whatever it is doing."""
        self.server.process.kill()
        self.server.process.wait()
        self._killed()

    def _killed(self):
        if self.disk and self._random.random() < self.power_loss_share:
            self.disk.lose_power(self.data_directory, self._random)

    def forget_claim(self):
        """A killed service's, on archiving."""

    def check_log(self, *arguments):
        """The audit log is whole, and what it ends with is what the service goes on from."""
        verified = run("audit", "verify", *self._store, *arguments)
        assert verified.returncode == 0, verified.stderr

    def versions(self):
        """Of every record, by its key."""
        found = {}
        connection = sqlite3.connect(f"file:{self.data_directory}/touchstone.db?mode=ro", uri=True, timeout=START_SECONDS)
        try:
            for table, key in _VERSIONED.items():
                for identity, version in connection.execute(f"SELECT {key}, version FROM {table}"):
                    found[table, identity] = version
        finally:
            connection.close()
        return found

    def close(self):
        if self.server is not None:
            self.server.close()


class PostgresSite(SQLiteSite):
    """A database of a server that outlives the service, or is killed itself."""

    def __init__(self, directory, postgres, service_uri=None):
        """`service_uri`: what the service goes by, where that is another way, made of the database's name."""
        super().__init__(directory)
        self.data_directory.mkdir()
        self.postgres = postgres
        self.name = f"faults_{uuid.uuid4().hex}"
        self.uri = postgres.create_database(self.name)
        self._service_uri = service_uri(self.name) if service_uri else self.uri
        for command in (("migrate", "--store", self.uri), ("keys", "new", self._keys)):
            done = run(*command)
            assert done.returncode == 0, done.stderr

    @property
    def _store(self):
        return ("--store", self.uri)

    @property
    def _keys(self):
        return self.data_directory / "keys"

    def start(self, configuration=None, **options):
        """Again, if the database's answer took longer than a start waits for it, as it may where the machine is busy."""
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self.server = Server(self.data_directory, configuration=configuration, store=self._service_uri, **options)
                return self.server
            except AssertionError as ended:
                if "not connected after" not in str(ended) or time.monotonic() > until:
                    raise

    def sessions(self):
        return sessions(self.postgres, self.uri)

    def forget_claim(self):
        forget_claim(self.postgres, self.uri)

    def _killed(self):
        await_end_of_sessions(self.postgres, self.uri)

    def versions(self):
        found = {}
        selects = [f"SELECT '{table}', encode({key}, 'hex'), version FROM {table}" for table, key in _VERSIONED.items()]
        for row in self.postgres.execute(" UNION ALL ".join(selects), self.uri):
            table, identity, version = row.split("|")
            found[table, identity] = int(version)
        return found


def sessions(postgres, uri):
    """Of services and commands, on the database."""
    [count] = postgres.execute(_SESSIONS, uri)
    return int(count)


def await_end_of_sessions(postgres, uri):
    """What a killed process had sent may still be done, by sessions that do not know yet that it is gone."""
    postgres.await_answer(_SESSIONS, ["0"], uri)


def forget_claim(postgres, uri):
    """On archiving, of a process that was killed: as five minutes do."""
    postgres.execute("UPDATE event_archive SET claimant = NULL, claimed_until = NULL", uri)
