"""HTTP to the service: requests with the standard library's client, and bytes by hand."""

import contextlib
import http.client
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

#: The service is expected to act sooner; this only keeps a failing test from hanging.
PATIENCE_SECONDS = 30


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self):
        return self.body.decode()


def address_of(url):
    """Host and port to connect to: a server that listens on all addresses is at the local one, too."""
    parts = urlsplit(url)
    return parts.hostname.replace("0.0.0.0", "127.0.0.1"), parts.port


def trusting(authority):
    return ssl.create_default_context(cadata=authority.pem.decode())


def request(url, path, method="GET", *, headers=None, body=None, authority=None):
    """The answer, on a connection of its own."""
    host, port = address_of(url)
    if url.startswith("https:"):
        connection = http.client.HTTPSConnection(host, port, timeout=PATIENCE_SECONDS, context=trusting(authority))
    else:
        connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
    with contextlib.closing(connection):
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())


def connected(url):
    return socket.create_connection(address_of(url), timeout=PATIENCE_SECONDS)


def read_to_end(connection):
    """What came until the service closed; a reset ends it, too."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            received += piece
    return received
