"""Server reflection by strangers: buf, which knows no .proto files, and the stock grpcio-reflection."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from support.stubs import METHODS

BUF = Path(sys.executable).with_name("buf")
BUF_SECONDS = 60

OURS = sorted({method.containing_service.full_name for method in METHODS.values()})
SERVICES = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    *OURS,
]


def buf_curl(server, *arguments):
    return subprocess.run(
        [BUF, "curl", "--protocol", "grpc", "--http2-prior-knowledge", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BUF_SECONDS,
        check=False,
    )


def test_buf_lists_every_method(server):
    done = buf_curl(server, "--list-methods", f"http://{server.address}")
    assert done.returncode == 0, done.stderr
    listed = set(done.stdout.split())
    assert {f"{method.containing_service.full_name}/{method.name}" for method in METHODS.values()} <= listed
    assert {"grpc.health.v1.Health/Check", "grpc.health.v1.Health/List"} <= listed


def test_buf_calls_without_protos(server):
    done = buf_curl(server, f"http://{server.address}/touchstone.v1.TokenService/GetSigningKeys")
    assert done.returncode == 0, done.stderr
    assert json.loads(json.loads(done.stdout)["jwkSet"])["keys"]


def test_buf_reads_and_writes_every_kind_of_field(server, caller, phone):
    begin = {
        "applicationId": caller.application_id,
        "policy": "login",
        "bindingId": phone.binding.binding_id,
        "localizedReason": "Log in",
        "posture": {"platform": "ios", "osVersion": "17.4", "biometryType": "BIOMETRY_TYPE_TOUCH_ID"},
    }
    done = buf_curl(
        server, "--data", json.dumps(begin), f"http://{server.address}/touchstone.v1.EvaluationService/BeginEvaluation"
    )
    assert done.returncode == 0, done.stderr
    denial = json.loads(done.stdout)["denial"]
    assert denial["laError"].startswith("LA_ERROR_")


def test_buf_decodes_the_details_of_an_error(server):
    done = buf_curl(
        server, "--data", "{}", f"http://{server.address}/touchstone.v1.TokenService/ConsumeToken"
    )
    assert done.returncode != 0
    error = json.loads(done.stderr)
    assert error["code"] == "invalid_argument"
    assert "google.rpc.BadRequest" in {detail["type"] for detail in error["details"]}


def test_a_stock_pool_finds_everything_by_name(server):
    database = ProtoReflectionDescriptorDatabase(server.channel())
    assert sorted(database.get_services()) == SERVICES
    pool = DescriptorPool(database)
    for method in METHODS.values():
        found = pool.FindServiceByName(method.containing_service.full_name).FindMethodByName(method.name)
        assert found.input_type.full_name == method.input_type.full_name
        assert found.output_type.full_name == method.output_type.full_name
    found = pool.FindMessageTypeByName("touchstone.v1.Event")
    event = GetMessageClass(found)(kind="a.b", sequence=7)
    assert GetMessageClass(found).FromString(event.SerializeToString()).sequence == 7
    with pytest.raises(KeyError):
        pool.FindMessageTypeByName("touchstone.v1.Nothing")
    with pytest.raises(KeyError):
        database.FindFileByName("nothing.proto")


def test_the_protocols_are_those_of_the_stock_packages(server):
    """Packages, messages, fields, names and numbers."""
    from grpc_health.v1 import health_pb2

    pool = DescriptorPool(ProtoReflectionDescriptorDatabase(server.channel()))
    for stock in (health_pb2.DESCRIPTOR, reflection_pb2.DESCRIPTOR):
        for service in stock.services_by_name.values():
            ours = pool.FindServiceByName(service.full_name)
            for method in service.methods:
                assert shape_of_method(ours.methods_by_name[method.name]) == shape_of_method(method)
        for message in stock.message_types_by_name.values():
            assert shape(pool.FindMessageTypeByName(message.full_name)) == shape(message)
    v1 = pool.FindServiceByName("grpc.reflection.v1.ServerReflection").methods[0]
    alpha = pool.FindServiceByName("grpc.reflection.v1alpha.ServerReflection").methods[0]
    assert shape(v1.input_type) == shape(alpha.input_type)
    assert shape(v1.output_type) == shape(alpha.output_type)


def shape_of_method(method):
    return method.name, method.input_type.name, method.output_type.name, method.client_streaming, method.server_streaming


def shape(message):
    return {
        field.number: (
            field.name,
            field.type,
            field.is_repeated,
            field.containing_oneof and field.containing_oneof.name,
            field.message_type and field.message_type.name,
            field.enum_type and [(value.name, value.number) for value in field.enum_type.values],
        )
        for field in message.fields
    }
