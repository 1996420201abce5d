"""Writes the Swift side of the .proto files: values, their mapping to protobuf-c's structs, and the methods.

    generate_swift.py DESCRIPTORS DIRECTORY [PROTO ...]

DESCRIPTORS is a google.protobuf.FileDescriptorSet with source info (protoc --include_imports --include_source_info).
Each PROTO, and what is imported from elsewhere, becomes Messages/NAME.pb.swift and Mapping/NAME.mapping.swift in DIRECTORY;
all of them together become Methods.swift and MessageTypes.swift. `swift format` then breaks the long lines.
"""

import re
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import MethodOptions

# --- what follows from no rule ---

# Where a package's messages and services stand in Swift; others stand in what `type_name` makes of the package.
NAMESPACES = {
    "google.rpc": "RPCDetail",
    "grpc.health.v1": "GRPCHealth",
    "grpc.reflection.v1": "GRPCReflection",
    "grpc.reflection.v1alpha": "GRPCReflectionV1Alpha",
    "touchstone.v1": "V1",
}
# Messages of others that have a shorter name in Swift, or one that Swift does not use itself.
RENAMED_MESSAGES = {
    "google.protobuf.Any": "RPCDetail.AnyMessage",
    "google.protobuf.Duration": "V1.Duration",
    "google.protobuf.Timestamp": "V1.Timestamp",
    "google.rpc.Status": "RPCDetail.PackedStatus",
    "grpc.health.v1.HealthCheckRequest": "GRPCHealth.CheckRequest",
    "grpc.health.v1.HealthCheckResponse": "GRPCHealth.CheckResponse",
    "grpc.health.v1.HealthListRequest": "GRPCHealth.ListRequest",
    "grpc.health.v1.HealthListResponse": "GRPCHealth.ListResponse",
    "grpc.reflection.v1.ServerReflectionRequest": "GRPCReflection.Request",
    "grpc.reflection.v1.ServerReflectionResponse": "GRPCReflection.Response",
}
RENAMED_FIELDS = {"nanos": "nanoseconds"}
# Not for other modules: Status.swift has what they see.
INTERNAL = {"google.rpc.Status"}
# Whose messages are read as those of another package, byte for byte.
SAME_MESSAGES = {"grpc.reflection.v1alpha": "grpc.reflection.v1"}

# Words that Swift writes in capitals, except at the front of a name.
ACRONYMS = {"id", "json", "jwk", "la", "os", "url"}
# Words of Swift, or of C++ where protobuf-c changes a field of that name.
RESERVED = set(
    "alignas alignof and as asm auto bitand bitor bool break case catch char class compl const continue default defer "
    "delete do double else enum explicit export extension extern false fallthrough fileprivate float for friend func goto "
    "guard if import in inline init inout int internal is let long mutable namespace new nil not operator or private "
    "protected protocol public register repeat rethrows return self short signed sizeof static struct subscript super "
    "switch template this throw throws true try typealias typedef typeid typename union unsigned using var virtual void "
    "volatile where while xor".split()
)

# The field that names the application of a request, itself or in a message of the request.
APPLICATION = "application_id"
# What the comment says of a method whose request names no application: who may call it. An option would be a stricter
# form, but each program that generates stubs from these files would need the option's file and descriptor.proto, too.
ACCESS_LINE = "Access: "
ACCESS = {"every peer.": "open", "a grant of the method alone.": "granted"}
# The pre-scan remembers in 64 bits which submessages of a message it has seen.
MAXIMUM_FIELDS = 64

SCALARS = {
    Field.TYPE_STRING: ("String", '""'),
    Field.TYPE_BYTES: ("[UInt8]", "[]"),
    Field.TYPE_BOOL: ("Bool", "false"),
    Field.TYPE_INT32: ("Int32", "0"),
    Field.TYPE_INT64: ("Int64", "0"),
    Field.TYPE_UINT32: ("UInt32", "0"),
    Field.TYPE_UINT64: ("UInt64", "0"),
}
IDEMPOTENCY = {
    MethodOptions.IDEMPOTENCY_UNKNOWN: "unknown",
    MethodOptions.NO_SIDE_EFFECTS: "noSideEffects",
    MethodOptions.IDEMPOTENT: "idempotent",
}


