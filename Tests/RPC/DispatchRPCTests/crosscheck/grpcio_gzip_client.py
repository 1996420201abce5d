"""Google's gRPC implementation as a client that compresses.

Usage: grpcio_gzip_client.py ADDRESS
Prints what went wrong and exits with 1, or prints nothing.
"""

import sys

import grpc

LARGE = bytes(50_000) + b"the end"


def identity(message):
    return message


def unary(channel):
    for message in (LARGE, b"short", b""):
        answer, call = channel.unary_unary("/test/Mirror", identity, identity).with_call(message)
        assert answer == message
        # It sends as it is what does not shrink.
        trailing = {entry.key: entry.value for entry in call.trailing_metadata()}
        assert trailing["was-compressed"] == str(message == LARGE).lower(), trailing


def stream(channel):
    call = channel.stream_stream("/stream/Mirror", identity, identity)
    messages = [LARGE, b"short", LARGE, b""]
    running = call(iter(messages))
    assert list(running) == messages
    trailing = {entry.key: entry.value for entry in running.trailing_metadata()}
    assert trailing["were-compressed"] == "[true, false, true, false]", trailing


def unknown(channel):
    """Deflate, which we do not read."""
    try:
        channel.unary_unary("/test/Mirror", identity, identity)(LARGE, compression=grpc.Compression.Deflate)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
    else:
        raise AssertionError("deflate was taken")


def main():
    failed = False
    with grpc.insecure_channel(sys.argv[1], compression=grpc.Compression.Gzip) as channel:
        for check in (unary, stream, unknown):
            try:
                check(channel)
            except (AssertionError, grpc.RpcError) as error:
                failed = True
                print(f"{check.__name__}: {type(error).__name__} {error}")
    sys.exit(1 if failed else 0)


main()
