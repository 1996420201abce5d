"""What an idle connection costs the service in memory: CONNECTIONS (10,000) of them, each with one call behind it, in
plaintext and over TLS 1.3.

Prints the service's resident memory by the connection, and exits with 1 where that is more than promised.
"""

import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(__file__).parents[2] / ".build/release"
SERVER = os.environ.get("TOUCHSTONE_BINARY") or BUILD / "touchstone"
CONNECTIONS = int(os.environ.get("CONNECTIONS", "10000"))
MAXIMUM_BYTES = 25_000
#: OpenSSL's own objects come on top.
MAXIMUM_TLS_BYTES = 35_000

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


def connect(address, tls):
    client = socket.create_connection(address, timeout=PATIENCE_SECONDS)
    if tls:
        client = tls.wrap_socket(client)
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
    return max(report("in plaintext", is_encrypted=False), report("over TLS", is_encrypted=True))


def report(name, *, is_encrypted):
    with tempfile.TemporaryDirectory(prefix="touchstone-idle-") as directory:
        growth = growth_of_new_service(Path(directory), is_encrypted)
    each = growth / CONNECTIONS
    limit = MAXIMUM_TLS_BYTES if is_encrypted else MAXIMUM_BYTES
    print(f"{CONNECTIONS} idle connections {name}: {growth / 1e6:.1f} MB, {each / 1e3:.1f} KB each (at most {limit / 1e3:.0f})")
    return 0 if each <= limit else 1


def growth_of_new_service(directory, is_encrypted):
    command = [SERVER, "serve", "--listen", "127.0.0.1:0", "--data-dir", directory / "data"]
    if is_encrypted:
        command += ["--config", encrypting_configuration(directory)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        host, port = server.stdout.readline().removeprefix("listening on ").strip().rsplit(":", 1)
        return measure(server.pid, (host, int(port)), client_context() if is_encrypted else None)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def encrypting_configuration(directory):
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    key.chmod(0o600)
    configuration = directory / "touchstone.yaml"
    # Who calls without a key is nobody: the one call is refused, and as good as any.
    caller = f"callers: [{{name: shop, keys: [sha256:{'a1' * 32}], applications: [shop], methods: [EvaluationService/*]}}]\n"
    # Over TLS they are strangers, for the service knows none of them.
    limits = f"limits: {{connections: {2 * CONNECTIONS}, strangers_per_address: {2 * CONNECTIONS}}}\n"
    configuration.write_text(f"tls: {{certificate: {certificate}, key: {key}}}\n{limits}{caller}")
    return configuration


def client_context():
    """What is measured is memory: whom we talk to is of no matter."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def measure(pid, address, tls):
    # What the first calls bring into memory is no connection's.
    clients = open_connections(address, tls, BATCH)
    before = resident_bytes(pid)
    clients += open_connections(address, tls, CONNECTIONS - BATCH)
    growth = resident_bytes(pid) - before
    for client in clients:
        client.close()
    return growth * CONNECTIONS / (CONNECTIONS - BATCH)


def open_connections(address, tls, count):
    clients = []
    for start in range(0, count, BATCH):
        batch = [connect(address, tls) for _ in range(min(BATCH, count - start))]
        for client in batch:
            wait_for_answer(client)
        clients += batch
    # What the service does after its last answer.
    time.sleep(1)
    return clients


if __name__ == "__main__":
    sys.exit(main())
