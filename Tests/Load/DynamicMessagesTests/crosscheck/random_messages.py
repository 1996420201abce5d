"""Random messages as JSON and as bytes, by Python's protobuf: a line of JSON for each, after one for each set of types."""

import base64
import json
import random
import struct
import sys
import tempfile
from pathlib import Path

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor

sys.path.insert(0, str(Path(__file__).parents[3] / "Acceptance"))

from support.peer import PROTO, Types  # noqa: E402

PROTO2 = """
syntax = "proto2";
package peer.v1;
enum Color { RED = 1; BLUE = -2; }
message Answer {}
message Everything {
  required int32 must = 1; optional int64 may = 2; repeated int32 expanded = 3; repeated int32 packed = 4 [packed = true];
  optional Color color = 5; repeated Color colors = 6; optional bytes some_bytes = 7; optional Everything inner = 8;
  oneof choice { string text = 9; Everything other = 10; } map<int32, string> names = 11; optional float ratio = 12;
}
"""

COUNT = 300
MAXIMUM_DEPTH = 3

BITS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def random_scalar(field, chance):
    kind = field.cpp_type
    if kind in BITS:
        low, high = BITS[kind]
        return chance.choice([0, 1, low, high, chance.randint(low, high), max(low, -1)])
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return chance.random() < 0.5
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        number = chance.choice([0.0, -0.0, 1.5, float("inf"), float("-inf"), chance.gauss(0, 1e6), 1e-30])
        return struct.unpack("f", struct.pack("f", number))[0] if kind == FieldDescriptor.CPPTYPE_FLOAT else number
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return chance.choice(field.enum_type.values).number
    if field.type == FieldDescriptor.TYPE_BYTES:
        return chance.randbytes(chance.randint(0, 9))
    return "".join(chance.choice('aB9_"\\\n\u00e9\u20ac\U0001f512') for _ in range(chance.randint(0, 8)))


def fill_well_known(message, chance):
    """False: the message is like any other."""
    name = message.DESCRIPTOR.full_name.removeprefix("google.protobuf.")
    match name:
        case "Timestamp":
            message.seconds = chance.choice([0, -1, chance.randint(-62_135_596_800, 253_402_300_799)])
            message.nanos = chance.choice([0, 1, 500_000_000, 999_999_999])
        case "Duration":
            sign = chance.choice([-1, 1])
            message.seconds = sign * chance.choice([0, chance.randint(0, 315_576_000_000)])
            message.nanos = sign * chance.choice([0, 1, 250_000_000])
        case "FieldMask":
            message.paths.extend(chance.sample(["a", "some_field", "b.other_field"], chance.randint(0, 3)))
        case "Any":
            message.type_url = ""
        case "Struct":
            message.update({"a": None, "list": [1, "x", True, {}], "n": chance.gauss(0, 1)})
        case "ListValue":
            message.extend([None, "x", 2.5, [False]])
        case "Value":
            message.string_value = "text"
        case _:
            return False
    return True


def fill(message, chance, depth=0):
    if fill_well_known(message, chance):
        return message
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and chance.random() < 0.5:
            continue
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if field.message_type is not None and not is_map and depth == MAXIMUM_DEPTH:
            continue
        target = getattr(message, field.name)
        if is_map:
            fill_map(target, field.message_type, chance, depth)
        elif field.is_repeated:
            for _ in range(chance.randint(0, 3)):
                if field.message_type is None:
                    target.append(random_scalar(field, chance))
                else:
                    fill(target.add(), chance, depth + 1)
        elif field.message_type is not None:
            target.SetInParent()
            fill(target, chance, depth + 1)
        else:
            setattr(message, field.name, random_scalar(field, chance))
    return message


def fill_map(target, entry, chance, depth):
    # At most one: Python has an order of its own for more.
    for _ in range(chance.randint(0, 1)):
        key = random_scalar(entry.fields_by_name["key"], chance)
        value = entry.fields_by_name["value"]
        if value.message_type is None:
            target[key] = random_scalar(value, chance)
        else:
            # Reading an entry makes it.
            entry_value = target[key]
            if depth < MAXIMUM_DEPTH:
                fill(entry_value, chance, depth + 1)


def main(seed):
    chance = random.Random(seed)
    for text in (PROTO, PROTO2):
        with tempfile.TemporaryDirectory() as directory:
            types = Types(directory, text)
            print(json.dumps({"descriptors": base64.b64encode(types.file.read_bytes()).decode()}))
            for _ in range(COUNT):
                message = fill(types.everything(), chance)
                written = json_format.MessageToJson(
                    message,
                    preserving_proto_field_name=chance.random() < 0.5,
                    use_integers_for_enums=chance.random() < 0.5,
                    always_print_fields_with_no_presence=chance.random() < 0.3,
                    descriptor_pool=types.pool,
                    indent=None,
                )
                # As JSON carries it.
                read = json_format.Parse(written, types.everything(), descriptor_pool=types.pool)
                print(json.dumps({"json": written, "bytes": read.SerializeToString(deterministic=True).hex()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
