"""Programs that are started, waited for with a bound, and ended for sure."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

#: A server that is not there by then will not come.
START_SECONDS = 120
#: Between the signal to end and the one that no program survives.
GRACE_SECONDS = 10


@dataclass(frozen=True)
class Outcome:
    passed: bool
    #: The end of what the program said.
    output: str


def run(command, seconds, environment=None, directory=None, whole_output=False, on_start=lambda process: None):
    """Runs a program to its end, which comes after that many seconds at the latest."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, cwd=directory,
        env={**os.environ, **(environment or {})}, text=True, errors="replace")
    on_start(process)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        output = f"{end(process)}\nNot done after {seconds} s"
        return Outcome(False, tail(output))
    said = output if whole_output else tail(output)
    return Outcome(process.returncode == 0, said or f"exit code {process.returncode}")


def tail(output, lines=12):
    return "\n".join(output.strip().splitlines()[-lines:])


def end(process):
    """Ends a program and all that it started; returns what it said last, where that was not read by somebody else."""
    for number, seconds in [(signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, None)]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=seconds)[0] or ""
    return ""


def free_port():
    return free_ports(1)[0]


#: The first port that the kernel gives to clients by itself.
CLIENTS_PORTS = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
#: Well above the ports of services.
FIRST_PORT = 10_000


def free_ports(count):
    """One after the other. No client gets one of them before the server has it, because the kernel gives clients others."""
    assert CLIENTS_PORTS - FIRST_PORT > 1_000, f"too few ports are below those of clients, which begin at {CLIENTS_PORTS}"
    while True:
        first = random.randrange(FIRST_PORT, CLIENTS_PORTS - count)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            return range(first, first + count)


@contextlib.contextmanager
def server(command, port, log: Path, environment=None, directory=None):
    """A server that takes connections on its port, as long as the block lasts; yields its process."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, cwd=directory,
            env={**os.environ, **(environment or {})})
    try:
        await_port(process, port, log)
        yield process
    finally:
        end(process)


def await_port(process, port, log):
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} does not listen on {port}: {tail(log.read_text(errors='replace'))}")
