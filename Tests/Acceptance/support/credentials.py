"""What callers show, and connections of callers who show it."""

import hashlib
import secrets

import grpc

from .caller import Caller
from .server import run


class Key:
    """A bearer key, as `touchstone callers new-key` makes it."""

    def __init__(self, text=None):
        self.text = text or "tsk_" + secrets.token_urlsafe(32)

    @property
    def digest(self):
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()


def new_key(name):
    """By the command: the key, and the lines for the configuration."""
    made = run("callers", "new-key", name)
    assert (made.returncode, made.stderr) == (0, "")
    key, *lines = made.stdout.splitlines()
    return Key(key), "\n".join(lines)


def caller_with(channel, application_id, key=None, authorization=None):
    """One who sends a key with every call, or whatever else as `authorization`."""
    if key is not None:
        authorization = f"Bearer {key.text}"
    if authorization is not None:
        channel = grpc.intercept_channel(channel, _Authorization(authorization))
    return Caller(channel, application_id)


class _Authorization(grpc.UnaryUnaryClientInterceptor):
    def __init__(self, value):
        self._value = value

    def intercept_unary_unary(self, continuation, details, request):
        metadata = [*(details.metadata or []), ("authorization", self._value)]
        return continuation(details._replace(metadata=metadata), request)
