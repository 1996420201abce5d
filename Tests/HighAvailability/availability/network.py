"""Hosts as network namespaces, on two networks: one for their clients, and one of their own."""

import os
import signal
import subprocess
import time
from pathlib import Path

#: The tests have the first address of each, and what they start beside the hosts has it, too.
CLIENTS = "clients"
CLUSTER = "cluster"
_PREFIXES = {CLUSTER: "10.77.1", CLIENTS: "10.77.2"}

_HOST = Path(__file__).parents[1] / "host"
#: The kernel takes milliseconds.
_SIGNAL_SECONDS = 10


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def make_networks():
    """Once, in a namespace of the tests' own."""
    for name, prefix in _PREFIXES.items():
        _ip("link", "add", name, "type", "bridge")
        _ip("address", "add", f"{prefix}.1/24", "dev", name)
        _ip("link", "set", name, "up")


class Host:
    """A machine: a network namespace with a cable to each network, and processes that end together."""

    def __init__(self, number, directory):
        self.name = f"host{number}"
        self.addresses = {network: f"{prefix}.{10 + number}" for network, prefix in _PREFIXES.items()}
        self.directory = directory
        #: Of what it runs.
        self.environment = {}
        self._process = None
        _ip("netns", "add", self.name)
        _ip("-n", self.name, "link", "set", "lo", "up")
        for network, address in self.addresses.items():
            _ip("link", "add", self._cable(network), "type", "veth", "peer", "name", network, "netns", self.name)
            _ip("-n", self.name, "address", "add", f"{address}/24", "dev", network)
            _ip("-n", self.name, "link", "set", network, "up")
            _ip("link", "set", self._cable(network), "up")
            self.plug_in(network)

    def _cable(self, network):
        return f"{self.name}-{network}"

    # The machine

    def start(self):
        command = ["ip", "netns", "exec", self.name, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self._process = subprocess.Popen(
            [*command, _HOST],
            env={"PATH": os.environ["PATH"], "HOST_DIRECTORY": str(self.directory), **self.environment},
            stdin=subprocess.DEVNULL,
        )

    def kill(self):
        """All its processes at once, as a loss of power does; the kernel still ends their connections."""
        self._process.kill()
        self._process.wait()
        self._until(lambda: not self.processes(), "its processes go on")

    def pause(self, program=""):
        """All its processes stand still, or those whose command line has the word."""

        def stopped():
            running = [pid for pid in self.processes(program) if _state(pid) not in "TZ"]
            for pid in running:
                _signal(pid, signal.SIGSTOP)
            return not running

        # A process that was started meanwhile is found in the next round.
        self._until(stopped, "its processes do not stop")

    def resume(self):
        for pid in self.processes():
            _signal(pid, signal.SIGCONT)

    def processes(self, program=""):
        listed = subprocess.run(["ip", "netns", "pids", self.name], check=True, capture_output=True, text=True)
        return [pid for pid in map(int, listed.stdout.split()) if program in _command_line(pid)]

    def run(self, *command, environment=None):
        """A command on it, by its administrator. Answers what it prints."""
        # The process that all others were started by.
        [first] = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        entered = ["nsenter", f"--target={first}", "--mount", "--net", "--pid", "--"]
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
        ended = subprocess.run(
            [*entered, *as_user, *map(str, command)],
            cwd="/",
            env={"PATH": os.environ["PATH"], **(environment or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout

    @property
    def is_running(self):
        return self._process is not None and self._process.poll() is None

    # Its cables

    def unplug(self, network):
        """What either side sends is lost, and neither is told."""
        _ip("link", "set", self._cable(network), "nomaster")

    def plug_in(self, network):
        _ip("link", "set", self._cable(network), "master", network)

    def _until(self, is_done, complaint):
        deadline = time.monotonic() + _SIGNAL_SECONDS
        while not is_done():
            assert time.monotonic() < deadline, f"{self.name}: {complaint}"
            time.sleep(0.005)


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _state(pid):
    """T: stopped. Z: ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
