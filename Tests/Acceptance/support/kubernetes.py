"""A volume as Kubernetes mounts one: links to a directory that is replaced as a whole, without a signal to anything."""

import itertools
import shutil


class Volume:
    """Its files, by name, are there from one moment on, all of them."""

    def __init__(self, directory, files):
        self.directory = directory
        self._numbers = itertools.count(1)
        self._current = None
        directory.mkdir(mode=0o755)
        self.replace(files)
        for name in files:
            (directory / name).symlink_to(f"..data/{name}")

    def replace(self, files):
        """As the kubelet does: a new directory, a new link to it, and a rename; the old directory is removed."""
        new = self.directory / f"..2026_11_24_{next(self._numbers)}"
        new.mkdir(mode=0o755)
        for name, content in files.items():
            (new / name).touch(mode=0o600)
            (new / name).write_bytes(content)
        link = self.directory / "..data_tmp"
        link.symlink_to(new.name)
        link.replace(self.directory / "..data")
        if self._current is not None:
            shutil.rmtree(self._current)
        self._current = new

    def __truediv__(self, name):
        return self.directory / name
