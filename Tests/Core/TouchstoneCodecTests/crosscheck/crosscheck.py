"""Checks the Swift codec against Google's implementation of protobuf, both ways.

    crosscheck.py generate --protos DIR --seed N --out FILE    writes random messages of every type
    crosscheck.py verify --protos DIR --sent FILE --received FILE [--any]

Between the two, Swift decodes each message, writes down what it sees in its properties, and encodes it anew. `verify`
parses the new bytes and compares both with the original. It compares Swift's JSON with its own, where it has one, and what Swift
reads of Python's JSON with the original.

A file is a sequence of records, a record a sequence of blobs, a blob its length (4 bytes, little endian) and its bytes:
  sent:      message type, bytes, Python's JSON (empty if there is none)
  received:  message type, "accepted" or "refused", the properties as text, bytes, JSON; the properties by Python's JSON
"""

import argparse
import itertools
import json
import random
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path

try:
    import grpc_tools
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
    from google.protobuf.descriptor import FieldDescriptor
    from google.protobuf.message import DecodeError
    from grpc_tools import protoc
except ImportError as error:
    sys.exit(f"crosscheck.py needs the Python packages protobuf and grpcio-tools: {error}")

# At least; more where chance left a field out.
MESSAGES_PER_TYPE = 40
# Damaged copies of each message: those that Swift accepts, it must read as Python does.
DAMAGED_PER_MESSAGE = 2
# How often each field of each type must have been sent with a value.
COVERAGE = 5

# Words that Swift writes in capitals, except at the front of a name; and one name that is longer in Swift.
ACRONYMS = {"id", "json", "jwk", "la", "os", "url"}
RENAMED = {"nanos": "nanoseconds"}

# Full names, found when the schema is loaded.
MAP_ENTRIES = set()

MAXIMA = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}


# --- schema ---


def load(protos, *, has_maps=False):
    """All message types of the .proto files, by full name. `has_maps`: as they are, and not as lists of entries."""
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    files = sorted(str(path.relative_to(protos)) for path in Path(protos).rglob("*.proto"))
    # The same messages as in v1, for which Swift has one type.
    files = [file for file in files if not file.startswith("grpc/reflection/v1alpha/")]
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "descriptors"
        arguments = ["protoc", f"-I{protos}", f"-I{well_known}", "--include_imports", f"--descriptor_set_out={out}"]
        if protoc.main(arguments + files) != 0:
            sys.exit("protoc refused the .proto files")
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    if not has_maps:
        take_maps_for_lists(descriptors)
    # A pool of its own: other packages may have registered google.rpc in the default one.
    pool = descriptor_pool.DescriptorPool()
    types = {}
    for file in descriptors.file:
        added = pool.AddSerializedFile(file.SerializeToString()) or pool.FindFileByName(file.name)
        for descriptor in added.message_types_by_name.values():
            collect(descriptor, types)
    return types


def take_maps_for_lists(descriptors):
    """A map is a list of entries on the wire. Python drops an entry with unknown fields from a map; others do not.

    Where its values are messages, Swift has it as a list, too.
    """
    for file in descriptors.file:
        for message in file.message_type:
            for nested in message.nested_type:
                if nested.options.map_entry:
                    nested.options.map_entry = False
                    if nested.field[1].type != descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE:
                        MAP_ENTRIES.add(f"{file.package}.{message.name}.{nested.name}")


def collect(descriptor, types):
    types[descriptor.full_name] = message_factory.GetMessageClass(descriptor)
    for nested in descriptor.nested_types:
        if nested.full_name not in MAP_ENTRIES:
            collect(nested, types)


def is_map(field):
    return field.message_type is not None and field.message_type.full_name in MAP_ENTRIES


def is_message(field):
    return field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE


