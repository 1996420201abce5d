"""A peer that sends whatever HTTP/2 frames it is told, and counts how many it took until it was sent away."""

import select
import socket
import time

from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, SettingsFrame

#: Nothing that the service does about an abuser takes this long.
PATIENCE_SECONDS = 20

#: Frames sent before the peer looks whether it was sent away.
_BATCH = 10
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: Answered at once, whatever is asked.
CAN_EVALUATE_POLICY = "/touchstone.v1.EvaluationService/CanEvaluatePolicy"


def call_headers(*more, path=CAN_EVALUATE_POLICY):
    """Of a proper gRPC call."""
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "abuser")]
    return [*fields, ("te", "trailers"), ("content-type", "application/grpc"), *more]


def literal(fields):
    """Without a dynamic table, so that a block can be sent again and again (RFC 7541 §6.2.2)."""
    block = b""
    for name, value in fields:
        name, value = name.encode(), value.encode()
        block += b"\x00" + _length(name) + name + _length(value) + value
    return block


def _length(text):
    """RFC 7541 §5.1, with a prefix of seven bits."""
    count = len(text)
    if count < 127:
        return bytes([count])
    encoded, count = b"\x7f", count - 127
    while count >= 128:
        encoded, count = encoded + bytes([count % 128 + 128]), count // 128
    return encoded + bytes([count])


def headers(stream, *flags, block=None):
    frame = HeadersFrame(stream, data=literal(call_headers()) if block is None else block)
    frame.flags |= {"END_HEADERS", *flags}
    return frame.serialize()


def data(stream, content=b"", *flags, padding=None):
    frame = DataFrame(stream, data=content)
    frame.flags |= set(flags)
    if padding is not None:
        frame.flags.add("PADDED")
        frame.pad_length = padding
    return frame.serialize()


def settings(**values):
    return SettingsFrame(settings={getattr(SettingsFrame, name): value for name, value in values.items()}).serialize()


class Abuser:
    """One connection. `sent` counts its frames after the preface."""

    def __init__(self, address, *, acknowledges=True):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self.sent = 0
        self.closed_with = None
        self.debug_data = b""
        self.is_closed = False
        self.frames = []
        self._socket.sendall(_PREFACE + settings())
        self.wait_for(lambda frame: isinstance(frame, SettingsFrame) and "ACK" not in frame.flags)
        if acknowledges:
            acknowledgement = SettingsFrame()
            acknowledgement.flags.add("ACK")
            self._socket.sendall(acknowledgement.serialize())

    def close(self):
        self._socket.close()

    def flood(self, frames, limit, more_per_second):
        """Sends up to `limit` of the frames, or more where that takes long, and waits to be sent away. True if that happened."""
        batch = []
        began = time.monotonic()
        for frame in frames:
            seconds = min(time.monotonic() - began, PATIENCE_SECONDS)
            if self.sent + len(batch) >= limit + int(seconds * more_per_second) or self.is_ended:
                break
            batch.append(frame)
            if len(batch) == _BATCH:
                self.send(batch)
                batch = []
                self.read(0)
        self.send(batch)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.is_ended and time.monotonic() < deadline:
            self.read(deadline - time.monotonic())
        return self.is_ended

    @property
    def is_ended(self):
        return self.closed_with is not None or self.is_closed

    def send(self, frames):
        try:
            self._socket.sendall(b"".join(frames))
            self.sent += len(frames)
        except OSError:
            self.read(PATIENCE_SECONDS)

    def wait_for(self, is_wanted):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(is_wanted(frame) for frame in self.frames):
            assert time.monotonic() < deadline and not self.is_closed, f"only {self.frames}"
            self.read(deadline - time.monotonic())

    def read(self, seconds):
        """What has come, or comes within the time."""
        if self.is_closed or not select.select([self._socket], [], [], max(0, seconds))[0]:
            return
        try:
            content = self._socket.recv(1 << 20)
        except OSError:
            content = b""
        self.is_closed = not content
        self._buffer += content
        while len(self._buffer) >= 9:
            frame, length = Frame.parse_frame_header(memoryview(self._buffer[:9]))
            if len(self._buffer) < 9 + length:
                break
            frame.parse_body(memoryview(self._buffer[9 : 9 + length]))
            self._buffer = self._buffer[9 + length :]
            self.frames.append(frame)
            if isinstance(frame, GoAwayFrame) and frame.error_code != 0 and self.closed_with is None:
                self.closed_with, self.debug_data = frame.error_code, frame.additional_data
