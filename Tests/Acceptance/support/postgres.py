"""A PostgreSQL of the tests' own: in a temporary directory, on a socket and a loopback address there, gone with pytest.

    server = PostgresServer()
    uri = server.create_database("shop")
    server.stop("immediate")
    server.start()
    server.close()

Its end does not depend on ours: a watchdog holds the reading end of a pipe, and stops it all when nobody holds the
writing end any more, however pytest ended.
"""

import datetime
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from urllib.parse import quote, urlencode

from .addresses import own_host

USER = "touchstone"
PORT = 5432

#: Longer than it ever takes to start after a crash or to write everything at its end.
_PROGRAM_SECONDS = 120

_WATCHDOG = """
trap '' INT HUP TERM
read -r line
[ -s "$directory/data/postmaster.pid" ] && kill -QUIT "$(head -n 1 "$directory/data/postmaster.pid")"
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$directory" && break
  sleep 0.2
done
"""


class PostgresServer:
    """One server, started, with a data directory of its own. Where tests run as root it runs as `nobody`, for PostgreSQL
    refuses root."""

    def __init__(self, settings=None, *, fsync=False):
        """`settings`: of `postgres`, by name, over those that all tests need. `fsync`: where a test is about what a crash
        of the machine leaves, or about speed; else nothing depends on it."""
        self.settings = dict(settings or {})
        """What the next start goes by."""
        self._fsync = fsync
        # A socket's path has at most 107 bytes: not in TMPDIR, which may be long.
        self.directory = Path(tempfile.mkdtemp(prefix="touchstone-pg-", dir="/tmp"))
        # Nobody takes its port while it is down.
        self.address = own_host()
        self._keep_alive = self._start_watchdog()
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.directory, nobody.pw_uid, nobody.pw_gid)
        encoding = ("--encoding=UTF8", "--locale=C")
        self._run("initdb", "--auth=trust", "--no-sync", *encoding, f"--username={USER}", "-D", self._data)
        with (self._data / "pg_hba.conf").open("a") as file:
            file.write("host all,replication all 127.0.0.0/8 trust\n")
        self.start()

    @property
    def _data(self):
        return self.directory / "data"

    @property
    def log(self):
        """What it logged so far."""
        return (self.directory / "log").read_text(errors="replace")

    @property
    def ready_at(self):
        """When it last began to accept connections, in seconds since 1970, to the millisecond."""
        found = re.findall(r"(?m)^(\S+ \S+) UTC .* database system is ready to accept connections$", self.log)
        return datetime.datetime.fromisoformat(f"{found[-1]}+00:00").timestamp()

    # Its life

    def start(self):
        """Returns when it accepts connections."""
        settings = {
            "listen_addresses": self.address,
            "unix_socket_directories": self.directory,
            "port": PORT,
            "max_connections": 300,
            "fsync": "on" if self._fsync else "off",
            "shared_buffers": "64MB",
            "logging_collector": "off",
            "log_line_prefix": "%m ",
            "log_timezone": "UTC",
            **self.settings,
        }
        options = " ".join(f"-c {name}={_shell_quoted(value)}" for name, value in settings.items())
        self._run("pg_ctl", "start", "--wait", "--silent", "-D", self._data, "-l", self.directory / "log", "-o", options)

    def stop(self, mode="fast"):
        """`fast`: sessions are ended, and all is written. `immediate`: as after a loss of power."""
        self._run("pg_ctl", "stop", "--wait", "--silent", "-D", self._data, "-m", mode)

    def restart(self, mode="fast"):
        self.stop(mode)
        self.start()

    @property
    def is_running(self):
        return self._program("pg_ctl", "status", "-D", self._data).returncode == 0

    def close(self):
        """Ends it for good, with all that it held."""
        if self.is_running:
            self.stop("immediate")
        os.close(self._keep_alive)
        self._watchdog.wait()

    def _start_watchdog(self):
        reading, writing = os.pipe()
        self._watchdog = subprocess.Popen(
            # In a session of its own: a terminal's interrupt ends us, and this tidies up after us.
            ["/bin/sh", "-c", _WATCHDOG],
            env={"directory": str(self.directory), "PATH": "/usr/bin:/bin"},
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(reading)
        return writing

    # Databases

    def create_database(self, name=None):
        """An empty one; answers its URI."""
        name = name or f"test_{uuid.uuid4().hex}"
        self.execute(f'CREATE DATABASE "{name}"')
        return self.uri(name)

    def drop_database(self, name):
        """Whoever is connected to it is thrown out."""
        self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def uri(self, database, *, host=None, **parameters):
        """By the Unix socket; or by a host, as `host=server.address`. `parameters`: as libpq knows them."""
        parameters = {"host": host or self.directory, "port": PORT, **parameters}
        return f"postgresql://{USER}@/{quote(database, safe='')}?{urlencode(parameters)}"

    def execute(self, sql, database="postgres"):
        """By `psql`; answers what it prints, row by row, columns apart by `|`."""
        uri = database if "://" in database else self.uri(database)
        output = self._run(
            "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", "-c", sql, uri
        )
        return output.splitlines()

    def await_answer(self, sql, rows, database="postgres"):
        """Until the statement answers these rows."""
        deadline = time.monotonic() + _PROGRAM_SECONDS
        while (found := self.execute(sql, database)) != rows:
            assert time.monotonic() < deadline, (sql, found)
            # Each question starts a process.
            time.sleep(0.05)

    def await_waiting_commits(self):
        """Until a commit waits for a standby that is not there: the checkpointer takes that setting in its own time."""
        write = [*self._command("psql"), "--no-psqlrc", "--quiet", "--output=/dev/null", "-c"]
        write += ["SELECT pg_logical_emit_message(true, '', '')", self.uri("postgres")]
        waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%pg_logical_emit_message%'"
        while True:
            with subprocess.Popen(write, cwd=self.directory, stderr=subprocess.DEVNULL) as run:
                while run.poll() is None:
                    if self.execute(f"SELECT pg_cancel_backend(pid) {waiting}"):
                        return

    def execute_file(self, path, *, environment=None, **variables):
        """A script for `psql`, with variables of its own."""
        script = self.directory / f"{uuid.uuid4().hex}.sql"
        # A copy: the server's user may not read what we may.
        script.write_text(Path(path).read_text())
        settings = [f"--set={name}={value}" for name, value in variables.items()]
        self._run("psql", "--no-psqlrc", "--quiet", *settings, "--file", script, self.uri("postgres"), environment=environment)

    # Programs

    def _run(self, name, *arguments, environment=None):
        ended = self._program(name, *arguments, environment=environment)
        if ended.returncode != 0:
            raise RuntimeError(f"{name} ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    @staticmethod
    def _command(name):
        """A program of PostgreSQL's, which root may not run."""
        as_user = []
        if os.geteuid() == 0:
            as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]
        return [*as_user, _programs() / name]

    def _program(self, name, *arguments, environment=None):
        return subprocess.run(
            [*self._command(name), *arguments],
            cwd=self.directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROGRAM_SECONDS,
            check=False,
        )


def _programs():
    """Debian keeps each version's programs in a directory of its own, out of the way."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = versions[-1] if versions else shutil.which("initdb")
    if found is None:
        raise RuntimeError("no PostgreSQL server: run deploy/install-packages test")
    return Path(found).parent


def _shell_quoted(value):
    """`pg_ctl` hands its options to a shell."""
    return "'" + str(value).replace("'", "'\\''") + "'"
