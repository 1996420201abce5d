"""What an idle connection costs the service in memory, each with one call behind it, in plaintext and over TLS 1.3.

CONNECTIONS: how many; without it as many as the machine's limit of open files allows (ulimit -Hn). All are held at the same
time, and at the end each serves another call.
"""

import os
import socket
import ssl
import sys
import tempfile
import time
from pathlib import Path

import budgets
from service import Encryption, Service, allow_most_connections, connection_limits

#: Connections made before their answers are awaited.
BATCH = 100
#: A connection gives memory back when it is looked after, five seconds after a call began, and finds itself idle.
SETTLING_SECONDS = 7
#: That a service which does not answer is waited for.
PATIENCE_SECONDS = 30

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS = 1, 4
END_STREAM, ACK, END_HEADERS = 1, 1, 4


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name, value):
    """A literal that is added to the dynamic table, as clients do it, so that the table is part of what is measured."""
    return b"\x40" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call(stream):
    """An empty request, which the service answers at once."""
    head = (
        b"\x83\x86"
        + field(b":path", b"/touchstone.v1.EvaluationService/CanEvaluatePolicy")
        + field(b":authority", b"127.0.0.1")
        + field(b"te", b"trailers")
        + field(b"content-type", b"application/grpc")
        + field(b"user-agent", b"idle-benchmark")
    )
    return frame(HEADERS, END_HEADERS, stream, head) + frame(0, END_STREAM, stream, bytes(5))


OPENING = PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0)
FIRST_STREAM, SECOND_STREAM = 1, 3


def connect(address, tls):
    client = socket.create_connection(address, timeout=PATIENCE_SECONDS)
    if tls:
        client = tls.wrap_socket(client)
    client.sendall(OPENING + call(FIRST_STREAM))
    return client


def wait_for_answer(client, stream):
    """Up to the end of the stream."""
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
            if rest[3] == HEADERS and rest[4] & END_STREAM and int.from_bytes(rest[5:9], "big") == stream:
                return
            rest = rest[9 + length :]


def measure():
    most = allow_most_connections()
    count = int(os.environ.get("CONNECTIONS") or most)
    return {
        "idle_plaintext": kilobytes_each("in plaintext", count, is_encrypted=False),
        "idle_tls": kilobytes_each("over TLS", count, is_encrypted=True),
    }


def kilobytes_each(name, count, *, is_encrypted):
    with tempfile.TemporaryDirectory(prefix="touchstone-idle-") as directory:
        configuration = connection_limits(count)
        if is_encrypted:
            # A call without a key is refused, which is as good as any answer.
            configuration += Encryption(Path(directory)).configuration
        with Service(Path(directory), configuration=configuration) as service:
            growth = growth_of(service, count, client_context() if is_encrypted else None)
    print(f"{count} idle connections {name}: {growth / 1e6:.1f} MB, {growth / count / 1e3:.1f} KB each", flush=True)
    return growth / count / 1e3


def client_context():
    """What is measured is memory: whom we talk to is of no matter."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def growth_of(service, count, tls):
    host, port = service.address.rsplit(":", 1)
    address = (host, int(port))
    # What the first calls bring into memory is no connection's.
    clients = open_connections(address, tls, BATCH)
    before = service.resident_bytes
    clients += open_connections(address, tls, count - BATCH)
    growth = service.resident_bytes - before
    for client in clients:
        client.sendall(call(SECOND_STREAM))
    for client in clients:
        wait_for_answer(client, SECOND_STREAM)
        client.close()
    return growth * count / (count - BATCH)


def open_connections(address, tls, count):
    clients = []
    for start in range(0, count, BATCH):
        batch = [connect(address, tls) for _ in range(min(BATCH, count - start))]
        for client in batch:
            wait_for_answer(client, FIRST_STREAM)
        clients += batch
    time.sleep(SETTLING_SECONDS)
    return clients


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
