"""Google's gRPC implementation as a client of ours: each kind of call, and how calls end.

Usage: grpcio_client.py ADDRESS
Prints what went wrong and exits with 1, or prints nothing.
"""

import sys
import threading

import grpc


def identity(message):
    return message


def chat(channel):
    call = channel.stream_stream("/stream/Chat", identity, identity)
    messages = [b"", b"x", b"y" * 100_000] + [b"m%d" % index for index in range(500)]
    assert list(call(iter(messages))) == messages


def turns(channel):
    """Each message waits for the echo of the one before."""
    echoed = threading.Semaphore(1)

    def messages():
        for index in range(100):
            assert echoed.acquire(timeout=10)
            yield b"%d" % index

    echoes = []
    for echo in channel.stream_stream("/stream/Chat", identity, identity)(messages()):
        echoes.append(echo)
        echoed.release()
    assert echoes == [b"%d" % index for index in range(100)]


def total(channel):
    call = channel.stream_unary("/stream/Total", identity, identity)
    assert call(iter([b"z" * 1000] * 3000)) == b"3000000"
    assert call(iter([])) == b"0"


def count(channel):
    call = channel.unary_stream("/stream/Count", identity, identity)
    assert list(call(b"z" * 1000)) == [bytes([index % 256]) for index in range(1000)]
    assert list(call(b"")) == []


def unary(channel):
    assert channel.unary_unary("/test/Echo", identity, identity)(b"hello") == b"hello"


def metadata(channel):
    call = channel.stream_stream("/stream/Chat", identity, identity)(
        iter([b"x"]), metadata=[("text", "printable"), ("bytes-bin", b"\x00\xff")])
    assert list(call) == [b"x"]
    trailing = {entry.key: entry.value for entry in call.trailing_metadata()}
    assert trailing["text"] == "printable" and trailing["bytes-bin"] == b"\x00\xff", trailing


def deadline(channel):
    call = channel.stream_stream("/stream/Hold", identity, identity)(iter([]), timeout=0.2)
    expect(grpc.StatusCode.DEADLINE_EXCEEDED, call)


def cancel(channel):
    call = channel.stream_stream("/stream/Chat", identity, identity)(waiting())
    assert next(call) == b"x"
    call.cancel()
    expect(grpc.StatusCode.CANCELLED, call)


def too_large(channel):
    call = channel.stream_stream("/stream/Chat", identity, identity)(iter([b"x" * (5 << 20)]))
    expect(grpc.StatusCode.RESOURCE_EXHAUSTED, call)


def missing(channel):
    expect(grpc.StatusCode.UNIMPLEMENTED, channel.stream_stream("/stream/Missing", identity, identity)(iter([b"x"])))


def waiting():
    yield b"x"
    threading.Event().wait(timeout=5)


def expect(code, call):
    try:
        for _ in call:
            pass
    except grpc.RpcError as error:
        assert error.code() == code, error
    else:
        raise AssertionError(f"expected {code}")


def main():
    checks = [unary, chat, turns, total, count, metadata, deadline, cancel, too_large, missing]
    failed = False
    with grpc.insecure_channel(sys.argv[1]) as channel:
        for check in checks:
            try:
                check(channel)
            except (AssertionError, grpc.RpcError) as error:
                failed = True
                print(f"{check.__name__}: {type(error).__name__} {error}")
    sys.exit(1 if failed else 0)


main()
