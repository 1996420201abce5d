"""A service with much in it, which has stopped: so much that commands take their time, and are killed in the middle."""

import contextlib
import os
import shutil
import sqlite3
import uuid

from support import seeding
from support.server import Server, run

from .extent import IS_SOAK

#: The debug build takes about ten times as long for each.
PROFILES = 1_000 if IS_SOAK else 300
#: Of each age.
EVENTS = 3_000 if IS_SOAK else 500
DAY_SECONDS = 86_400
AGES_IN_DAYS = (3, 2, 1)
EXPIRED = 400

#: What every move, and every copy, has as it was.
_TABLES = "bindings devices profiles evaluations tokens used_tickets events event_chain event_archive key_check".split()


class SeededDirectory:
    """A data directory, from which as many are copied as tests spoil."""

    def __init__(self, path):
        self.path = path
        Server(path).terminate()
        keys = [os.urandom(65) for _ in range(8)]
        seeding.seed_sqlite(self.file, PROFILES, keys)
        seeding.expire_sqlite(self.file, EXPIRED)
        for days in AGES_IN_DAYS:
            seeding.log_sqlite(self.file, EVENTS, PROFILES, days * DAY_SECONDS)

    @property
    def file(self):
        return self.path / "touchstone.db"

    def copy(self, path):
        """Answers its data directory."""
        shutil.copytree(self.path, path)
        return path


class SeededDatabase:
    """The same, moved to PostgreSQL."""

    def __init__(self, directory, postgres):
        """`directory`: is moved, and so spent."""
        self._postgres = postgres
        self._name = f"seeded_{uuid.uuid4().hex}"
        moved = run("migrate", "--from", directory, "--to", postgres.create_database(self._name))
        assert (moved.returncode, moved.stderr) == (0, "")

    def copy(self):
        """Answers its URI."""
        name = f"copy_{uuid.uuid4().hex}"
        self._postgres.execute(f"CREATE DATABASE {name} TEMPLATE {self._name}")
        return self._postgres.uri(name)


def rows(path):
    """Of a SQLite file, table by table."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in _TABLES}


def digests(postgres, uri):
    """Of a database, table by table."""
    selects = [
        f"SELECT '{table}', count(*), md5(coalesce(string_agg(t::TEXT, ',' ORDER BY t::TEXT), '')) FROM {table} AS t"
        for table in [*_TABLES, "lineage", "sweep_mark"]
    ]
    return postgres.execute(" UNION ALL ".join(selects) + " ORDER BY 1", uri)
