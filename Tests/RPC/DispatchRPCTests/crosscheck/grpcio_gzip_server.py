"""Google's gRPC implementation as a server that compresses: /test/Gzip and /stream/Gzip echo.

Usage: grpcio_gzip_server.py
Prints its address, and serves until its standard input ends.
"""

import sys
from concurrent import futures

import grpc


class Methods(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method == "/test/Gzip":
            return grpc.unary_unary_rpc_method_handler(lambda message, context: message)
        if details.method == "/stream/Gzip":
            return grpc.stream_stream_rpc_method_handler(lambda messages, context: messages)
        return None


def main():
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=2), handlers=[Methods()], compression=grpc.Compression.Gzip)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(grace=None)


main()
