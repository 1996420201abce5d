"""What a unary call costs the server: DispatchRPC beside grpc's C++ and Go, of the system's packages, in one run.

Each server echoes bytes (no protobuf anywhere) and has one core to itself; rpc-load calls all of them alike, and has the
other cores. CPU is the server's own, user and system, over all its threads, divided by the calls. Rounds take turns, so that what
the machine does meanwhile meets all alike; what is shown is the median of the rounds, and the ratio to DispatchRPC's.

A CanEvaluatePolicy of the whole service, with all its checks, stands beside them.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import budgets
from service import (
    CORES,
    Encryption,
    Identity,
    Service,
    built,
    install,
    pinned,
    report,
    server_microseconds,
)

SOURCES = Path(__file__).parent / "rpc"
ROUNDS = int(os.environ.get("ROUNDS", "3"))
#: Of each round; a hundred thousand calls and more.
SECONDS = 3
#: Debian's place for the Go packages that it ships.
GO_PATH = "/usr/share/gocode"


@dataclass(frozen=True)
class Load:
    connections: int
    streams: int
    is_encrypted: bool

    @property
    def name(self):
        return f"{self.connections} × {self.streams} {'TLS 1.3' if self.is_encrypted else 'h2c'}"

    @property
    def options(self):
        return ["--connections", str(self.connections), "--streams", str(self.streams)]


PLAIN, ENCRYPTED = Load(8, 10, False), Load(8, 10, True)
LOADS = [PLAIN, Load(64, 1, False), ENCRYPTED, Load(64, 1, True)]


class Echo:
    """A running echo, on the first core."""

    def __init__(self, command, identity):
        self._identity = identity
        files = [identity.certificate, identity.key] if identity else []
        self._process = subprocess.Popen(pinned([*command, *files], CORES[:1]), stdout=subprocess.PIPE, text=True)
        self._port = self._process.stdout.readline().strip().rsplit(":")[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def cost(self, load):
        """Microseconds of the server's CPU for each call."""
        command = [built("rpc-load"), self._port, str(load.connections), str(load.streams), str(SECONDS)]
        if self._identity:
            command.append(self._identity.certificate)
        with subprocess.Popen(pinned(command, CORES[1:]), stdout=subprocess.PIPE, text=True) as running:
            running.stdout.readline()  # The measured part begins.
            before = cpu_seconds(self._process.pid)
            calls = running.stdout.readline()
            used = cpu_seconds(self._process.pid) - before
        if not calls:
            sys.exit(f"{self._process.args}: rpc-load ended with {running.returncode}")
        return used / int(calls) * 1e6


class Bench:
    """The servers' programs and what they are called with, in a directory."""

    def __init__(self, directory):
        self._directory = directory
        self._identity = Identity(directory)
        self.commands = {"DispatchRPC": [built("rpc-echo")], "C++": [self._build_cpp()], "Go": [self._build_go()]}

    def _build_cpp(self):
        program = self._directory / "echo-cc"
        command = ["pkg-config", "--cflags", "--libs", "grpc++"]
        flags = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        subprocess.run(["g++", "-O2", "-std=c++17", SOURCES / "echo.cc", "-o", program, *flags], check=True)
        return program

    def _build_go(self):
        program = self._directory / "echo-go"
        environment = os.environ | {"GO111MODULE": "off", "GOPATH": GO_PATH}
        subprocess.run(["go", "build", "-o", program, SOURCES / "echo.go"], check=True, env=environment)
        return program

    def costs(self, load):
        """Each server's median, by name, and the service's. Each is started anew for each round."""
        costs = {name: [] for name in [*self.commands, "CanEvaluatePolicy"]}
        for _ in range(ROUNDS):
            for name, command in self.commands.items():
                with Echo(command, self._identity if load.is_encrypted else None) as echo:
                    costs[name].append(echo.cost(load))
            costs["CanEvaluatePolicy"].append(self._preflight_cost(load))
        return {name: statistics.median(values) for name, values in costs.items()}

    @staticmethod
    def _preflight_cost(load):
        with tempfile.TemporaryDirectory(prefix="touchstone-peers-") as directory:
            encryption = Encryption(Path(directory)) if load.is_encrypted else None
            configuration = encryption.configuration if encryption else None
            options = [*load.options, *(encryption.load_options if encryption else [])]
            with Service(Path(directory), configuration=configuration, is_on_one_core=True) as running:
                running_load = running.load("--scenario", "preflight", *options, duration=f"{SECONDS}s")
                return server_microseconds(report(running_load, is_saturating=True))


def measure():
    if len(CORES) < 2:
        sys.exit("needs two cores: one for the server, one for the load")
    install("bench-peers")
    with tempfile.TemporaryDirectory(prefix="touchstone-peers-") as directory:
        bench = Bench(Path(directory))
        print(f"CPU of the server for a unary call, µs (median of {ROUNDS} × {SECONDS} s); in brackets: times DispatchRPC's")
        costs = {}
        for load in LOADS:
            costs[load] = bench.costs(load)
            show(load, costs[load], with_heading=load == LOADS[0])
    plain = costs[PLAIN]
    return {
        "rpc_share": plain["DispatchRPC"] / min(plain["C++"], plain["Go"]),
        "preflight_share": plain["CanEvaluatePolicy"] / plain["Go"],
        "preflight_tls_share": costs[ENCRYPTED]["CanEvaluatePolicy"] / plain["Go"],
    }


def cpu_seconds(pid):
    """User and system, of all threads: proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(load, costs, *, with_heading):
    if with_heading:
        print(f"{'connections × streams':24}" + "".join(f"{name:>20}" for name in costs))
    ours = costs["DispatchRPC"]
    print(f"{load.name:24}" + "".join(f"{cost:12.1f} ({cost / ours:5.1f})" for cost in costs.values()), flush=True)


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
