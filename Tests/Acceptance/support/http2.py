"""A client that does on HTTP/2 what it is told and nothing of its own accord: no timers, no retries."""

import socket

import h2.config
import h2.connection
import h2.events

#: No answer may hang a test run.
ANSWER_SECONDS = 20

_READ_BYTES = 65_536


class Client:
    """One connection, for one call."""

    def __init__(self, address):
        if address.startswith("unix:"):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(ANSWER_SECONDS)
            self._socket.connect(address.removeprefix("unix:"))
        else:
            host, port = address.rsplit(":", 1)
            self._socket = socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS)
        configuration = h2.config.H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
        self._connection = h2.connection.H2Connection(configuration)
        self._connection.initiate_connection()
        self._flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def huffman(self, is_on):
        """Whether texts of header fields are compressed by Huffman's code."""
        encoder = self._connection.encoder
        encode = encoder.__class__.encode
        encoder.encode = lambda headers, huffman=True: encode(encoder, headers, is_on)

    def send_headers(self, path, *metadata, authority="touchstone"):
        """Begins a gRPC call, and returns its stream; its message is left open. `authority`: `None` sends none."""
        headers = [(":method", "POST"), (":scheme", "http"), (":path", path)]
        headers += [(":authority", authority)] if authority is not None else []
        headers += [("content-type", "application/grpc"), ("te", "trailers"), *metadata]
        stream = self._connection.get_next_available_stream_id()
        self._connection.send_headers(stream, headers)
        self._flush()
        return stream

    def call(self, path, *metadata, **authority):
        """The answer to a call with an empty message."""
        stream = self.send_headers(path, *metadata, **authority)
        self._connection.send_data(stream, bytes(5), end_stream=True)
        self._flush()
        return self.answer(stream)

    def answer(self, stream=None):
        """Headers and trailers of the call's answer in one, once the service has ended it; without `stream`, those of the first call that
        it ends."""
        fields = {}
        while content := self._socket.recv(_READ_BYTES):
            for event in self._connection.receive_data(content):
                if stream is not None and getattr(event, "stream_id", stream) != stream:
                    continue
                if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
                    fields |= {name.decode(): value.decode() for name, value in event.headers}
                if isinstance(event, h2.events.StreamReset):
                    raise AssertionError(f"the stream was reset: {event.error_code}")
                if isinstance(event, h2.events.StreamEnded):
                    self._flush()
                    return fields
            self._flush()
        raise AssertionError(f"the service closed the connection after {fields}")

    def _flush(self):
        self._socket.sendall(self._connection.data_to_send())
