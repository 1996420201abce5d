"""Client for Touchstone, the server side of Touch ID, Face ID and gesture login.

`Client` has a method for each method of the API. The messages are in `touchstone.v1`: `types_pb2`, `bindings_pb2`,
`evaluation_pb2`, `secrets_pb2`, `tokens_pb2` and `administration_pb2`.
"""

from .calls import Stream
from .client import Client
from .errors import (
    Aborted,
    DeadlineExceeded,
    Error,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)

__all__ = [
    "Aborted",
    "Client",
    "DeadlineExceeded",
    "Error",
    "FailedPrecondition",
    "InvalidArgument",
    "NotFound",
    "OutOfRange",
    "PermissionDenied",
    "ResourceExhausted",
    "Stream",
    "Unauthenticated",
    "Unavailable",
]