class Refusal(Exception):
    """The .proto files have something that the codec does not carry."""


# --- names ---


def words(name):
    """Of either spelling: "biometry_type", "BiometryType"."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|\d+", name)


def type_name(name):
    return "".join(word.upper() if word.lower() in ACRONYMS else word[0].upper() + word[1:] for word in words(name))


def member_name(name):
    """Of a field, a value of an enumeration, or a method."""
    first, *rest = [word.lower() for word in words(RENAMED_FIELDS.get(name, name))]
    member = first + type_name("_".join(rest))
    if member in RESERVED:
        raise Refusal(f"{name}: a word of Swift or C++; choose another one")
    return member


def c_lower(name):
    """As protobuf-c writes a message's name in functions: an underscore before each run of capitals."""
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", name).lower()


def c_path(full_name, spelling):
    return "__".join(spelling(piece) for piece in full_name.split("."))


def c_struct(full_name):
    return c_path(full_name, lambda piece: piece[0].upper() + piece[1:])


# --- the schema ---


class Declaration:
    """A message, an enumeration, a service or a method, with its comment and where it stands."""

    def __init__(self, schema, file, scope, path, proto):
        self.schema, self.file, self.scope, self.path, self.proto = schema, file, scope, path, proto
        self.full_name = f"{scope}.{proto.name}"
        self.is_message = isinstance(proto, descriptor_pb2.DescriptorProto)

    def comment(self, *path):
        """Of the declaration itself, or of what stands at `path` within it."""
        return self.schema.comment(self.file, self.path + path)

    @property
    def swift(self):
        """With its namespace: "V1.Denial"."""
        if renamed := RENAMED_MESSAGES.get(self.full_name):
            return renamed
        outer = self.schema.types.get(self.scope)
        return f"{outer.swift if outer else namespace(self.scope)}.{type_name(self.proto.name)}"

    def swift_within(self, scope):
        """As short as it can be within another declaration."""
        while scope:
            if self.swift.startswith(f"{scope}."):
                return self.swift.removeprefix(f"{scope}.")
            scope = scope.rpartition(".")[0]
        return self.swift

    @property
    def access(self):
        return "" if self.full_name in INTERNAL or self.is_text_entry else "public "

    @property
    def is_text_entry(self):
        """Of a map of texts, which is a dictionary in Swift. Other maps are lists of their entries, as on the wire."""
        return self.proto.options.map_entry and all(field.type == Field.TYPE_STRING for field in self.proto.field)


def namespace(package):
    return NAMESPACES.get(package) or type_name(package.replace(".", "_"))


