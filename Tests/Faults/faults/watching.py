"""A service from outside: whether it serves, and since when."""

import time

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.caller import new_profile_id

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

#: Much longer than it ever takes, on a machine that is very busy.
PATIENCE_SECONDS = 20
_ASK_SECONDS = 0.02


def await_status(server, status):
    """Returns when health says so."""
    watch = health_pb2_grpc.HealthStub(server.channel()).Watch(
        health_pb2.HealthCheckRequest(), timeout=PATIENCE_SECONDS
    )
    while next(watch).status != status:
        pass
    watch.cancel()


def seconds_until_it_serves(caller):
    """Asks again and again for something that has to be read and written, and for a list."""
    began = time.monotonic()
    while time.monotonic() < began + PATIENCE_SECONDS:
        try:
            caller.set_settings(new_profile_id(), biometry_enabled=True)
            caller.events()
            return time.monotonic() - began
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE, error
            time.sleep(_ASK_SECONDS)
    raise AssertionError(f"it does not serve {PATIENCE_SECONDS} seconds later")
