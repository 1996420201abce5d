"""gRPC errors as a caller reads them: status code, and google.rpc details by the stock grpcio-status."""

import contextlib
import re

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@contextlib.contextmanager
def refused(code, *, field=None, reason=None):
    """The block must end in a call that is refused like this."""
    with pytest.raises(grpc.RpcError) as raised:
        yield
    check_refusal(raised.value, code, field=field, reason=reason)


@contextlib.contextmanager
def noted(row):
    """Names the row of a table in which the block fails."""
    try:
        yield
    except (Exception, pytest.fail.Exception) as failure:
        failure.add_note(row)
        raise


def check_refusal(error, code, *, field=None, reason=None):
    """`field`: BadRequest names it, by its path. `reason`: ErrorInfo gives it."""
    assert error.code() == code, error.details()
    if field is not None:
        assert without_indices(field) in map(without_indices, violated_fields(error)), error.details()
    if reason is not None:
        info = detail(error, error_details_pb2.ErrorInfo)
        assert (info.domain, info.reason) == ("touchstone", reason)


def violated_fields(error):
    """The fields that BadRequest names; each with a description."""
    violations = detail(error, error_details_pb2.BadRequest).field_violations
    assert all(violation.description for violation in violations)
    return [violation.field for violation in violations]


def detail(error, kind):
    """The one detail of that kind. The status in it must be the call's own."""
    status = rpc_status.from_call(error)
    assert status is not None, f"no details: {error.details()}"
    found = [any_message for any_message in status.details if any_message.Is(kind.DESCRIPTOR)]
    assert len(found) == 1, status
    message = kind()
    found[0].Unpack(message)
    return message


def without_indices(path):
    """`keys[0].signature` as `keys.signature`: bytes that cannot be decoded have no elements to count."""
    return re.sub(r"\[\d+\]", "", path)
