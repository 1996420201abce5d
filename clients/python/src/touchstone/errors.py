"""Why a call failed. A policy's decision is never an error: the answer carries it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

_DETAILS = "grpc-status-details-bin"
_KINDS: tuple[Any, ...] = (
    error_details_pb2.ErrorInfo,
    error_details_pb2.BadRequest,
    error_details_pb2.RetryInfo,
    error_details_pb2.QuotaFailure,
    error_details_pb2.LocalizedMessage,
)


class Error(Exception):
    """A call without an answer: the service refused it, or the call did not reach it."""

    #: grpc.StatusCode.
    code: Any
    #: English, for developers.
    message: str
    #: The cause, for a program: upper snake case, never changed; empty if the service gave none (ErrorInfo).
    reason: str
    #: What the reason comes with: "first_sequence" and so on.
    metadata: Mapping[str, str]
    #: What is wrong with each wrong field, by its path: "posture.domain_state" (BadRequest).
    fields: Mapping[str, str]
    #: When to try again (RetryInfo).
    retry_after: timedelta | None
    #: Which limit was reached, and whose: "application:shop" (QuotaFailure).
    quotas: tuple[str, ...]
    #: A text for the person, if the refusal concerns them, in the language of the call (LocalizedMessage).
    text: str

    _by_code: ClassVar[dict[Any, type[Error]]] = {}

    def __init__(self, code: Any, message: str, details: Mapping[type, Any] | None = None):
        details = details or {}
        self.code, self.message = code, message
        info, request, retry, quota, localized = (details.get(kind) or kind() for kind in _KINDS)
        self.reason, self.metadata = info.reason, dict(info.metadata)
        self.fields = {violation.field: violation.description for violation in request.field_violations}
        self.retry_after = retry.retry_delay.ToTimedelta() if retry.HasField("retry_delay") else None
        self.quotas = tuple(violation.subject for violation in quota.violations)
        self.text = localized.message
        super().__init__(self.description)

    @property
    def description(self) -> str:
        # The service's message names the first wrong fields, too.
        others = {field: problem for field, problem in self.fields.items() if f"{field}: {problem}" not in self.message}
        fields = "".join(f"; {field}: {problem}" for field, problem in others.items())
        return f"{self.code.name}{f' ({self.reason})' if self.reason else ''}: {self.message}{fields}"

    @classmethod
    def of(cls, error: Any) -> Error:
        """Makes an error of a grpc.RpcError."""
        code = error.code() or grpc.StatusCode.UNKNOWN
        return cls._by_code.get(code, Error)(code, error.details() or "", _details(error))

    def __init_subclass__(cls, *, code: Any = None, **others: Any):
        super().__init_subclass__(**others)
        if code is not None:
            cls._by_code[code] = cls


def _details(error: Any) -> dict[type, Any]:
    """Returns the first detail of each kind. Unreadable details are treated as absent: code and message stay."""
    found: dict[type, Any] = {}
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            try:
                packed = status_pb2.Status.FromString(value).details
                for kind in _KINDS:
                    for one in packed:
                        if kind not in found and one.Is(kind.DESCRIPTOR):
                            found[kind] = kind.FromString(one.value)
            except DecodeError:
                return {}
    return found


class Unauthenticated(Error, code=grpc.StatusCode.UNAUTHENTICATED):
    """The credentials belong to no known caller."""


class PermissionDenied(Error, code=grpc.StatusCode.PERMISSION_DENIED):
    """The caller is not granted the method or the application."""


class InvalidArgument(Error, code=grpc.StatusCode.INVALID_ARGUMENT):
    """Fields are wrong or missing: `fields` names them."""


class FailedPrecondition(Error, code=grpc.StatusCode.FAILED_PRECONDITION):
    """The present state does not allow the call: `reason` says why."""


class NotFound(Error, code=grpc.StatusCode.NOT_FOUND):
    """The object is unknown, or another application's."""


class OutOfRange(Error, code=grpc.StatusCode.OUT_OF_RANGE):
    """A place that the audit log does not have: EVENTS_ARCHIVED or BEYOND_LOG_END."""


class Aborted(Error, code=grpc.StatusCode.ABORTED):
    """Too many parallel changes of one record. Nothing was done."""


class Unavailable(Error, code=grpc.StatusCode.UNAVAILABLE):
    """The service cannot take the call now, or is out of reach."""


class ResourceExhausted(Error, code=grpc.StatusCode.RESOURCE_EXHAUSTED):
    """A limit was reached: `quotas` names it."""


class DeadlineExceeded(Error, code=grpc.StatusCode.DEADLINE_EXCEEDED):
    """No answer came in time. The call may have had its effect."""
