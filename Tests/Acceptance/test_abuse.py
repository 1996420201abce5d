"""Peers that abuse HTTP/2 are sent away with GOAWAY after a bounded number of frames, and cost no memory to speak of."""

import collections
import itertools
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from hyperframe.frame import (
    ContinuationFrame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from support.abuse import (
    CAN_EVALUATE_POLICY,
    PATIENCE_SECONDS,
    Abuser,
    call_headers,
    data,
    headers,
    literal,
    settings,
)
from support.caller import new_caller
from support.credentials import Key, caller_with
from support.phone import Phone
from support.server import Server

#: Frames within which every abuser is sent away, but for rapid reset, which cancelled calls look like.
FRAMES = 300
RAPID_RESET_FRAMES = 1_500
#: So many more for each second that the machine takes to send them: a service that counts resets forgets 200 a second,
#: and each follows the HEADERS of its stream.
FRAMES_PER_SECOND = 400
#: That the service may hold more than before while it is abused.
MEMORY_BYTES = 1 << 20

PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, ENHANCE_YOUR_CALM = 1, 3, 5, 11


@dataclass
class Abuse:
    name: str
    #: Frames as bytes, without end.
    frames: callable
    #: What it is told, where its frames are not too many before they are looked at.
    goaway: int = ENHANCE_YOUR_CALM
    limit: int = FRAMES
    acknowledges: bool = True

    def __str__(self):
        return self.name


def streams():
    return itertools.count(1, 2)


def for_each_stream(*makers):
    """The frames of one stream after those of another."""

    def frames():
        for stream in streams():
            for make in makers:
                yield make(stream)

    return frames


def after(first, make):
    """Some frames, and then one kind for ever."""

    def frames():
        yield from first
        for index in itertools.count():
            yield make(index)

    return frames


def forever(make):
    return after([], make)


def reset(stream, code=8):
    return RstStreamFrame(stream, error_code=code).serialize()


def window_update(stream, increment=1):
    return WindowUpdateFrame(stream, window_increment=increment).serialize()


def ping(*flags):
    frame = PingFrame(opaque_data=b"12345678")
    frame.flags |= set(flags)
    return frame.serialize()


def continuation(stream, block):
    return ContinuationFrame(stream, data=block).serialize()


def settings_acknowledgement(_):
    frame = SettingsFrame()
    frame.flags.add("ACK")
    return frame.serialize()


def priority(stream):
    return PriorityFrame(stream, depends_on=0, stream_weight=15).serialize()


def unknown(kind):
    return lambda _: b"\x00\x00\x06" + bytes([kind]) + bytes(5) + b"grease"


def begun(stream):
    """HEADERS whose block goes on."""
    return HeadersFrame(stream, data=literal(call_headers())).serialize()


#: One large field in the dynamic table, and then a byte for each time it is meant.
def bomb(stream):
    field = b"\x40\x01x\x7f" + bytes([0x80 | ((3_900 - 127) & 0x7F), (3_900 - 127) >> 7]) + b"y" * 3_900
    return headers(stream, block=literal(call_headers()) + field + b"\xbe" * 10_000)


def large_list(stream):
    """20 KiB of headers; 16 are allowed."""
    return headers(stream, block=literal(call_headers(*((f"x{n}", "y" * 900) for n in range(16)))) + b"\x82" * 125)


def malformed(*fields):
    return lambda stream: headers(stream, "END_STREAM", block=literal([*call_headers(), *fields]))


def closed_stream():
    return [headers(1, "END_STREAM"), reset(1)]


ABUSES = [
    Abuse("rapid reset", for_each_stream(headers, reset), limit=RAPID_RESET_FRAMES),
    Abuse("rapid reset without an error", for_each_stream(headers, lambda s: reset(s, 0)), limit=RAPID_RESET_FRAMES),
    Abuse(
        "rapid reset of calls that are refused",
        for_each_stream(lambda s: headers(s, "END_STREAM"), reset),
        limit=RAPID_RESET_FRAMES,
    ),
    Abuse("CONTINUATION without end", after([begun(1)], lambda _: continuation(1, literal([("a", "b")]))), PROTOCOL_ERROR),
    Abuse("empty CONTINUATION", after([begun(1)], lambda _: continuation(1, b"")), PROTOCOL_ERROR),
    Abuse("SETTINGS", forever(lambda _: settings())),
    Abuse(
        "SETTINGS that move every stream's window",
        after([headers(s) for s in range(1, 200, 2)], lambda i: settings(INITIAL_WINDOW_SIZE=i)),
        limit=400,
    ),
    Abuse("SETTINGS that change HPACK's table", forever(lambda i: settings(HEADER_TABLE_SIZE=(i % 2) << 20))),
    Abuse("acknowledgements of SETTINGS", forever(settings_acknowledgement), PROTOCOL_ERROR),
    Abuse("PING", forever(lambda _: ping())),
    Abuse("PING beside a call", after([headers(1)], lambda _: ping())),
    Abuse("acknowledgements of PING", forever(lambda _: ping("ACK"))),
    Abuse("PRIORITY", for_each_stream(priority)),
    Abuse("PRIORITY of the connection", forever(lambda _: b"\x00\x00\x05\x02" + bytes(10)), PROTOCOL_ERROR, limit=1),
    Abuse("PRIORITY of one stream", after([headers(1)], lambda _: priority(1))),
    Abuse("empty DATA", after([headers(1)], lambda _: data(1))),
    Abuse("DATA of padding", after([headers(1)], lambda _: data(1, padding=200))),
    Abuse("empty DATA of a closed stream", after(closed_stream(), lambda _: data(1))),
    Abuse("WINDOW_UPDATE", forever(lambda _: window_update(0))),
    Abuse("WINDOW_UPDATE of a stream", after([headers(1)], lambda _: window_update(1))),
    Abuse("WINDOW_UPDATE of a closed stream", after(closed_stream(), lambda _: window_update(1))),
    Abuse("WINDOW_UPDATE overflow", forever(lambda _: window_update(0, 0x7FFFFFFF)), FLOW_CONTROL_ERROR),
    Abuse("WINDOW_UPDATE overflow of streams", for_each_stream(headers, lambda s: window_update(s, 0x7FFFFFFF))),
    Abuse("WINDOW_UPDATE of nothing", forever(lambda _: b"\x00\x00\x04\x08\x00" + bytes(8)), PROTOCOL_ERROR),
    Abuse("HPACK bomb", for_each_stream(bomb)),
    Abuse("header lists above the limit", for_each_stream(large_list)),
    Abuse("half-open streams", for_each_stream(headers)),
    Abuse("half-open streams without acknowledging SETTINGS", for_each_stream(headers), acknowledges=False),
    Abuse("frames of an unknown type", forever(unknown(0xFA))),
    Abuse("ALTSVC", forever(unknown(0x0A))),
    Abuse("GOAWAY", after([headers(1)], lambda _: GoAwayFrame(last_stream_id=0).serialize())),
    Abuse("RST_STREAM of idle streams", for_each_stream(reset), PROTOCOL_ERROR),
    Abuse("RST_STREAM of a closed stream", after(closed_stream(), lambda _: reset(1)), limit=RAPID_RESET_FRAMES),
    Abuse("HEADERS of a closed stream", after(closed_stream(), lambda _: headers(1)), ENHANCE_YOUR_CALM),
    Abuse("DATA after the end", after([headers(1, "END_STREAM")], lambda _: data(1, b"x")), STREAM_CLOSED),
    Abuse("PUSH_PROMISE", forever(lambda _: b"\x00\x00\x04\x05\x04\x00\x00\x00\x01\x00\x00\x00\x02"), PROTOCOL_ERROR),
    Abuse("trailers that end nothing", for_each_stream(headers, headers)),
    Abuse("names in upper case", for_each_stream(malformed(("Upper", "x")))),
    Abuse("a connection's headers", for_each_stream(malformed(("connection", "close")))),
    Abuse("less DATA than announced", for_each_stream(malformed(("content-length", "9")))),
]


@pytest.fixture(scope="module")
def abused(tmp_path_factory):
    """A service that only abusers use, so that its memory is theirs."""
    # Or nobody but root could reset the peak.
    server = Server(tmp_path_factory.mktemp("abused") / "data", environment={"TOUCHSTONE_DEBUGGABLE": "1"})
    for abuse in ABUSES:
        attack(server, abuse)
    yield server
    server.close()


def attack(server, abuse):
    abuser = Abuser(server.address, acknowledges=abuse.acknowledges)
    try:
        abuser.flood(abuse.frames(), abuse.limit, FRAMES_PER_SECOND)
    finally:
        abuser.close()
    return abuser


class Memory:
    """Resident memory of a process (proc(5)): its peak since this was made, beyond what it held then."""

    def __init__(self, pid):
        self._directory = Path(f"/proc/{pid}")
        (self._directory / "clear_refs").write_text("5")
        self._before = self._field("VmRSS")

    @property
    def growth(self):
        return self._field("VmHWM") - self._before

    def _field(self, name):
        line = next(line for line in (self._directory / "status").read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) * 1_024


@pytest.mark.parametrize("abuse", ABUSES, ids=str)
def test_an_abuser_is_sent_away(abused, abuse):
    memory = Memory(abused.process.pid)
    abuser = attack(abused, abuse)
    assert abuser.is_ended, f"still welcome after {abuser.sent} frames"
    assert abuser.closed_with in (abuse.goaway, ENHANCE_YOUR_CALM), (abuser.closed_with, abuser.debug_data)
    growth = memory.growth
    # `pytest -rP` shows it.
    print(f"{abuse}: {abuser.sent} frames, {growth >> 10} KiB, {abuser.debug_data.decode()}")
    assert growth < MEMORY_BYTES


#: Of one connection. A twentieth of them is cancelled as soon as it was sent, hundreds a second. As many wait for their
#: turn as a crowd of callers makes, so that all streams begin at once.
HONEST_CALLS = 4_000
AT_ONE_TIME = 1_000
#: A thousand others are before each, on a machine that may be busy.
CALL_SECONDS = 60


def test_a_busy_client_that_cancels_many_calls_is_welcome(abused):
    codes = collections.Counter()
    places = threading.Semaphore(AT_ONE_TIME)

    def ended(call):
        codes[call.code()] += 1
        places.release()

    with grpc.insecure_channel(abused.address, [("grpc.enable_http_proxy", 0)]) as channel:
        method = channel.unary_unary(CAN_EVALUATE_POLICY)
        for index in range(HONEST_CALLS):
            places.acquire()
            call = method.future(b"", timeout=CALL_SECONDS)
            call.add_done_callback(ended)
            if index % 20 == 0:
                call.cancel()
        for _ in range(AT_ONE_TIME):
            places.acquire()
    assert sum(codes.values()) == HONEST_CALLS
    # That of an empty request, whatever the service says to it.
    (answer, answered), *others = codes.most_common()
    assert answer not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)
    assert answered >= HONEST_CALLS * 19 // 20
    assert {code for code, _ in others} <= {grpc.StatusCode.CANCELLED}


