"""A service that is replaced by another one on the same address, under load, fails no call of stock clients."""

import functools

import grpc

from support.abuse import CAN_EVALUATE_POLICY, PATIENCE_SECONDS
from support.addresses import own_host
from support.replicas import Load
from support.server import CHANNEL_OPTIONS

CLIENTS = 4
CALLS_AT_ONE_TIME = 8
RESTARTS = 3
#: Of each client's calls between two restarts, so that each meets a service at work.
ROUNDS_BETWEEN = 16


def test_a_rolling_restart_fails_no_call(start):
    """What a service refused to take up the clients try again, as gRPC does by itself; they wait while there is no service,
    and retry nothing else."""
    server = start(listen=[f"{own_host()}:0"])
    channels = [grpc.insecure_channel(server.address, CHANNEL_OPTIONS) for _ in range(CLIENTS)]

    def call(channel):
        method = channel.unary_unary(CAN_EVALUATE_POLICY)
        # Of an empty request, which the service refuses.
        code = method.future(b"", timeout=PATIENCE_SECONDS, wait_for_ready=True).code()
        assert code == grpc.StatusCode.INVALID_ARGUMENT

    calls = [functools.partial(call, channel) for channel in channels for _ in range(CALLS_AT_ONE_TIME)]
    with Load(*calls) as load:
        for _ in range(RESTARTS):
            load.wait_for_rounds(ROUNDS_BETWEEN)
            server.terminate()
            server = start(listen=[server.address])
        load.wait_for_rounds(ROUNDS_BETWEEN)
    for channel in channels:
        channel.close()
