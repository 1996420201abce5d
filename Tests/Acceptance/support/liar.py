"""A service that forwards every call to a real one, and changes some answers."""

from concurrent import futures

import grpc

from .stubs import METHODS


class Liar:
    """`lies`: by method, what becomes of its answer. It has no state of its own."""

    def __init__(self, server, **lies):
        self._channel = server.channel()
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), handlers=[_Forwarding(self._channel, lies)])
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.stop(None).wait()


class _Forwarding(grpc.GenericRpcHandler):
    def __init__(self, channel, lies):
        self._channel, self._lies = channel, lies

    def service(self, details):
        name = details.method.rpartition("/")[2]
        answer_type = METHODS[name].output_type._concrete_class
        call = self._channel.unary_unary(details.method)
        lie = self._lies.get(name)

        def forward(request, context):
            try:
                answer = call(request, timeout=context.time_remaining())
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())
            if lie is None:
                return answer
            changed = answer_type.FromString(answer)
            lie(changed)
            return changed.SerializeToString()

        return grpc.unary_unary_rpc_method_handler(forward)