#: Idle sockets of one stranger, more than there are places for all.
IDLE_SOCKETS = 220
PLACES = 200


def test_a_strangers_idle_sockets_keep_nobody_out(start):
    """An eighth of the places is the most that one address has without a call that was admitted."""
    server = start(configuration={"limits": {"connections": PLACES}})
    known, phone = new_caller(server), Phone()
    known.bind(phone)
    host, port = server.address.rsplit(":", 1)
    idle = [socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) for _ in range(IDLE_SOCKETS)]
    try:
        # Those that came first were closed.
        for stranger in idle[: IDLE_SOCKETS - PLACES // 8]:
            # After the service's first frames.
            while stranger.recv(4_096):
                pass
        new_caller(server).get_settings("alice")
        assert known.login(phone).profile_id == phone.binding.profile_id
    finally:
        for stranger in idle:
            stranger.close()


def test_one_callers_connections_keep_no_other_out(start):
    """The newest connections of the caller with most make room."""
    game, bank = Key(), Key()
    grants = [("game", game), ("bank", bank)]
    server = start(
        configuration={
            "limits": {"connections": PLACES},
            "callers": [
                {"name": name, "keys": [key.digest], "applications": [name], "methods": ["*"]} for name, key in grants
            ],
        }
    )
    crowd = [caller_with(server.channel(), "game", game) for _ in range(PLACES)]
    for one in crowd:
        one.get_settings("alice")
    for _ in range(PLACES // 4):
        caller_with(server.channel(), "bank", bank).get_settings("alice")
