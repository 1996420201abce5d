"""What an idle connection costs the service in memory: CONNECTIONS (10,000) of them, each with one call behind it.

Prints the service's resident memory by the connection, and exits with 1 where that is more than promised.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(__file__).parents[2] / ".build/release"
SERVER = os.environ.get("TOUCHSTONE_BINARY") or BUILD / "touchstone"
CONNECTIONS = int(os.environ.get("CONNECTIONS", "10000"))
MAXIMUM_BYTES = 25_000

#: Connections made before their answers are awaited.
BATCH = 100
#: That a service which does not answer is waited for.
PATIENCE_SECONDS = 30

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name, value):
    """A literal that is added to the dynamic table, as clients do it, so that the table is part of what is measured."""
    return b"\x40" + bytes([len(name)]) + name + bytes([len(value)]) + value


#: An empty request, which the service answers at once.
CALL = (
    b"\x83\x86"
    + field(b":path", b"/touchstone.v1.EvaluationService/CanEvaluatePolicy")
    + field(b":authority", b"127.0.0.1")
    + field(b"te", b"trailers")
    + field(b"content-type", b"application/grpc")
    + field(b"user-agent", b"idle-benchmark")
)
OPENING = PREFACE + frame(4, 0, 0) + frame(4, 1, 0) + frame(1, 4, 1, CALL) + frame(0, 1, 1, bytes(5))


def connect(address):
    client = socket.create_connection(address, timeout=PATIENCE_SECONDS)
    client.sendall(OPENING)
    return client


def wait_for_answer(client):
    """Up to the end of the one stream."""
    received = b""
    while True:
        content = client.recv(65_536)
        if not content:
            sys.exit("the service closed an idle connection")
        received += content
        rest = received
        while len(rest) >= 9:
            length = int.from_bytes(rest[:3], "big")
            if len(rest) < 9 + length:
                break
            if rest[3] == 1 and rest[4] & 1:
                return
            rest = rest[9 + length :]


def resident_bytes(pid):
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1_024


def main():
    # Ours and, as it is inherited, the service's.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="touchstone-idle-") as directory:
        command = [SERVER, "serve", "--listen", "127.0.0.1:0", "--data-dir", Path(directory) / "data"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            host, port = server.stdout.readline().removeprefix("listening on ").strip().rsplit(":", 1)
            growth = measure(server.pid, (host, int(port)))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    each = growth / CONNECTIONS
    is_kept = each <= MAXIMUM_BYTES
    limit = MAXIMUM_BYTES / 1e3
    print(f"{CONNECTIONS} idle connections: {growth / 1e6:.1f} MB, {each / 1e3:.1f} KB each (at most {limit:.0f})")
    return 0 if is_kept else 1


def measure(pid, address):
    # What the first calls bring into memory is no connection's.
    clients = open_connections(address, BATCH)
    before = resident_bytes(pid)
    clients += open_connections(address, CONNECTIONS - BATCH)
    growth = resident_bytes(pid) - before
    for client in clients:
        client.close()
    return growth * CONNECTIONS / (CONNECTIONS - BATCH)


def open_connections(address, count):
    clients = []
    for start in range(0, count, BATCH):
        batch = [connect(address) for _ in range(min(BATCH, count - start))]
        for client in batch:
            wait_for_answer(client)
        clients += batch
    # What the service does after its last answer.
    time.sleep(1)
    return clients


if __name__ == "__main__":
    sys.exit(main())
