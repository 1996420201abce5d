"""Protos/generate_node.py: the tables, types and methods of the Node client."""

import pytest
from test_generator import compiled, generator

import generate_node

API = """syntax = "proto3"; package touchstone.v1;
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
enum Colour { COLOUR_UNSPECIFIED = 0; COLOUR_RED = 1; }
message Door {
  // Its name */ in the house.
  string door_id = 1;
  oneof lock { string key_name = 2; Bolt bolt = 3; }
  map<string, string> labels = 4;
  repeated Colour colours = 5;
  google.protobuf.Timestamp opened_at = 6;
  message Bolt { uint64 turns = 1; google.protobuf.Duration delay = 2; }
}
message OpenRequest { string application_id = 1; Door door = 2; }
message OpenResponse { Door door = 1; }
service DoorService {
  // Opens door_id.
  rpc OpenTheDoor(OpenRequest) returns (OpenResponse) { option idempotency_level = IDEMPOTENT; }
  // Access: a grant of the method alone.
  rpc WatchDoor(Door) returns (stream OpenResponse);
}
"""


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "doors.proto").write_text(API)
    return generator.Schema(compiled(tmp_path, tmp_path, "doors.proto"), {"doors.proto"})


def test_a_table_has_each_fields_number_name_and_kind(schema):
    text = "\n".join(generate_node.messages_js(schema))
    for row in (
        '{ number: 1, name: "doorId", kind: "string" },',
        '{ number: 2, name: "keyName", kind: "string", oneOf: "lock" },',
        '{ number: 3, name: "bolt", kind: "message", type: exports.DoorBolt, oneOf: "lock" },',
        '{ number: 4, name: "labels", kind: "string", isMap: true },',
        '{ number: 5, name: "colours", kind: "enum", type: exports.Colour, isRepeated: true },',
        '{ number: 6, name: "openedAt", kind: "timestamp" },',
        '{ number: 2, name: "delay", kind: "duration" },',
        "COLOUR_RED: 1,",
    ):
        assert row in text
    assert "LabelsEntry" not in text


def test_what_is_sent_may_leave_fields_out_and_what_is_received_has_them(schema):
    text = "\n".join(generate_node.messages_d_ts(schema))
    sent = text.split("export interface DoorInit {")[1].split("}\n")[0]
    received = text.split("export interface Door {")[1].split("}\n")[0]
    assert "  doorId?: string;" in sent and "  doorId: string;" in received
    assert "  bolt?: DoorBoltInit;" in sent and "  bolt?: DoorBolt;" in received
    assert "  labels: { [key: string]: string };" in received and "  colours: Array<Colour>;" in received
    assert "  openedAt?: Date;" in received and "  turns?: bigint | number;" in text and "  turns: bigint;" in text
    assert "  /** Its name * / in the house. */" in received
    assert '  | "COLOUR_RED"' in text


def test_methods_know_their_messages_and_what_may_happen_twice(schema):
    text = "\n".join(generate_node.methods_js(schema))
    opening, watching = text.split("  {")[1:3]
    assert 'name: "openTheDoor", path: "/touchstone.v1.DoorService/OpenTheDoor"' in opening
    assert "isStream: false, mayRepeat: true" in opening and 'application: ["applicationId"]' in opening
    assert "isStream: true, mayRepeat: false" in watching and "application: []" in watching
    types = "\n".join(generate_node.methods_d_ts(schema))
    assert "  openTheDoor(request?: messages.OpenRequest, options?: CallOptions): Promise<messages.OpenResponse>;" in types
    assert "  watchDoor(request?: messages.DoorInit, options?: CallOptions): Stream<messages.OpenResponse>;" in types
