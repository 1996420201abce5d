"""Protos/generate_methods.py: the methods of the clients, and the refusals that the comments promise."""

import pytest
from test_generator import compiled, generator

import generate_methods

API = """syntax = "proto3"; package touchstone.v1; option java_outer_classname = "DoorsProto";
message A { string device_id = 1; }
service DoorService {
  // Opens the door of device_id.
  rpc OpenTheDoor(A) returns (A);
  // NOT_FOUND: <b> */ @x.
  rpc WatchDoor(A) returns (stream A);
}
"""


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "doors.proto").write_text(API)
    return generator.Schema(compiled(tmp_path, tmp_path, "doors.proto"), {"doors.proto"})


def test_the_swift_client_has_the_calls_with_one_answer(schema):
    assert generate_methods.swift_client(schema)[4:] == [
        "extension TouchstoneClient {",
        "  /// Opens the door of `deviceID`.",
        "  public var openTheDoor: UnaryMethod<V1.A, V1.A> { method(V1.DoorService.openTheDoor) }",
        "}",
    ]


def test_the_python_client_has_all(schema):
    lines = generate_methods.python_client(schema)
    assert "from .v1 import doors_pb2 as doors" in lines
    assert lines[-2:] == ["    open_the_door = Method(doors.A, doors.A)", "    watch_door = Watch(doors.A, doors.A)"]


def test_the_java_client_has_all_with_their_comments(schema):
    lines = generate_methods.java_client(schema)
    assert "  static final List<FileDescriptor> FILES = List.of(DoorsProto.getDescriptor());" in lines
    assert "import touchstone.v1.*;" in lines
    assert lines[-15:] == [
        "",
        "  /**",
        "   * Opens the door of device_id.",
        "   */",
        "  public A openTheDoor(A request) {",
        "    return call(DoorServiceGrpc.getOpenTheDoorMethod(), request);",
        "  }",
        "",
        "  /**",
        "   * NOT_FOUND: &lt;b&gt; *&#47; &#64;x.",
        "   */",
        "  public AnswerStream<A> watchDoor(A request) {",
        "    return open(DoorServiceGrpc.getWatchDoorMethod(), request);",
        "  }",
        "}",
    ]


def test_a_refusal_is_promised_by_its_method(schema):
    assert '    "DoorService/WatchDoor NOT_FOUND",' in generate_methods.promises(schema)
    assert not any("OpenTheDoor" in line for line in generate_methods.promises(schema))


@pytest.mark.parametrize(("comment", "promised"), [
    ("INVALID_ARGUMENT: door_id. NOT_FOUND: the door is unknown.", {"NOT_FOUND"}),
    ("FAILED_PRECONDITION: DOOR_LOCKED (by KEY_LOST (twice)), DOOR_OPEN.", {"DOOR_LOCKED", "DOOR_OPEN"}),
    ("FAILED_PRECONDITION: DOOR_LOCKED. RESOURCE_EXHAUSTED, UNAVAILABLE: as WATCH_DOOR.", {"DOOR_LOCKED"}),
    ("Returns DOOR_LOCKED. An unknown door is NOT_FOUND, too.", {"NOT_FOUND"}),
    ("OUT_OF_RANGE: EVENTS_ARCHIVED.", set()),
])
def test_the_reasons_of_a_comment(comment, promised):
    assert set(generate_methods.reasons([comment])) == promised