class Schema:
    def __init__(self, descriptors, protos):
        self.protos = protos
        self.files = [file for file in descriptors.file if file.package not in SAME_MESSAGES]
        self.types = {}
        self.services = []
        self.comments = {
            file.name: {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
            for file in descriptors.file
        }
        for file in descriptors.file:
            for index, service in enumerate(file.service):
                self.services.append(Declaration(self, file, file.package, (6, index), service))
        for file in self.files:
            self.collect(file, file.package, file.enum_type, file.message_type, (5,), (4,))
        self.messages = [one for one in self.types.values() if one.is_message]
        self.field_names = {field.name for message in self.messages for field in message.proto.field}
        for message in self.messages:
            check(message)

    def collect(self, file, scope, enums, messages, enum_path, message_path):
        for path, protos in (enum_path, enums), (message_path, messages):
            for index, proto in enumerate(protos):
                one = Declaration(self, file, scope, (*path, index), proto)
                self.types[one.full_name] = one
                if one.is_message:
                    inner = (*one.path, 4), (*one.path, 3)
                    self.collect(file, one.full_name, proto.enum_type, proto.nested_type, *inner)

    def comment(self, file, path):
        lines = [line.removeprefix(" ").rstrip() for line in self.comments[file.name].get(path, "").splitlines()]
        if file.name not in self.protos and "" in lines:
            # Other people's go on for pages.
            lines = lines[: lines.index("")]
        return lines

    def type(self, name):
        """By the name that a field or a method has it by: ".touchstone.v1.Denial"."""
        package, _, last = name[1:].rpartition(".")
        return self.types[f"{SAME_MESSAGES.get(package, package)}.{last}"]


def check(message):
    """Refuses what protobuf-c 1.4, the pre-scan or Swift does not carry."""
    name = message.full_name
    if message.file.syntax != "proto3":
        raise Refusal(f"{message.file.name}: only proto3")
    if len(message.proto.field) >= MAXIMUM_FIELDS:
        raise Refusal(f"{name}: {MAXIMUM_FIELDS} fields or more")
    for field in message.proto.field:
        if field.proto3_optional:
            raise Refusal(f"{name}.{field.name}: optional; put the value in a message of its own")
        if field.type not in SCALARS and field.type not in (Field.TYPE_ENUM, Field.TYPE_MESSAGE):
            raise Refusal(f"{name}.{field.name}: fixed-width, zigzag or floating-point")
        if field.label == Field.LABEL_REPEATED and (field.type == Field.TYPE_BOOL or is_signed(message.schema, field)):
            raise Refusal(f"{name}.{field.name}: a list of booleans, or of an enumeration with negative values")
        if field.HasField("oneof_index") and field.type not in (Field.TYPE_STRING, Field.TYPE_MESSAGE):
            raise Refusal(f"{name}.{field.name}: a oneof holds texts and messages alone")
    top_level = {type.swift for type in message.schema.types.values()}
    for inner in [*message.proto.nested_type, *message.proto.enum_type, *message.proto.oneof_decl]:
        if f"{message.swift.split('.')[0]}.{type_name(inner.name)}" in top_level:
            raise Refusal(f"{name}.{inner.name}: has the name of a type beside {name}")
    if contains(message, message, set()):
        raise Refusal(f"{name}: contains itself")


def is_signed(schema, field):
    return field.type == Field.TYPE_ENUM and any(
        value.number < 0 for value in schema.type(field.type_name).proto.value)


def contains(message, wanted, seen):
    for field in message.proto.field:
        if field.type != Field.TYPE_MESSAGE or field.type_name in seen:
            continue
        seen.add(field.type_name)
        inner = message.schema.type(field.type_name)
        if inner is wanted or contains(inner, wanted, seen):
            return True
    return False


# --- messages ---


class Property:
    """A field of a message as Swift has it, and the call that maps it."""

    def __init__(self, message, index):
        schema, field = message.schema, message.proto.field[index]
        self.name, self.doc = member_name(field.name), documented(message, 2, index)
        value, self.default = SCALARS.get(field.type, (None, None))
        if value is None:
            type = schema.type(field.type_name)
            value = type.swift_within(message.swift)
            self.default = "nil" if type.is_message else ".unspecified"
        c = field.name.lower()
        self.type = f"{value}?" if self.default == "nil" else value
        self.mapping = f"field(&value.{self.name}, &c.{c})"
        if field.label == Field.LABEL_REPEATED:
            is_map = field.type == Field.TYPE_MESSAGE and type.is_text_entry
            self.type, self.default = ("[String: String]", "[:]") if is_map else (f"[{value}]", "[]")
            entry = f"as: {type.swift}.self, " if is_map else ""
            self.mapping = f"repeated(&value.{self.name}, {entry}&c.{c}, &c.n_{c})"


class OneOf:
    """A property, too: all the fields of a oneof, as an enumeration."""

    def __init__(self, message, index):
        proto = message.proto.oneof_decl[index]
        self.name, self.doc = member_name(proto.name), documented(message, 8, index)
        self.swift = type_name(proto.name)
        self.type, self.default = f"{self.swift}?", "nil"
        self.mapping = f"oneOf(&value.{self.name}, &c)"
        self.c_case = f"{proto.name.lower()}_case"
        self.cases = []
        for place, field in enumerate(message.proto.field):
            if field.HasField("oneof_index") and field.oneof_index == index:
                is_text = field.type == Field.TYPE_STRING
                type = None if is_text else message.schema.type(field.type_name)
                constant = c_path(message.full_name, c_lower).upper() + f"__{proto.name}_{field.name}".upper()
                self.cases.append((member_name(field.name), type, documented(message, 2, place), constant, field.name))


def properties(message):
    """In the order of the .proto file; a oneof stands where its first field does."""
    found = {}
    for index, field in enumerate(message.proto.field):
        if not field.HasField("oneof_index"):
            found[field.name] = Property(message, index)
        elif ("oneof", field.oneof_index) not in found:
            found["oneof", field.oneof_index] = OneOf(message, field.oneof_index)
    return list(found.values())


def documented(declaration, *path):
    """The comment, with fields by their Swift names."""

    def translated(match):
        pieces = match[0].split(".")
        if not all(piece in declaration.schema.field_names for piece in pieces):
            return match[0]
        return f"`{'.'.join(member_name(piece) for piece in pieces)}`"

    field = r'(?<![\w."`-])(?=[a-z.]*_)[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*(?![\w"`(])'
    return [re.sub(field, translated, line) for line in declaration.comment(*path)]


def doc(lines):
    return [f"/// {line}".rstrip() for line in lines]


def nested(lines):
    return [f"  {line}" if line else "" for line in lines]


def spaced(blocks):
    """One after the other, with an empty line between."""
    lines = []
    for block in blocks:
        lines += ([""] if lines else []) + block
    return lines


def message_value(message, role):
    """`role` stands for the comment of a message that has none."""
    access, members = message.access, properties(message)
    inner = [one for one in message.schema.types.values() if one.scope == message.full_name]
    blocks = [message_value(one, []) if one.is_message else enum_value(one) for one in inner]
    blocks += [one_of_value(message, member) for member in members if isinstance(member, OneOf)]
    if members:
        blocks.append([line for member in members for line in property_value(access, member)])
    parameters = ", ".join(f"{member.name}: {member.type} = {member.default}" for member in members)
    assignments = [f"  self.{member.name} = {member.name}" for member in members]
    blocks.append(
        [f"{access}init({parameters}) {{", *assignments, "}"] if members else [f"{access}init() {{}}"])
    protocol = "MapEntry" if message.is_text_entry else "WireMessage"
    name = message.swift.rpartition(".")[2]
    return [
        *doc(documented(message) or role), f"{access}struct {name}: {protocol} {{", *nested(spaced(blocks)), "}",
    ]


def property_value(access, member):
    # A oneof's comment stands at its type.
    lines = [] if isinstance(member, OneOf) else doc(member.doc)
    return [*lines, f"{access}var {member.name}: {member.type}"]


def one_of_value(message, one_of):
    lines = [*doc(one_of.doc), f"{message.access}enum {one_of.swift}: Hashable, Sendable {{"]
    for name, type, comment, _, _ in one_of.cases:
        value = type.swift_within(message.swift) if type else "String"
        lines += nested([*doc(comment), f"case {name}({value})"])
    return [*lines, "}"]


def enum_value(enum):
    """Zero is `unspecified`, which every enumeration has."""
    prefix = "_".join(words(enum.proto.name)).upper() + "_"
    values = [
        [
            *doc(documented(enum, 2, index)),
            f"public static let {member_name(value.name.removeprefix(prefix))} = Self(rawValue: {value.number})",
        ]
        for index, value in enumerate(enum.proto.value)
        if value.number != 0
    ]
    body = spaced([
        ["public let rawValue: Int32"],
        ["public init(rawValue: Int32) {", "  self.rawValue = rawValue", "}"],
        [line for value in values for line in value],
    ])
    name = enum.swift.rpartition(".")[2]
    return [*doc(documented(enum)), f"public struct {name}: OpenEnum {{", *nested(body), "}"]


def message_mapping(message):
    c, members = c_struct(message.full_name), properties(message)
    map = "static func map<Mapper: FieldMapper>(_ value: inout Self, _ c: inout CMessage, _ mapper: inout Mapper)"
    body = spaced([
        ["static var empty: Self { Self() }"],
        [
            f"static func initialize(_ c: UnsafeMutablePointer<{c}>) {{",
            f"  {c_path(message.full_name, c_lower)}__init(c)", "}",
        ],
        [f"{map} {{", *[f"  mapper.{member.mapping}" for member in members], "}"] if members else [f"{map} {{}}"],
    ])
    # A map's entry is a `MapEntry`, which says that it is mapped.
    conformance = "" if message.is_text_entry else ": MappedMessage"
    mapping = [f"extension {message.swift}{conformance} {{", *nested(body), "}"]
    one_ofs = [one_of_mapping(message, c, member) for member in members if isinstance(member, OneOf)]
    return spaced([mapping, *one_ofs])


def one_of_mapping(message, c, one_of):
    reading, writing = [], []
    for name, type, _, constant, field in one_of.cases:
        value = f"{type.swift}(c.{field.lower()})" if type else f"FieldReader.text(c.{field.lower()})"
        reading += [f"case {constant}:", f"  self = .{name}({value})"]
        writer = "cMessage" if type else "cString"
        writing += [
            f"case .{name}(let value):", f"  c.{one_of.c_case} = {constant}",
            f"  c.{field.lower()} = writer.{writer}(value)",
        ]
    body = spaced([
        [f"init?(_ c: {c}) {{", f"  switch c.{one_of.c_case} {{", *nested(reading), "  default: return nil", "  }", "}"],
        [
            f"func write(to c: inout {c}, _ writer: inout FieldWriter) {{", "  switch self {", *nested(writing), "  }",
            "}",
        ],
    ])
    return [f"extension {message.swift}.{one_of.swift}: OneOf {{", *nested(body), "}"]


# --- methods ---


def service_value(schema, service):
    comment, scope = service.comment() or schema.comment(service.file, (12,)), namespace(service.scope)
    body, names = [], []
    for index, method in enumerate(service.proto.method):
        request = schema.type(method.input_type).swift_within(scope)
        response = schema.type(method.output_type).swift_within(scope)
        name = member_name(method.name)
        kind = {
            (False, False): "unary", (False, True): "serverStreaming", (True, False): "clientStreaming",
            (True, True): "bidirectional",
        }[method.client_streaming, method.server_streaming]
        body.append([
            *doc(service.comment(2, index)),
            f"package static let {name} = WireMethod<{request}, {response}>("
            f'path: "/{service.full_name}/{method.name}", kind: .{kind}, '
            f"idempotency: .{IDEMPOTENCY[method.options.idempotency_level]}{access(schema, service, index)}",
        ])
        names.append((f"{scope}.{service.proto.name}.{name}", kind))
    value = [*doc(comment), f"package enum {service.proto.name} {{", *nested(spaced(body)), "}"]
    return [f"extension {scope} {{", *nested(value), "}"], names


def application_fields(message, *outer):
    """The path of each field of a message that names an application, in lists and at any depth."""
    for field in message.proto.field:
        path = (*outer, field)
        if field.name == APPLICATION:
            yield path
        elif field.type == Field.TYPE_MESSAGE:
            yield from application_fields(message.schema.type(field.type_name), *path)


def application_field(request):
    """The path of the field that names the request's application; None if there is none."""
    paths = [*application_fields(request)]
    names = [".".join(field.name for field in path) for path in paths]
    if len(paths) > 1:
        raise Refusal(f"{request.full_name}: which of {names} names the application?")
    for path, name in zip(paths, names, strict=True):
        if len(path) > 2 or any(field.label == Field.LABEL_REPEATED for field in path):
            raise Refusal(f"{request.full_name}: no grant is compared with {name}; name the application in the request")
        return [field.name for field in path]
    return None


def access(schema, service, index):
    """The end of a method's declaration, which says who may call it."""
    method = service.proto.method[index]
    name = f"{service.full_name}.{method.name}"
    path = application_field(schema.type(method.input_type))
    words = [line.removeprefix(ACCESS_LINE) for line in service.comment(2, index) if line.startswith(ACCESS_LINE)]
    if path is None:
        if len(words) != 1 or words[0] not in ACCESS:
            raise Refusal(f'{name}: name the application in the request, or say "{ACCESS_LINE}" and one of {[*ACCESS]}')
        return f", access: .{ACCESS[words[0]]})"
    if words:
        raise Refusal(f"{name}: the request names an application, and so does each grant: no {ACCESS_LINE}{words[0]}")
    *outer, field = map(member_name, path)
    return ") { $0." + (f'{outer[0]}?.{field} ?? ""' if outer else field) + " }"


def requests(schema):
    """What to say of the messages that methods take and answer with, where their comments do not; by their full names."""
    roles = {}
    for service in schema.services:
        for method in service.proto.method:
            request, response = schema.type(method.input_type), schema.type(method.output_type)
            roles.setdefault(request.full_name, [f"Asks `{service.proto.name}.{method.name}`."])
            roles.setdefault(response.full_name, [f"Answers ``{request.swift.rpartition('.')[2]}``."])
    return roles


# --- files ---


def header(source):
    return [f'// Generated by "make protos" from {source}. Do not edit.']


def messages_file(schema, file):
    roles = requests(schema)
    namespaces = {}
    for one in schema.types.values():
        if one.file is file and one.scope == file.package:
            value = message_value(one, roles.get(one.full_name, [])) if one.is_message else enum_value(one)
            namespaces.setdefault(one.swift.split(".")[0], []).append(value)
    blocks = [[f"extension {name} {{", *nested(spaced(values)), "}"] for name, values in namespaces.items()]
    return spaced([header(file.name), *blocks])


def mapping_file(schema, file):
    blocks = [message_mapping(message) for message in schema.messages if message.file is file]
    return spaced([header(file.name), ["internal import CTouchstoneProto"], *blocks])


def methods_file(schema):
    services, names = [], []
    for service in schema.services:
        value, methods = service_value(schema, service)
        services.append(value)
        names += methods
    every = [
        "extension MethodDescriptor {", "  /// In the order of the .proto files.",
        "  package static let all: [MethodDescriptor] = [", *[f"    {name}.descriptor," for name, _ in names], "  ]", "}",
    ]
    unary = [f"    JSONMethod({name})," for name, kind in names if kind == "unary"]
    json = [
        "extension JSONMethod {", "  /// Every unary method.", "  package static let all: [JSONMethod] = [", *unary, "  ]",
        "}",
    ]
    return spaced([header("the services of Protos"), *services, every, json])


def types_file(schema):
    packages = {}
    for file in schema.files:
        if file.name in schema.protos:
            packages.setdefault(namespace(file.package), file.package)
    for service in schema.services:
        packages.setdefault(namespace(service.scope), service.scope)
    spaces = [
        [f"/// Namespace of {package}.", f"public enum {name} {{}}"] for name, package in sorted(packages.items())
    ]
    names = [message.swift for message in schema.messages if not message.is_text_entry]
    every = [
        "/// Every message type, for tests that hold for all of them.", "package enum MessageTypes {",
        "  package static let all: [any WireMessage.Type] = [", *[f"    {name}.self," for name in names], "  ]", "}",
    ]
    return spaced([header("all of Protos"), *spaces, every])


def generate(descriptors, protos):
    """The files by their paths.

    - protos: the names of those files that are this project's own.
    """
    schema = Schema(descriptors, set(protos))
    files = {"MessageTypes.swift": types_file(schema), "Methods.swift": methods_file(schema)}
    for file in schema.files:
        if file.message_type or file.enum_type:
            name = Path(file.name).stem
            if f"Messages/{name}.pb.swift" in files:
                raise Refusal(f"{file.name}: a Swift module has one file of each name")
            files[f"Messages/{name}.pb.swift"] = messages_file(schema, file)
            if file.message_type:
                files[f"Mapping/{name}.mapping.swift"] = mapping_file(schema, file)
    return {path: "\n".join(lines) + "\n" for path, lines in files.items()}


def main(descriptors, directory, *protos):
    try:
        files = generate(descriptor_pb2.FileDescriptorSet.FromString(Path(descriptors).read_bytes()), protos)
    except Refusal as refusal:
        sys.exit(f"generate_swift.py: {refusal}")
    for path, text in files.items():
        target = Path(directory) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
