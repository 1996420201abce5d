"""Which store the tests run on: SQLite, or PostgreSQL where TOUCHSTONE_TEST_STORE says so."""

import functools
import os
import threading
import uuid

import pytest

from .data_directory import files_with
from .postgres import PostgresServer

ON_POSTGRESQL = os.environ.get("TOUCHSTONE_TEST_STORE", "sqlite") == "postgresql"

#: A test of what SQLite alone has: a file, a lock on it, keys made by a first start.
of_sqlite = pytest.mark.skipif(ON_POSTGRESQL, reason="of SQLite")

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"


def store_of(data_directory):
    """The `--store` of a service with this data directory: the same one each time. None: the file in it."""
    return _databases().of(data_directory) if ON_POSTGRESQL else None


def databases():
    """The PostgreSQL that all tests share."""
    return _databases().server


def places_with(server, content):
    """The files, or the tables, of a service in which these bytes stand."""
    if server.store is None:
        return files_with(server.data_directory, content)
    # As PostgreSQL prints bytes.
    tables = databases().execute(_TABLES, server.store)
    return [
        table
        for table in tables
        if any(content.hex() in row for row in databases().execute(f"SELECT * FROM {table}", server.store))
    ]


@functools.cache
def _databases():
    return _Databases()


class _Databases:
    """One for each data directory, copied from one that was migrated."""

    _TEMPLATE = "migrated"

    def __init__(self):
        from .server import run

        self.server = PostgresServer()
        migrated = run("migrate", "--store", self.server.create_database(self._TEMPLATE))
        assert migrated.returncode == 0, migrated.stderr
        self._uris = {}
        self._lock = threading.Lock()

    def of(self, data_directory):
        with self._lock:
            uri = self._uris.get(data_directory)
            if uri is None:
                name = f"test_{uuid.uuid4().hex}"
                self.server.execute(f"CREATE DATABASE {name} TEMPLATE {self._TEMPLATE}")
                uri = self._uris[data_directory] = self.server.uri(name)
            return uri
