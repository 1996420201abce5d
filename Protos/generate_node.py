"""Writes what the Node client has of the .proto files: tables of messages, and the methods, both with types.

    generate_node.py DESCRIPTORS DIRECTORY

DESCRIPTORS is a google.protobuf.FileDescriptorSet with source info (protoc --include_imports --include_source_info). DIRECTORY
gets messages.js, messages.d.ts, methods.js and methods.d.ts.
"""

import sys
from pathlib import Path

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import MethodOptions

from generate_methods import PACKAGE, methods
from generate_swift import Schema, application_field

#: Messages of errors, which the client reads itself.
DETAILS = "google.rpc"
#: Kinds of fields in the tables, and their types in TypeScript: as received, and as sent.
SCALARS = {
    Field.TYPE_STRING: ("string", "string", "string"),
    Field.TYPE_BYTES: ("bytes", "Uint8Array", "Uint8Array"),
    Field.TYPE_BOOL: ("bool", "boolean", "boolean"),
    Field.TYPE_INT32: ("int32", "number", "number"),
    Field.TYPE_INT64: ("int64", "bigint", "bigint | number"),
    Field.TYPE_UINT32: ("uint32", "number", "number"),
    Field.TYPE_UINT64: ("uint64", "bigint", "bigint | number"),
}
WELL_KNOWN = {
    ".google.protobuf.Timestamp": ("timestamp", "Date", "Date"),
    # In milliseconds.
    ".google.protobuf.Duration": ("duration", "number", "number"),
}
#: The suffix of a message that the service both receives and sends, as a caller writes it: without what is empty.
INIT = "Init"
NAMES = ["// Comments name fields as the .proto files and errors do: `application_id` is the property `applicationId`.", ""]


def camel(name):
    """As protobuf's JSON mapping names a field."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def js_name(declaration):
    """Of a message or an enumeration, with the messages around it: "QuotaFailureViolation"."""
    return declaration.full_name.removeprefix(f"{declaration.file.package}.").replace(".", "")


def comment(lines, indent=""):
    """No comment ends early."""
    text = [line.replace("*/", "* /") for line in lines if line]
    if not text:
        return []
    if len(text) == 1:
        return [f"{indent}/** {text[0]} */"]
    return [f"{indent}/**", *[f"{indent} * {line}" for line in text], f"{indent} */"]


def declarations(schema):
    for one in schema.types.values():
        if one.file.package in (PACKAGE, DETAILS) or one.full_name == "google.protobuf.Any":
            if not (one.is_message and one.proto.options.map_entry):
                yield one


def map_value(schema, field):
    """The field of a map's values; None if the field is no map."""
    if field.type != Field.TYPE_MESSAGE or field.type_name in WELL_KNOWN:
        return None
    entry = schema.type(field.type_name).proto
    return entry.field[1] if entry.options.map_entry else None


# --- tables ---


def row(schema, message, field):
    value = map_value(schema, field)
    described = value or field
    parts = [f"number: {field.number}", f'name: "{camel(field.name)}"']
    if described.type in SCALARS:
        parts.append(f'kind: "{SCALARS[described.type][0]}"')
    elif described.type_name in WELL_KNOWN:
        parts.append(f'kind: "{WELL_KNOWN[described.type_name][0]}"')
    else:
        kind = "enum" if described.type == Field.TYPE_ENUM else "message"
        parts.append(f'kind: "{kind}", type: exports.{js_name(schema.type(described.type_name))}')
    if value is not None:
        parts.append("isMap: true")
    elif field.label == Field.LABEL_REPEATED:
        parts.append("isRepeated: true")
    if field.HasField("oneof_index"):
        parts.append(f'oneOf: "{camel(message.proto.oneof_decl[field.oneof_index].name)}"')
    return f"  {{ {', '.join(parts)} }},"


def messages_js(schema):
    lines = ['"use strict";', "", 'const { Enumeration, Message } = require("../lib/wire.js");']
    for one in declarations(schema):
        lines.append("")
        if one.is_message:
            rows = [row(schema, one, field) for field in one.proto.field]
            body = ["() => [", *rows, "]"] if rows else ["() => []"]
            lines += [f'exports.{js_name(one)} = new Message("{one.full_name}", {body[0]}', *body[1:]]
            lines[-1] += ");"
        else:
            values = [f"  {value.name}: {value.number}," for value in one.proto.value]
            lines += [f"exports.{js_name(one)} = new Enumeration({{", *values, "});"]
    return lines


# --- types ---


def reachable(schema, names):
    """The full names of messages in messages of these names, and these."""
    found = set()
    todo = [schema.type(name) for name in names]
    while todo:
        message = todo.pop()
        if message.full_name in found:
            continue
        found.add(message.full_name)
        for field in message.proto.field:
            described = map_value(schema, field) or field
            if described.type == Field.TYPE_MESSAGE and described.type_name not in WELL_KNOWN:
                todo.append(schema.type(described.type_name))
    return found


