"""What a unary call costs the server: DispatchRPC beside grpc's C++ and Go, of the system's packages, in one run.

Each server echoes bytes (no protobuf anywhere) and has one core to itself; h2load, which is none of ours, has the others.
CPU is the server's own, user and system, over all its threads, divided by the calls. Rounds take turns, so that what
the machine does meanwhile meets all alike; what is shown is the median of the rounds, and the ratio to DispatchRPC's.

    make bench-rpc                  all of it
    make bench-rpc CALLS=20000      quicker, and less exact
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import grpc

SOURCES = Path(__file__).parent / "rpc"
ROOT = Path(__file__).parents[2]
CALLS = int(os.environ.get("CALLS", "200000"))
ROUNDS = 5
CORES = sorted(os.sched_getaffinity(0))
PATH = "/bench.Echo/Echo"
PAYLOAD = b"sixteen bytes, +"
TICKS = os.sysconf("SC_CLK_TCK")
#: Debian's place for the Go packages that it ships.
GO_PATH = "/usr/share/gocode"
#: DispatchRPC's share of the better one's CPU at 8 × 10, over h2c, is to be at most this.
LARGEST_SHARE = 1 / 3


@dataclass(frozen=True)
class Load:
    connections: int
    streams: int
    is_encrypted: bool

    @property
    def name(self):
        return f"{self.connections} × {self.streams} {'TLS 1.3' if self.is_encrypted else 'h2c'}"


LOADS = [Load(8, 10, False), Load(64, 1, False), Load(8, 10, True), Load(64, 1, True)]


class Identity:
    """A certificate for 127.0.0.1 that nobody checks."""

    def __init__(self, directory):
        self.certificate, self.key = directory / "certificate.pem", directory / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", self.key, "-out", self.certificate],
            check=True, capture_output=True)


class Server:
    """A running echo, on the first core."""

    def __init__(self, command, identity):
        files = [identity.certificate, identity.key] if identity else []
        self.process = subprocess.Popen(
            ["taskset", "--cpu-list", str(CORES[0]), *command, *files], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().strip().rsplit(":")[-1])
        self.identity = identity

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def check(self):
        """That it echoes at all: h2load looks at HTTP's status alone."""
        target = f"127.0.0.1:{self.port}"
        if self.identity:
            credentials = grpc.ssl_channel_credentials(self.identity.certificate.read_bytes())
            channel = grpc.secure_channel(target, credentials)
        else:
            channel = grpc.insecure_channel(target)
        with channel:
            answer = channel.unary_unary(PATH)(PAYLOAD, timeout=10)
        if answer != PAYLOAD:
            sys.exit(f"{self.process.args}: answered {answer!r}")


def cost(server, load, body):
    """Microseconds of the server's CPU for each call."""
    scheme = "https" if load.is_encrypted else "http"
    command = [
        "taskset", "--cpu-list", ",".join(map(str, CORES[1:])), "h2load",
        f"--requests={CALLS}", f"--clients={load.connections}", f"--max-concurrent-streams={load.streams}",
        f"--data={body}", "--header=te: trailers", "--header=content-type: application/grpc",
        f"{scheme}://127.0.0.1:{server.port}{PATH}"]
    before = server.cpu_seconds()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = server.cpu_seconds()
    if f"status codes: {CALLS} 2xx" not in output:
        sys.exit(f"{server.process.args}: not every call was answered\n{output}")
    return (after - before) / CALLS * 1e6


def build(directory):
    """The servers' commands, by name."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "grpc++"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(
        ["g++", "-O2", "-std=c++17", SOURCES / "echo.cc", "-o", directory / "echo-cc", *flags], check=True)
    environment = os.environ | {"GO111MODULE": "off", "GOPATH": GO_PATH}
    subprocess.run(
        ["go", "build", "-o", directory / "echo-go", SOURCES / "echo.go"], check=True, env=environment)
    echo = os.environ.get("RPC_ECHO", ROOT / ".build/release/rpc-echo")
    return {"DispatchRPC": [echo], "C++": [directory / "echo-cc"], "Go": [directory / "echo-go"]}


def measure(commands, load, identity, body):
    """Each server's median cost, by name. A server is started anew for each round."""
    costs = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            with Server(command, identity if load.is_encrypted else None) as server:
                server.check()
                costs[name].append(cost(server, load, body))
    return {name: statistics.median(values) for name, values in costs.items()}


def main():
    if len(CORES) < 2:
        sys.exit("needs two cores: one for the server, one for the load")
    if missing := [tool for tool in ("h2load", "g++", "go", "openssl", "taskset") if not shutil.which(tool)]:
        sys.exit(f"needs {', '.join(missing)}: deploy/install-packages bench-rpc")
    directory = Path(tempfile.mkdtemp(prefix="bench-rpc-"))
    try:
        return report(build(directory), Identity(directory), directory)
    finally:
        shutil.rmtree(directory)


def report(commands, identity, directory):
    body = directory / "body"
    body.write_bytes(b"\0" + len(PAYLOAD).to_bytes(4, "big") + PAYLOAD)
    print(f"CPU of the server for a unary echo, µs (median of {ROUNDS} × {CALLS} calls); in brackets: times DispatchRPC's")
    print(f"{'connections × streams':24}" + "".join(f"{name:>18}" for name in commands))
    is_reached = True
    for load in LOADS:
        costs = measure(commands, load, identity, body)
        ours = costs["DispatchRPC"]
        print(f"{load.name:24}" + "".join(f"{cost:10.1f} ({cost / ours:4.1f})" for cost in costs.values()), flush=True)
        best = min(cost for name, cost in costs.items() if name != "DispatchRPC")
        if load == LOADS[0]:
            is_reached = ours <= best * LARGEST_SHARE
    if not is_reached:
        sys.exit(f"at {LOADS[0].name} DispatchRPC took more than {LARGEST_SHARE:.2f} of the better one's CPU")


if __name__ == "__main__":
    main()
