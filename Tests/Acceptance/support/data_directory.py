"""A data directory, seen from outside the service."""

import hashlib


def database(directory):
    """The one SQLite database of a data directory."""
    found = [path for path in directory.rglob("*") if path.is_file() and is_database(path)]
    assert len(found) == 1, found
    return found[0]


def is_database(path):
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\x00"


def contents(directory):
    """Every file by its path, with the hash of what is in it."""
    return {
        path.relative_to(directory): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def files_with(directory, content):
    """The files that hold these bytes, one after the other, anywhere."""
    return [path for path in sorted(directory.rglob("*")) if path.is_file() and content in path.read_bytes()]
