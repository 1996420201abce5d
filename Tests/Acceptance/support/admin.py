"""`touchstone admin`, run against a server, in a pipe or on a terminal."""

import contextlib
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time

from .server import BINARY, run

#: Longer than any answer takes, also on a busy machine.
TERMINAL_SECONDS = 30


def admin(server, *arguments, **options):
    """The completed process; its times are in UTC."""
    target = server if isinstance(server, str) else server.address
    return run("admin", *map(str, arguments), "--target", target, environment={"TZ": "UTC"}, **options)


def done(server, *arguments):
    """What it prints, if all went well."""
    ended = admin(server, *arguments)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    return ended.stdout


def as_json(server, *arguments):
    """The objects that it prints with --json, one for each line."""
    return [json.loads(line) for line in done(server, *arguments, "--json").splitlines()]


class Terminal:
    """The command with a terminal for stdin, stdout and stderr, as an operator has it."""

    def __init__(self, server, *arguments, columns=200):
        self._controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [BINARY, "admin", *map(str, arguments), "--target", server.address]
        self.process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        self.text = ""

    def read_until(self, text):
        """What was printed so far, once it has the text; `None` waits for the end."""
        deadline = time.monotonic() + TERMINAL_SECONDS
        while text is None or text not in self.text:
            assert select.select([self._controller], [], [], deadline - time.monotonic())[0], self.text
            try:
                chunk = os.read(self._controller, 65_536)
            except OSError:  # EIO is a terminal's end.
                chunk = b""
            if not chunk:
                assert text is None, self.text
                break
            self.text += chunk.decode()
        return self.text

    def type(self, line):
        os.write(self._controller, f"{line}\n".encode())

    def end(self):
        """Its exit code and all that it printed."""
        self.read_until(None)
        return self.process.wait(TERMINAL_SECONDS), self.text

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._controller)


@contextlib.contextmanager
def terminal(server, *arguments, **options):
    """A terminal that does not outlive the block."""
    opened = Terminal(server, *arguments, **options)
    try:
        yield opened
    finally:
        opened.close()
