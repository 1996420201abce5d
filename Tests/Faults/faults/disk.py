"""A disk that fails as it is told, and loses what was not synchronised: disk.c, around one service's database."""

import errno
import mmap
import struct
from pathlib import Path

from support import preload

_SOURCE = Path(__file__).with_name("disk.c")
_BLOCK = 4096

#: As disk.c's `struct control` has them.
_FIELDS = (
    "sync_errno",
    "write_errno",
    "free_bytes",
    "failed_syncs",
    "failed_writes",
    "syncs",
    "database_only",
    "lies",
)
_CLEAN = 0


def build(directory):
    return preload.build(_SOURCE, directory)


class Disk:
    """Around every service that is started with `environment`, one at a time."""

    def __init__(self, library, directory):
        self._directory = directory
        directory.mkdir()
        self.environment = {"LD_PRELOAD": str(library), "DISK_CONTROL": str(directory)}
        path = directory / "control"
        path.write_bytes(bytes(8 * len(_FIELDS)))
        with path.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), 0)
        self.heal()

    def __getattr__(self, name):
        """A count, such as `failed_syncs`."""
        if name not in _FIELDS:
            raise AttributeError(name)
        return struct.unpack_from("q", self._control, 8 * _FIELDS.index(name))[0]

    def _set(self, **fields):
        for name, value in fields.items():
            struct.pack_into("q", self._control, 8 * _FIELDS.index(name), value)

    # Faults, until it heals

    def fail_syncs(self, *, of_database_only=False):
        """EIO. What was written since the last fsync is lost, though it can be read for as long as there is power."""
        self._set(database_only=of_database_only, sync_errno=errno.EIO)

    def fail_writes(self, number=errno.EIO):
        self._set(write_errno=number)

    def fill(self, free_bytes=0):
        self._set(free_bytes=free_bytes)

    def lie(self):
        """About every fsync."""
        self._set(lies=True)

    def heal(self):
        self._set(sync_errno=0, write_errno=0, free_bytes=-1, database_only=0, lies=0)

    # Power

    def lose_power(self, data_directory, random):
        """After the process was killed: files as the disk has them. Of what was not synchronised, any part may be there."""
        for name in ("touchstone.db", "touchstone.db-wal"):
            file, platter, marks = data_directory / name, self._directory / name, self._directory / f"{name}.marks"
            # Without marks it was not written to yet.
            if file.exists() and marks.exists():
                _lose(file, platter, marks, random)


def _lose(file, platter, marks, random):
    cache, disk = file.read_bytes(), bytearray(platter.read_bytes())
    unsure = bytearray(marks.read_bytes())
    # A size is not synchronised either.
    if len(cache) < len(disk) and random.random() < 0.5:
        del disk[len(cache) :]
    for block, mark in enumerate(unsure[: -(-len(cache) // _BLOCK)]):
        if mark != _CLEAN and random.random() < 0.5:
            begin, end = block * _BLOCK, min((block + 1) * _BLOCK, len(cache))
            if len(disk) < end:
                disk.extend(bytes(end - len(disk)))
            disk[begin:end] = cache[begin:end]
    file.write_bytes(disk)
    platter.write_bytes(disk)
    marks.write_bytes(bytes(len(unsure)))
