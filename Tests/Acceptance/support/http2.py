"""A client that does on HTTP/2 what it is told and nothing of its own accord: no timers, no retries."""

import socket

import h2.connection
import h2.events

#: No answer may hang a test run.
ANSWER_SECONDS = 20

_READ_BYTES = 65_536


class Client:
    """One connection, for one call."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS)
        self._connection = h2.connection.H2Connection()
        self._connection.initiate_connection()
        self._flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def send_headers(self, path, *metadata):
        """Begins a gRPC call; its message is left open."""
        headers = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "touchstone")]
        headers += [("content-type", "application/grpc"), ("te", "trailers"), *metadata]
        self._connection.send_headers(self._connection.get_next_available_stream_id(), headers)
        self._flush()

    def answer(self):
        """Headers and trailers of the call's answer in one, once the service has ended it."""
        fields = {}
        while content := self._socket.recv(_READ_BYTES):
            for event in self._connection.receive_data(content):
                if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
                    fields |= {name.decode(): value.decode() for name, value in event.headers}
                if isinstance(event, h2.events.StreamEnded):
                    return fields
            self._flush()
        raise AssertionError(f"the service closed the connection after {fields}")

    def _flush(self):
        self._socket.sendall(self._connection.data_to_send())
