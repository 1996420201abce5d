"""Protos/generate_swift.py: what it makes of an example, and what it refuses. `ACCEPT=1` takes what it makes for right."""

import os
import sys
from pathlib import Path

import grpc_tools
import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "Protos"))

import generate_swift as generator  # noqa: E402


def compiled(directory, out, *names):
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    status = protoc.main([
        "protoc", f"-I{directory}", f"-I{well_known}", "--include_imports", "--include_source_info",
        f"--descriptor_set_out={out / 'descriptors'}", *names,
    ])
    assert status == 0
    return descriptor_pb2.FileDescriptorSet.FromString((out / "descriptors").read_bytes())


def generated(tmp_path, text):
    (tmp_path / "a.proto").write_text('syntax = "proto3"; package a.v1;\n' + text)
    return generator.generate(compiled(tmp_path, tmp_path, "a.proto"), ["a.proto"])


def test_the_example_is_as_expected(tmp_path):
    files = generator.generate(compiled(HERE, tmp_path, "example.proto"), ["example.proto"])
    # The comments of others are those of the protobuf that is installed.
    assert "Example 1" not in files["Messages/timestamp.pb.swift"]
    text = "\n".join(f"==> {path}\n{files[path]}" for path in sorted(files) if "timestamp" not in path)
    expected = HERE / "example.expected"
    if os.environ.get("ACCEPT"):
        expected.write_text(text)
    assert text == expected.read_text()


@pytest.mark.parametrize("name, type_name, member_name", [
    ("biometry_type", "BiometryType", "biometryType"),
    ("device_id", "DeviceID", "deviceID"),
    ("id_of_json", "IDOfJSON", "idOfJSON"),
    ("la_error", "LAError", "laError"),
    ("sha256_hash", "Sha256Hash", "sha256Hash"),
    ("ProfileTouchIdProof", "ProfileTouchIDProof", "profileTouchIDProof"),
    ("GetSigningKeys", "GetSigningKeys", "getSigningKeys"),
])
def test_names(name, type_name, member_name):
    assert generator.type_name(name) == type_name
    assert generator.member_name(name) == member_name


@pytest.mark.parametrize("text, reason", [
    ("message A { optional string b = 1; }", "a.v1.A.b: optional"),
    ("message A { fixed32 b = 1; }", "a.v1.A.b: fixed-width"),
    ("message A { sint64 b = 1; }", "a.v1.A.b: fixed-width"),
    ("message A { double b = 1; }", "a.v1.A.b: fixed-width"),
    ("message A { repeated bool b = 1; }", "a.v1.A.b: a list of booleans"),
    ("message A { repeated B b = 1; } enum B { C = 0; D = -1; }", "a.v1.A.b: a list of booleans, or of an enumeration with"),
    ("message A { oneof b { uint32 c = 1; } }", "a.v1.A.c: a oneof holds texts and messages alone"),
    ("message A { A b = 1; }", "a.v1.A: contains itself"),
    ("message A { repeated B b = 1; } message B { A a = 1; }", "a.v1.A: contains itself"),
    ("message A { map<string, A> b = 1; }", "a.v1.A: contains itself"),
    ("message A { " + " ".join(f"bool b{n} = {n};" for n in range(1, 65)) + "}", "a.v1.A: 64 fields or more"),
    ("message A { B a = 1; oneof b { string c = 2; } } message B {}", "a.v1.A.b: has the name of a type beside"),
    ("message A { string default = 1; }", "default: a word of Swift or C++"),
    ("enum A { A_UNSPECIFIED = 0; A_IN = 1; }", "IN: a word of Swift or C++"),
    (
        "message A { string application_id = 1; } message B { A c = 1; A d = 2; } service S { rpc R(B) returns (A); }",
        r"a.v1.B: which of \['c.application_id', 'd.application_id'\] names the application",
    ),
    (
        "message A { string application_id = 1; } message B { string application_id = 1; repeated A c = 2; } "
        "service S { rpc R(B) returns (A); }",
        r"a.v1.B: which of \['application_id', 'c.application_id'\] names the application",
    ),
    (
        "message A { string application_id = 1; } message B { repeated A c = 1; } "
        "service S {\n// Access: a grant of the method alone.\nrpc R(B) returns (A); }",
        "a.v1.B: no grant is compared with c.application_id; name the application in the request",
    ),
    (
        "message A { string application_id = 1; } message B { A c = 1; } message C { B d = 1; } "
        "service S {\n// Access: a grant of the method alone.\nrpc R(C) returns (A); }",
        "a.v1.C: no grant is compared with d.c.application_id; name the application in the request",
    ),
    ("message A {} service S { rpc R(A) returns (A); }", "a.v1.S.R: name the application in the request, or say"),
    ("message A {} service S {\n// Access: every beer.\nrpc R(A) returns (A); }", "a.v1.S.R: name the application in the request, or"),
    (
        "message A { string application_id = 1; } service S {\n// Access: every peer.\nrpc R(A) returns (A); }",
        "a.v1.S.R: the request names an application, and so does each grant",
    ),
])
def test_what_the_codec_does_not_carry_is_refused(tmp_path, text, reason):
    with pytest.raises(generator.Refusal, match=reason):
        generated(tmp_path, text)


def test_63_fields_are_not_too_many(tmp_path):
    fields = " ".join(f"bool b{number} = {number};" for number in range(1, 64))
    assert "var b63: Bool" in generated(tmp_path, f"message A {{ {fields} }}")["Messages/a.pb.swift"]
