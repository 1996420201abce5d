"""Protobuf's wire format by hand, for messages that no library would write (protobuf.dev, "Encoding")."""

import threading

import grpc

from .stubs import METHODS

VARINT, FIXED64, LENGTH_DELIMITED, START_GROUP, END_GROUP, FIXED32 = range(6)


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number, wire_type):
    return varint(number << 3 | wire_type)


def delimited(number, content):
    return tag(number, LENGTH_DELIMITED) + varint(len(content)) + content


def nested(fields, content):
    """`content` as the last field, within the messages of those before it."""
    for field in reversed(fields):
        content = delimited(field.number, content)
    return content


def paths(descriptor, wanted, _above=()):
    """Every path from a message to a field that `wanted` takes, as tuples of descriptors."""
    for field in descriptor.fields:
        path = (*_above, field)
        if wanted(field):
            yield path
        if field.message_type:
            yield from paths(field.message_type, wanted, path)


def dotted(path):
    return ".".join(field.name for field in path)


#: A stream that has not ended until then goes on: its request was taken. From when the service said something.
STREAM_SECONDS = 3


def send(channel, method_name, message, timeout=20):
    """Sends bytes as they are, and returns the answer's bytes; raises as a stub does."""
    method = METHODS[method_name]
    path = f"/{method.containing_service.full_name}/{method.name}"
    if method.server_streaming:
        return _stream(channel.unary_stream(path, _as_is, _as_is)(message, timeout=timeout))
    return channel.unary_unary(path, _as_is, _as_is)(message, timeout=timeout)


def error_of(channel, method_name, message):
    """The error that answers these bytes; None where they are taken."""
    try:
        send(channel, method_name, message)
    except grpc.RpcError as error:
        return error
    return None


def _stream(call):
    call.initial_metadata()
    end = threading.Timer(STREAM_SECONDS, call.cancel)
    end.start()
    messages = []
    try:
        for message in call:
            messages.append(message)
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.CANCELLED:
            raise
    finally:
        end.cancel()
    return b"".join(messages)


def _as_is(message):
    return message
