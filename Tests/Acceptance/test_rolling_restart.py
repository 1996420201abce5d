"""A service that is replaced by another one on the same address, under load, fails no call of stock clients."""

import collections
import threading

import grpc
from support.abuse import CAN_EVALUATE_POLICY, PATIENCE_SECONDS
from support.addresses import own_host

CLIENTS = 4
CALLS_AT_ONE_TIME = 8
RESTARTS = 3
#: Between two restarts, so that each meets a service at work.
CALLS_BETWEEN = 500


class Load:
    """Clients that call without pause. What a service refused to take up they try again, as gRPC does by itself; they wait while
    there is no service, and retry nothing else."""

    def __init__(self, address):
        self.codes = collections.Counter()
        self._changed = threading.Condition()
        self._is_over = threading.Event()
        options = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_http_proxy", 0),
            ("grpc.initial_reconnect_backoff_ms", 50),
        ]
        self._channels = [grpc.insecure_channel(address, options) for _ in range(CLIENTS)]
        self._threads = [
            threading.Thread(target=self._call, args=(channel,))
            for channel in self._channels
            for _ in range(CALLS_AT_ONE_TIME)
        ]
        for thread in self._threads:
            thread.start()

    def _call(self, channel):
        method = channel.unary_unary(CAN_EVALUATE_POLICY)
        while not self._is_over.is_set():
            # Of an empty request; whatever the service says to it.
            code = method.future(b"", timeout=PATIENCE_SECONDS, wait_for_ready=True).code()
            with self._changed:
                self.codes[code] += 1
                self._changed.notify_all()

    def wait_for_calls(self, count):
        with self._changed:
            goal = sum(self.codes.values()) + count
            assert self._changed.wait_for(lambda: sum(self.codes.values()) >= goal, PATIENCE_SECONDS), self.codes

    def end(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        for channel in self._channels:
            channel.close()


def test_a_rolling_restart_fails_no_call(start):
    server = start(listen=[f"{own_host()}:0"])
    load = Load(server.address)
    try:
        for _ in range(RESTARTS):
            load.wait_for_calls(CALLS_BETWEEN)
            server.terminate()
            server = start(listen=[server.address])
        load.wait_for_calls(CALLS_BETWEEN)
    finally:
        load.end()
    assert set(load.codes) == {grpc.StatusCode.INVALID_ARGUMENT}, load.codes
