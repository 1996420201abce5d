"""Commands that are no server, killed at random moments."""

import subprocess
import time

from support.server import BINARY, START_SECONDS, run

#: Some kills come when the command has just ended.
_BEYOND_THE_END = 1.1


class Killing:
    """Of one command, which is as long under way as it took when nobody killed it."""

    def __init__(self, dice):
        self._dice = dice
        self._seconds = None

    def whole(self, *arguments):
        """Runs it to its end, as it should be; answers the completed process."""
        began = time.monotonic()
        ended = run(*arguments)
        assert (ended.returncode, ended.stderr) == (0, "")
        self._seconds = time.monotonic() - began
        return ended

    def kill(self, *arguments):
        process = subprocess.Popen(
            [BINARY, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(self._dice.uniform(0, self._seconds * _BEYOND_THE_END))
        process.kill()
        _, errors = process.communicate(timeout=START_SECONDS)
        # It may have ended before; not by a failure.
        assert errors == ""
