"""The inputs that grpc's fuzzers found interesting, as bytes from a peer: nothing may crash, hang or grow."""

import contextlib
import re
import socket
import threading
from pathlib import Path

from .cases import DEFAULT_SECONDS
from .processes import Outcome, free_port, run, server, tail

#: Ends what neither side ended before; a server that has a whole input and its end has nothing to wait for.
PATIENCE_SECONDS = 60
#: All inputs once more may not cost more than this: what an allocator keeps, but not a connection or a call each.
GROWTH_KIB = 4096
#: For the client's calls, one for each input and one more.
REPLAY_SECONDS = 600
#: Of an answer to one input.
ANSWER_BYTES = 1 << 20

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, HEADERS, CONTINUATION = 4, 1, 9
END_STREAM, END_HEADERS = 1, 4


def play(ours, foreign, table, logs: Path):
    core = foreign.grpc / "test/core"
    hpack_texts = files(core / "transport/chttp2/hpack_parser_corpus")
    to_server = {
        "server_fuzzer": files(core / "end2end/fuzzers/server_fuzzer_corpus"),
        "hpack_parser": [hpack_input(text) for text in hpack_texts],
        "bad_client": [headers_input(path) for path in sorted((core / "bad_client/tests").glob("*.headers"))],
    }
    to_client = {
        "client_fuzzer": files(core / "end2end/fuzzers/client_fuzzer_corpus"),
        "hpack_parser": [hpack_input(text, preface=b"") for text in hpack_texts],
        "percent_decode": [status_input(value) for value in files(core / "slice/percent_decode_corpus")],
    }
    for name, inputs in to_server.items():
        result = replay_to_server(ours, inputs, logs / f"corpus-{name}-server.txt")
        table.enter(f"{name}, {len(inputs)} inputs", "our server", result)
    for name, inputs in to_client.items():
        table.enter(f"{name}, {len(inputs)} inputs", "our client", replay_to_client(ours, inputs))


# Inputs


def files(directory):
    return [path.read_bytes() for path in sorted(directory.iterdir())]


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def hpack_input(text, preface=PREFACE):
    """Each header block of the fuzzer's (in protobuf's text format), as a request or an answer of its own."""
    blocks = [
        [unescape(part) for part in re.findall(rb'parse: "((?:[^"\\]|\\.)*)"', block)]
        for block in re.split(rb"\bframes \{", text)[1:]]
    stream_ids = range(1, 2 * len(blocks), 2)
    return preface + frame(SETTINGS, 0, 0, b"") + b"".join(
        header_frames(stream, block) for stream, block in zip(stream_ids, blocks) if block)


def header_frames(stream, parts):
    kinds = [HEADERS] + [CONTINUATION] * (len(parts) - 1)
    flags = [0] * (len(parts) - 1) + [END_HEADERS]
    flags[0] |= END_STREAM
    return b"".join(frame(kind, flag, stream, part) for kind, flag, part in zip(kinds, flags, parts))


def unescape(text):
    return text.decode("latin-1").encode().decode("unicode_escape").encode("latin-1")


def headers_input(path):
    """A file of `name: value` lines as the headers of one request."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    fields = [re.match(r"(:?[^:]+): *(.*)", line).groups() for line in lines]
    block = b"".join(literal(name.encode(), value.encode()) for name, value in fields)
    return PREFACE + frame(SETTINGS, 0, 0, b"") + frame(HEADERS, END_STREAM | END_HEADERS, 1, block)


def status_input(value):
    """An answer whose grpc-message is the value."""
    fields = [
        (b":status", b"200"), (b"content-type", b"application/grpc"), (b"grpc-status", b"2"), (b"grpc-message", value)]
    block = b"".join(literal(*field) for field in fields)
    return frame(SETTINGS, 0, 0, b"") + frame(HEADERS, END_STREAM | END_HEADERS, 1, block)


def literal(name, value):
    """A field that is never indexed (RFC 7541 §6.2.3)."""
    return b"\x10" + integer(len(name)) + name + integer(len(value)) + value


def integer(value):
    """With a prefix of seven bits (RFC 7541 §5.1)."""
    if value < 127:
        return bytes([value])
    encoded, rest = [127], value - 127
    while rest >= 128:
        encoded.append(rest % 128 | 128)
        rest //= 128
    return bytes([*encoded, rest])


# Against the server


def replay_to_server(ours, inputs, log):
    port = free_port()
    with server(ours.server(port, False).arguments, port, log) as process:
        first = [fault for index, data in enumerate(inputs) if (fault := send_to_server(port, data, index))]
        kept = resident_kib(process.pid)
        second = [fault for index, data in enumerate(inputs) if (fault := send_to_server(port, data, index))]
        faults = first + second + growth(kept, resident_kib(process.pid)) + still_serves(ours, port)
        if process.poll() is not None:
            faults.append(f"the server is gone: {tail(log.read_text(errors='replace'))}")
    return Outcome(not faults, "\n".join(faults[:5]))


def send_to_server(port, data, index):
    """What was wrong with the answer; `None` for nothing."""
    received = 0
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
            # A server may close before it has read all.
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while piece := connection.recv(1 << 16):
                    received += len(piece)
    except TimeoutError:
        return f"input {index}: not closed after {PATIENCE_SECONDS} s"
    except OSError as error:
        return f"input {index}: {error}"
    return f"input {index}: answered with {received} bytes" if received > ANSWER_BYTES else None


def still_serves(ours, port):
    outcome = run(ours.client(port, False, "empty_unary").arguments, DEFAULT_SECONDS)
    return [] if outcome.passed else [f"afterwards a proper call fails: {outcome.output}"]


# Against the client


def replay_to_client(ours, inputs):
    """The client makes a call for each input, each on a channel of its own, twice over; all of them must end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        bytes_server = BytesServer(listener, inputs)
        port = listener.getsockname()[1]
        command = ours.client(port, False, "any_answer").arguments + [f"--soak_iterations={2 * len(inputs)}"]
        outcome = run(command, REPLAY_SECONDS, on_start=bytes_server.start)
        # Wakes the thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)
        bytes_server.join()
    faults = [] if outcome.passed else [outcome.output]
    if bytes_server.served < 2 * len(inputs):
        faults.append(f"only {bytes_server.served} of {2 * len(inputs)} inputs were asked for")
    elif len(inputs) > 100:
        faults += growth(bytes_server.resident[0], bytes_server.resident[1])
    return Outcome(not faults, "\n".join(faults[:5]))


class BytesServer(threading.Thread):
    """Answers each connection with the next input, and its end."""

    def __init__(self, listener, inputs):
        super().__init__(daemon=True)
        self.listener = listener
        self.inputs = inputs
        self.served = 0
        #: Of the client, after all inputs and after all once more.
        self.resident = [0, 0]

    def start(self, client):
        self.client = client
        super().start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection, contextlib.suppress(OSError):
                    self.serve(connection)

    def serve(self, connection):
        connection.settimeout(REPLAY_SECONDS)
        round_, index = divmod(self.served, len(self.inputs))
        self.served += 1
        if index == len(self.inputs) - 1 and round_ < 2:
            self.resident[round_] = resident_kib(self.client.pid)
        connection.sendall(self.inputs[index])
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1])


def growth(before, after):
    if after - before <= GROWTH_KIB:
        return []
    return [f"memory grew from {before} to {after} KiB when all inputs came once more"]