class Types:
    def __init__(self, schema):
        self.schema = schema
        every = [method for _, _, method in methods(schema)]
        self.sent = reachable(schema, [method.input_type for method in every])
        self.received = reachable(schema, [method.output_type for method in every])

    def name(self, message, is_sent):
        both = message.full_name in self.sent and message.full_name in self.received
        return js_name(message) + (INIT if is_sent and both else "")

    def value(self, field, is_sent):
        if field.type in SCALARS:
            return SCALARS[field.type][2 if is_sent else 1]
        if field.type_name in WELL_KNOWN:
            return WELL_KNOWN[field.type_name][2 if is_sent else 1]
        type = self.schema.type(field.type_name)
        return self.name(type, is_sent) if type.is_message else js_name(type)

    def property(self, message, index, is_sent):
        field = message.proto.field[index]
        value = map_value(self.schema, field)
        if value is not None:
            type = f"{{ [key: string]: {self.value(value, is_sent)} }}"
        else:
            type = self.value(field, is_sent)
            if field.label == Field.LABEL_REPEATED:
                type = f"Array<{type}>"
        # A single message has presence, and so does each field of a oneof.
        is_message = field.type == Field.TYPE_MESSAGE and field.label != Field.LABEL_REPEATED
        mark = "?" if is_sent or is_message or field.HasField("oneof_index") else ""
        note = ["In milliseconds."] if field.type_name == ".google.protobuf.Duration" else []
        return [*comment([*message.comment(2, index), *note], "  "), f"  {camel(field.name)}{mark}: {type};"]

    def interface(self, message, is_sent):
        properties = [line for index in range(len(message.proto.field)) for line in self.property(message, index, is_sent)]
        head = f"export interface {self.name(message, is_sent)}"
        return [*comment(message.comment()), *([f"{head} {{", *properties, "}"] if properties else [f"{head} {{}}"])]


def messages_d_ts(schema):
    types = Types(schema)
    lines = []
    for one in declarations(schema):
        if one.file.package != PACKAGE:
            continue
        if not one.is_message:
            values = [
                line
                for index, value in enumerate(one.proto.value)
                for line in (*comment(one.comment(2, index), "  "), f'  | "{value.name}"')
            ]
            lines += ["", *comment(one.comment()), f"export type {js_name(one)} =", *values]
            lines += ["  /** A value that this version of the client does not know. */", "  | number;"]
            continue
        for is_sent, names in ((True, types.sent), (False, types.received)):
            if one.full_name in names:
                lines += ["", *types.interface(one, is_sent)]
    return lines[1:]


# --- methods ---


def methods_js(schema):
    lines = ['"use strict";', "", 'const messages = require("./messages.js");', "", "exports.methods = ["]
    for service, _, method in methods(schema):
        may_repeat = method.options.idempotency_level != MethodOptions.IDEMPOTENCY_UNKNOWN
        application = application_field(schema.type(method.input_type))
        request, response = (js_name(schema.type(name)) for name in (method.input_type, method.output_type))
        lines += [
            "  {",
            f'    name: "{method.name[0].lower()}{method.name[1:]}", path: "/{service.full_name}/{method.name}",',
            f"    request: messages.{request}, response: messages.{response},",
            f"    isStream: {str(method.server_streaming).lower()}, mayRepeat: {str(may_repeat).lower()},",
            f"    application: {[camel(name) for name in application or []]},".replace("'", '"'),
            "  },",
        ]
    return [*lines, "];"]


def methods_d_ts(schema):
    types = Types(schema)
    lines = [
        'import type * as messages from "./messages.js";', 'import type { CallOptions, Stream } from "../index.js";', "",
        "/** A method for each of the API. */", "export interface Methods {",
    ]
    for service, index, method in methods(schema):
        request = f"messages.{types.name(schema.type(method.input_type), True)}"
        response = f"messages.{types.name(schema.type(method.output_type), False)}"
        answer = f"Stream<{response}>" if method.server_streaming else f"Promise<{response}>"
        name = method.name[0].lower() + method.name[1:]
        lines += [*comment(service.comment(2, index), "  "), f"  {name}(request?: {request}, options?: CallOptions): {answer};"]
    return [*lines, "}"]


def main(descriptors, directory):
    schema = Schema(descriptor_pb2.FileDescriptorSet.FromString(Path(descriptors).read_bytes()), set())
    files = {
        "messages.js": messages_js, "messages.d.ts": messages_d_ts, "methods.js": methods_js, "methods.d.ts": methods_d_ts,
    }
    for name, generate in files.items():
        lines = ['// Generated by "make protos" from Protos. Do not edit.', *(NAMES if ".d." in name else []), *generate(schema)]
        (Path(directory) / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