# --- random messages ---


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.coverage = Counter()

    def message(self, cls, density):
        """`density` is the chance of a field to be set."""
        message = cls()
        chosen = {self.random.choice(oneof.fields) for oneof in cls.DESCRIPTOR.oneofs}
        for field in cls.DESCRIPTOR.fields:
            eligible = field.containing_oneof is None or field in chosen
            if eligible and self.random.random() < density:
                self.fill(message, field, density)
                self.coverage[field.full_name] += 1
        return message

    def covers(self, cls):
        return all(self.coverage[field.full_name] >= COVERAGE for field in cls.DESCRIPTOR.fields)

    def fill(self, message, field, density):
        if is_map(field):
            for _ in range(self.random.randint(1, 4)):
                getattr(message, field.name).add(key=self.text(0), value=self.text(0))
        elif is_message(field) and field.is_repeated:
            for _ in range(self.random.randint(1, 3)):
                getattr(message, field.name).append(self.submessage(field, density))
        elif is_message(field):
            getattr(message, field.name).CopyFrom(self.submessage(field, density))
            getattr(message, field.name).SetInParent()
        elif field.is_repeated:
            getattr(message, field.name).extend(self.scalar(field, 0) for _ in range(self.random.randint(1, 5)))
        else:
            setattr(message, field.name, self.scalar(field, 1))

    def submessage(self, field, density):
        return self.message(message_factory.GetMessageClass(field.message_type), density)

    def scalar(self, field, minimum):
        """`minimum` is 1 where the default would be the same as absence."""
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            return True if minimum else self.random.random() < 0.5
        if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
            known = [value.number for value in field.enum_type.values if value.number or not minimum]
            return self.random.choice(known + [77, -77, (1 << 31) - 1, -(1 << 31)])
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self.random.randbytes(self.random.choice([minimum, 1, 16, 32, 200]))
        if field.type == FieldDescriptor.TYPE_STRING:
            return self.text(minimum)
        low, high = MAXIMA[field.cpp_type]
        return self.random.choice([high, low or 1, 1, self.random.randint(1, 127), self.random.randint(1, high)])

    def text(self, minimum):
        # No combining characters: Swift's dictionary takes canonically equivalent keys for one.
        alphabet = self.random.choice(["ab.-_09", "指纹登录支付", "éßñ", "🔒👍", "a\u0001\u007f\u07ff\u0800\uffff\U0010ffff"])
        length = self.random.choice([minimum, 1, 7, 8, 15, 16, 40])
        return "".join(self.random.choice(alphabet) for _ in range(length))

    def unknown_fields(self):
        """What a newer peer may send: one field of each wire type, by numbers that no message has."""
        return b"".join([
            key(1000, 0) + b"\x96\x01",
            key(1001, 1) + bytes(8),
            key(1002, 2) + b"\x03a\x00\xff",
            key(1003, 5) + bytes(4),
        ])

    def damaged(self, data):
        data = bytearray(data)
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(data) + 1)
            change = self.random.randrange(4)
            if change == 0 and at < len(data):
                data[at] ^= 1 << self.random.randrange(8)
            elif change == 1:
                data.insert(at, self.random.randrange(256))
            elif change == 2:
                del data[at : at + self.random.randint(1, 4)]
            else:
                length = self.random.randint(1, 12)
                data[at:at] = data[self.random.randrange(len(data) + 1) :][:length]
        return bytes(data)


def key(number, wire_type):
    value = number << 3 | wire_type
    return bytes([value & 0x7F | 0x80, value >> 7])


def generate(arguments):
    generator = Generator(arguments.seed)
    types = load(arguments.protos)
    types_with_maps = load(arguments.protos, has_maps=True)
    with open(arguments.out, "wb") as out:
        for name, cls in sorted(types.items()):
            for index in itertools.count():
                if index >= MESSAGES_PER_TYPE and generator.covers(cls):
                    break
                data = generator.message(cls, density=[1, 0.8, 0.3][index % 3]).SerializeToString()
                if index % 10 == 9:
                    data += generator.unknown_fields()
                write(out, name.encode(), data, as_json_text(types_with_maps[name], data, generator.random))
                for _ in range(DAMAGED_PER_MESSAGE):
                    write(out, name.encode(), generator.damaged(data), b"")


# --- comparison ---


def camel(name):
    first, *rest = RENAMED.get(name, name).split("_")
    return first + "".join(word.upper() if word in ACRONYMS else word.capitalize() for word in rest)


def describe(message):
    """The same text that Swift's test makes of the properties it sees."""
    parts = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if is_map(field):
            # Of entries with the same key the last one counts.
            entries = {entry.key.encode().hex(): entry.value.encode().hex() for entry in value}
            pairs = sorted(f"{key}:{item}" for key, item in entries.items())
            parts[camel(field.name)] = "{" + ",".join(pairs) + "}"
        elif field.is_repeated:
            parts[camel(field.name)] = "[" + ",".join(describe_value(field, item) for item in value) + "]"
        elif not field.has_presence or message.HasField(field.name):
            parts[camel(field.name)] = describe_value(field, value)
    return "(" + ",".join(f"{name}:{parts[name]}" for name in sorted(parts)) + ")"


