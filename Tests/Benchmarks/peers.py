"""What a unary call costs the server: DispatchRPC beside grpc's C++ and Go, of the system's packages, in one run.

Each server echoes bytes (no protobuf anywhere) and has one core to itself; touchstone-load calls all of them alike, and has the
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

import grpc
from grpc_tools import protoc

import budgets
from service import (
    CORES,
    TOUCHSTONE_LOAD,
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
DURATION = "3s"
METHOD = "bench.Echo/Echo"
#: With its field's number and length it is a message of 16 bytes.
REQUEST = '{"content": "Zm91cnRlZW4gYnl0ZXM="}'
PAYLOAD = b"sixteen bytes, +"
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
        self._target = "127.0.0.1:" + self._process.stdout.readline().strip().rsplit(":")[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def check(self):
        """That it echoes at all: the load client looks at the status alone."""
        if self._identity:
            credentials = grpc.ssl_channel_credentials(self._identity.certificate.read_bytes())
            channel = grpc.secure_channel(self._target, credentials)
        else:
            channel = grpc.insecure_channel(self._target)
        with channel:
            answer = channel.unary_unary("/" + METHOD)(PAYLOAD, timeout=10)
        if answer != PAYLOAD:
            sys.exit(f"{self._process.args}: answered {answer!r}")

    def cost(self, load, descriptors):
        """Microseconds of the server's CPU for each call."""
        command = [TOUCHSTONE_LOAD, "grpc", "--target", self._target, "--method", METHOD, "--data", REQUEST, "--json"]
        command += ["--descriptor-set", descriptors, "--duration", DURATION, *load.options]
        if self._identity:
            command += ["--tls-authorities", self._identity.certificate]
        running = subprocess.Popen(pinned(command, CORES[1:]), stdout=subprocess.PIPE, text=True)
        return server_microseconds(report(running, is_saturating=True))


class Bench:
    """The servers' programs and what they are called with, in a directory."""

    def __init__(self, directory):
        self._directory = directory
        self._identity = Identity(directory)
        self._descriptors = directory / "echo.descriptors"
        arguments = [f"--proto_path={SOURCES}", f"--descriptor_set_out={self._descriptors}", str(SOURCES / "echo.proto")]
        if protoc.main(["protoc", *arguments]) != 0:
            sys.exit("protoc does not take echo.proto")
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
                    echo.check()
                    costs[name].append(echo.cost(load, self._descriptors))
            costs["CanEvaluatePolicy"].append(self._preflight_cost(load))
        return {name: statistics.median(values) for name, values in costs.items()}

    @staticmethod
    def _preflight_cost(load):
        with tempfile.TemporaryDirectory(prefix="touchstone-peers-") as directory:
            encryption = Encryption(Path(directory)) if load.is_encrypted else None
            configuration = encryption.configuration if encryption else None
            options = [*load.options, *(encryption.load_options if encryption else [])]
            with Service(Path(directory), configuration=configuration, is_on_one_core=True) as running:
                running_load = running.load("--scenario", "preflight", *options, duration=DURATION)
                return server_microseconds(report(running_load, is_saturating=True))


def measure():
    if len(CORES) < 2:
        sys.exit("needs two cores: one for the server, one for the load")
    install("bench-peers")
    with tempfile.TemporaryDirectory(prefix="touchstone-peers-") as directory:
        bench = Bench(Path(directory))
        print(f"CPU of the server for a unary call, µs (median of {ROUNDS} × {DURATION}); in brackets: times DispatchRPC's")
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


def show(load, costs, *, with_heading):
    if with_heading:
        print(f"{'connections × streams':24}" + "".join(f"{name:>20}" for name in costs))
    ours = costs["DispatchRPC"]
    print(f"{load.name:24}" + "".join(f"{cost:12.1f} ({cost / ours:5.1f})" for cost in costs.values()), flush=True)


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
