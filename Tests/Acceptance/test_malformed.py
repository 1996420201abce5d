"""Bytes that are no request: INVALID_ARGUMENT from every method, with the field's name where there is one.

The table of methods and fields is the protos' own, so that what is added to them is tested with them.
"""

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor

from support import wire
from support.errors import check_refusal, noted
from support.stubs import METHODS

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT

#: A field number that no request has.
UNKNOWN = 2000

MALFORMED = {
    "truncated tag": b"\x80",
    "truncated varint": wire.tag(UNKNOWN, wire.VARINT) + b"\x80",
    "truncated length": wire.tag(UNKNOWN, wire.LENGTH_DELIMITED) + b"\x80",
    "truncated content": wire.tag(UNKNOWN, wire.LENGTH_DELIMITED) + wire.varint(5) + b"four",
    "truncated fixed64": wire.tag(UNKNOWN, wire.FIXED64) + bytes(7),
    "truncated fixed32": wire.tag(UNKNOWN, wire.FIXED32) + bytes(3),
    "varint of eleven bytes": wire.tag(UNKNOWN, wire.VARINT) + b"\xff" * 10 + b"\x01",
    "varint of 65 bits": wire.tag(UNKNOWN, wire.VARINT) + b"\xff" * 9 + b"\x02",
    "length of 2^63": wire.tag(UNKNOWN, wire.LENGTH_DELIMITED) + wire.varint(1 << 63),
    "length of 2^64-1": wire.tag(UNKNOWN, wire.LENGTH_DELIMITED) + wire.varint((1 << 64) - 1),
    "field number 0": wire.tag(0, wire.VARINT) + b"\x01",
    "field number 2^29": wire.tag(1 << 29, wire.VARINT) + b"\x01",
    "wire type 6": wire.tag(UNKNOWN, 6) + b"\x01",
    "wire type 7": wire.tag(UNKNOWN, 7) + b"\x01",
    "group": wire.tag(UNKNOWN, wire.START_GROUP) + wire.tag(UNKNOWN, wire.END_GROUP),
    "end of no group": wire.tag(UNKNOWN, wire.END_GROUP),
    "groups 10,000 deep": wire.tag(UNKNOWN, wire.START_GROUP) * 10_000 + wire.tag(UNKNOWN, wire.END_GROUP) * 10_000,
    "20,000 unknown fields": (wire.tag(UNKNOWN, wire.VARINT) + b"\x01") * 20_000,
    "20,000 empty unknown fields": wire.delimited(UNKNOWN, b"") * 20_000,
    "noise": bytes(range(255, 127, -1)),
}


#: NUL, which would cut a C string; then a stray byte, an overlong form, a surrogate, beyond Unicode, a cut sequence.
NO_TEXTS = [b"admin\x00x", b"\x00", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"caf\xc3"]


def is_text(field):
    return field.type == FieldDescriptor.TYPE_STRING


def is_varint(field):
    return field.type not in (
        FieldDescriptor.TYPE_STRING,
        FieldDescriptor.TYPE_BYTES,
        FieldDescriptor.TYPE_MESSAGE,
    )


def is_submessage(field):
    return field.type == FieldDescriptor.TYPE_MESSAGE and not field.is_repeated


def fields(method, wanted):
    """The path to each such field of the method's request."""
    return wire.paths(METHODS[method].input_type, wanted)


@pytest.fixture
def answer_to(server, caller):
    """The error that answers bytes; the service must still serve afterwards."""
    channel = server.channel()
    yield lambda method, message: wire.error_of(channel, method, message)
    assert wire.error_of(channel, "GetSigningKeys", b"") is None
    assert not caller.events()


@pytest.mark.parametrize("method", METHODS)
def test_malformed_bytes(answer_to, method):
    codes = {name: code_of(answer_to(method, message)) for name, message in MALFORMED.items()}
    assert codes == dict.fromkeys(MALFORMED, INVALID_ARGUMENT)


@pytest.mark.parametrize("method", METHODS)
def test_fields_of_another_form(answer_to, method):
    """No text; a number in place of content; fixed width in place of a varint; a message given twice."""

    def check(path, *contents):
        for content in contents:
            with noted(f"{wire.dotted(path)}: {content[:20]!r}"):
                error = answer_to(method, wire.nested(path[:-1], content))
                check_refusal(error, INVALID_ARGUMENT, field=wire.dotted(path))

    for path in fields(method, is_text):
        check(path, *[wire.delimited(path[-1].number, text) for text in NO_TEXTS])
    for path in fields(method, lambda field: not is_varint(field)):
        check(path, wire.tag(path[-1].number, wire.VARINT) + b"\x01")
    for path in fields(method, is_varint):
        check(path, wire.tag(path[-1].number, wire.FIXED32) + bytes(4))
    for path in fields(method, is_submessage):
        check(path, wire.delimited(path[-1].number, b"") * 2)


@pytest.mark.parametrize("method", METHODS)
def test_a_message_of_a_megabyte(answer_to, method):
    """Refused unread: gRPC's own status for a message over the receiver's limit."""
    error = answer_to(method, wire.delimited(UNKNOWN, bytes(1 << 20)))
    assert code_of(error) == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("method", METHODS)
def test_a_newer_peers_fields_are_taken(answer_to, method):
    """Unknown fields change nothing, as long as they are few."""
    newer = wire.tag(UNKNOWN, wire.VARINT) + b"\x01" + wire.delimited(UNKNOWN + 1, b"from the future")
    assert code_of(answer_to(method, newer)) == code_of(answer_to(method, b""))


def code_of(error):
    return error.code() if error else grpc.StatusCode.OK
