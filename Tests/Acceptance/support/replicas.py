"""Several processes on one PostgreSQL, with one set of keys."""

import threading
import uuid

from .clocks import Clock
from .server import Server, run
from .stores import databases


class Replicas:
    """What they share, and the processes that were started on it."""

    def __init__(self, directory):
        self._directory = directory
        name = f"replicas_{uuid.uuid4().hex}"
        self.store = databases().create_database(name)
        migrated = run("migrate", "--store", self.store)
        assert migrated.returncode == 0, migrated.stderr
        self.keys = directory / "keys"
        made = run("keys", "new", self.keys)
        assert made.returncode == 0, made.stderr
        self.servers = []
        self._clocks = []

    def start(self, *, seconds_ahead=0, **options):
        """`seconds_ahead`: by how much its clock differs from ours."""
        data = self._directory / f"replica-{len(self.servers)}"
        environment = {}
        if seconds_ahead:
            self._clocks.append(Clock(seconds_ahead))
            environment = self._clocks[-1].environment
        server = Server(data, store=self.store, arguments=["--keys", self.keys], environment=environment, **options)
        self.servers.append(server)
        return server

    def rotate(self, kind, after):
        done = run("keys", "rotate", self.keys, kind, "--after", after)
        assert done.returncode == 0, done.stderr

    def close(self):
        for each in self.servers + self._clocks:
            each.close()


class Load:
    """Work that is repeated on threads of its own until it is told to end; the first that fails says so there."""

    def __init__(self, *work):
        self._failures = []
        self._changed = threading.Condition()
        self._rounds = [0] * len(work)
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=each) for each in enumerate(work)]

    def _repeat(self, index, work):
        while not self._is_over.is_set():
            try:
                work()
            except BaseException as failure:
                self._failures.append(failure)
                self._is_over.set()
            with self._changed:
                self._rounds[index] += 1
                self._changed.notify_all()

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self._raise()

    def wait_for_rounds(self, count):
        """Of each."""
        with self._changed:
            goals = [rounds + count for rounds in self._rounds]
            assert self._changed.wait_for(
                lambda: self._failures or all(done >= goal for done, goal in zip(self._rounds, goals, strict=True)), 300
            )
        self._raise()

    def _raise(self):
        if self._failures:
            raise self._failures[0]
