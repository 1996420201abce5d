"""A gRPC service that is none of ours, with Python's grpcio: its types, and a server with reflection."""

import contextlib
import threading
from concurrent import futures
from pathlib import Path

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha import reflection
from grpc_tools import protoc

PROTO = """
syntax = "proto3";
package peer.v1;

import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/any.proto";

enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; COLOR_DARK = -3; }

message Everything {
  double a_double = 1; float a_float = 2; int32 an_int32 = 3; int64 an_int64 = 4; uint32 a_uint32 = 5;
  uint64 a_uint64 = 6; sint32 a_sint32 = 7; sint64 a_sint64 = 8; fixed32 a_fixed32 = 9; fixed64 a_fixed64 = 10;
  sfixed32 a_sfixed32 = 11; sfixed64 a_sfixed64 = 12; bool a_bool = 13; string a_string = 14; bytes some_bytes = 15;
  Color color = 16;
  message Nested { string name = 1; Everything inner = 2; repeated Nested others = 3; }
  Nested nested = 17;
  repeated int32 numbers = 18; repeated string names = 19; repeated Nested many = 20; repeated Color colors = 21;
  repeated sint64 unpacked = 22 [packed = false]; repeated double doubles = 23; repeated bool flags = 24;
  map<string, int32> counts = 30; map<int32, Nested> by_number = 31; map<bool, string> by_flag = 32;
  map<uint64, Color> by_large = 33;
  oneof choice { string text = 40; int64 number = 41; Nested message = 42; }
  optional int32 maybe = 43; optional string perhaps = 44;
  google.protobuf.Timestamp time = 50; google.protobuf.Duration span = 51; google.protobuf.FieldMask mask = 52;
  google.protobuf.Struct structure = 53; google.protobuf.Value value = 54; google.protobuf.ListValue list = 55;
  google.protobuf.Int64Value wrapped = 56; google.protobuf.StringValue wrapped_text = 57;
  google.protobuf.BoolValue wrapped_flag = 58; google.protobuf.BytesValue wrapped_bytes = 59;
  google.protobuf.DoubleValue wrapped_double = 60; repeated google.protobuf.Timestamp times = 61;
  google.protobuf.Any any = 62; google.protobuf.NullValue nothing = 63;
  int32 named_otherwise = 70 [json_name = "other"];
}

message Answer { string text = 1; }

service Peer {
  rpc Take(Everything) returns (Answer);
  rpc Stream(stream Everything) returns (Answer);
}
"""

SERVICE = "peer.v1.Peer"
TAKE = f"{SERVICE}/Take"


class Types:
    """The messages of a .proto file, and its descriptor set."""

    def __init__(self, directory, text=PROTO):
        directory = Path(directory)
        (directory / "peer.proto").write_text(text)
        self.file = directory / "peer.set"
        options = ["--include_imports", f"--descriptor_set_out={self.file}", f"--proto_path={directory}"]
        include = Path(protoc.__file__).parent / "_proto"
        assert protoc.main(["protoc", *options, f"--proto_path={include}", "peer.proto"]) == 0
        self.pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(self.file.read_bytes()).file:
            self.pool.Add(file)
        self.everything = self._class("peer.v1.Everything")
        self.answer = self._class("peer.v1.Answer")

    def _class(self, name):
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))

    def message(self, value):
        """From a JSON value, as Python's protobuf reads it."""
        return json_format.ParseDict(value, self.everything(), descriptor_pool=self.pool)


class Peer:
    """Remembers what it was sent last: the message and the metadata."""

    def __init__(self, types):
        self._types = types
        self._lock = threading.Lock()
        self.count = 0
        self.message = None
        self.metadata = {}
        self.status = None

    def take(self, request, context):
        with self._lock:
            self.count += 1
            self.message = request
            self.metadata = dict(context.invocation_metadata())
        if self.status is not None:
            context.abort(self.status, "refused")
        return self._types.answer(text="taken")

    def handlers(self):
        method = grpc.unary_unary_rpc_method_handler(
            self.take,
            request_deserializer=self._types.everything.FromString,
            response_serializer=self._types.answer.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Take": method})


@contextlib.contextmanager
def serving(types, *, reflects=True, credentials=None):
    """The peer and its address."""
    server = grpc.server(futures.ThreadPoolExecutor(4))
    peer = Peer(types)
    server.add_generic_rpc_handlers([peer.handlers()])
    if reflects:
        reflection.enable_server_reflection([SERVICE, reflection.SERVICE_NAME], server, pool=types.pool)
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield peer, f"127.0.0.1:{port}"
    finally:
        server.stop(grace=None).wait()