def describe_value(field, value):
    if is_message(field):
        return describe(value)
    if field.type == FieldDescriptor.TYPE_STRING:
        return '"' + value.encode().hex() + '"'
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "[" + ",".join(str(byte) for byte in value) + "]"
    return str(value).lower()


def parsed(cls, data):
    """The description of what Python reads; None where it reads nothing."""
    try:
        return describe(cls.FromString(data))
    except DecodeError:
        return None


def verify(arguments):
    types = load(arguments.protos)
    sent = list(records(arguments.sent, 3))
    received = list(records(arguments.received, 6))
    types_with_maps = load(arguments.protos, has_maps=True)
    if len(sent) != len(received):
        sys.exit(f"sent {len(sent)} messages, received {len(received)}")
    accepted = Counter()
    compared = Counter()
    for index, ((name, data, own_json), (name_back, verdict, text, data_back, json_text, read)) in enumerate(zip(sent, received)):
        undamaged = not arguments.any and index % (1 + DAMAGED_PER_MESSAGE) == 0
        fault = None
        if name != name_back:
            fault = f"came back as {name_back.decode()}"
        elif verdict == b"accepted":
            accepted[undamaged] += 1
            fault = difference(types[name.decode()], data, text.decode(), data_back)
            if undamaged and (expected := as_json(types_with_maps[name.decode()], data)) is not None:
                compared[name] += 1
                if json.loads(json_text) != expected:
                    fault = f"has the JSON {json_text.decode()}, not {expected}"
            if own_json and read != text:
                fault = f"has the JSON {own_json.decode()}, which was read as {read.decode()}"
        elif undamaged:
            fault = f"was refused: {text.decode()}"
        if fault:
            sys.exit(f"message {index}, {name.decode()} {data.hex()}: {fault}")
    without = {name for name, _, _ in sent} - set(compared) if not arguments.any else set()
    # A random google.protobuf.Any names no type.
    if without - {b"google.protobuf.Any", b"google.rpc.Status"}:
        sys.exit(f"no JSON was compared of {without}")
    print(f"{accepted[True]} messages of {len(types)} types, and {accepted[False]} damaged ones that were accepted")


def as_json(cls, data):
    """What Python makes of it; None where it makes nothing: times beyond the calendar, an Any of an unknown type."""
    try:
        return json_format.MessageToDict(cls.FromString(data))
    except (json_format.Error, ValueError, TypeError):
        return None


def as_json_text(cls, data, chance):
    """What Python makes of it in one of its forms; nothing where it makes nothing, and for a map of messages, which Swift has as a list."""
    entries = [field.message_type for field in cls.DESCRIPTOR.fields if is_message(field) and field.message_type.GetOptions().map_entry]
    if any(is_message(entry.fields_by_name["value"]) for entry in entries):
        return b""
    options = {
        "preserving_proto_field_name": chance.random() < 0.5,
        "use_integers_for_enums": chance.random() < 0.5,
        "indent": chance.choice([None, 1]),
        "ensure_ascii": chance.random() < 0.5,
    }
    try:
        return json_format.MessageToJson(cls.FromString(data), **options).encode()
    except (json_format.Error, ValueError, TypeError):
        return b""


def difference(cls, data, text, data_back):
    expected = parsed(cls, data)
    if expected is None:
        return "was accepted, and Python refuses it"
    if text != expected:
        return f"was read as {text}, not {expected}"
    if parsed(cls, data_back) != expected:
        return f"was encoded as {data_back.hex()}"
    return None


# --- files ---


def write(out, *blobs):
    for blob in blobs:
        out.write(struct.pack("<I", len(blob)) + blob)


def records(path, size):
    data = Path(path).read_bytes()
    position, record = 0, []
    while position < len(data):
        (length,) = struct.unpack_from("<I", data, position)
        position += 4
        record.append(data[position : position + length])
        position += length
        if len(record) == size:
            yield record
            record = []


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("generate")
    command.add_argument("--protos", required=True)
    command.add_argument("--seed", type=int, required=True)
    command.add_argument("--out", required=True)
    command.set_defaults(run=generate)
    command = commands.add_parser("verify")
    command.add_argument("--any", action="store_true", help="the messages are any bytes: all of them may be refused")
    command.add_argument("--protos", required=True)
    command.add_argument("--sent", required=True)
    command.add_argument("--received", required=True)
    command.set_defaults(run=verify)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
