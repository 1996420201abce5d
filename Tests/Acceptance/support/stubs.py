"""Stubs made from Protos/ by stock grpcio-tools, anew for every run, in a directory that goes with it."""

import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

PROTOS = Path(__file__).parents[3] / "Protos"

_directory = tempfile.TemporaryDirectory(prefix="touchstone-stubs-")


def _generate(target):
    sources = sorted(str(path) for path in (PROTOS / "touchstone").rglob("*.proto"))
    well_known = resources.files("grpc_tools") / "_proto"
    arguments = [f"--proto_path={PROTOS}", f"--proto_path={well_known}"]
    arguments += [f"--python_out={target}", f"--grpc_python_out={target}"]
    if protoc.main(["protoc", *arguments, *sources]) != 0:
        raise RuntimeError("protoc does not take the protos")


_generate(_directory.name)
sys.path.insert(0, _directory.name)

#: Where they are, for a program of its own.
DIRECTORY = _directory.name

from touchstone.v1 import (  # noqa: E402
    administration_pb2,
    administration_pb2_grpc,
    bindings_pb2,
    bindings_pb2_grpc,
    evaluation_pb2,
    evaluation_pb2_grpc,
    secrets_pb2,
    secrets_pb2_grpc,
    tokens_pb2,
    tokens_pb2_grpc,
    types_pb2,
)

__all__ = [
    "DIRECTORY",
    "METHODS",
    "PROTOS",
    "administration_pb2",
    "administration_pb2_grpc",
    "bindings_pb2",
    "bindings_pb2_grpc",
    "evaluation_pb2",
    "evaluation_pb2_grpc",
    "secrets_pb2",
    "secrets_pb2_grpc",
    "tokens_pb2",
    "tokens_pb2_grpc",
    "types_pb2",
]

#: Every method of every service by its name, which is unique: "BeginBinding" and so on.
METHODS = {
    method.name: method
    for module in (bindings_pb2, evaluation_pb2, tokens_pb2, secrets_pb2, administration_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
