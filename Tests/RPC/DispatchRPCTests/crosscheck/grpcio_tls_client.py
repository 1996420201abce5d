"""Google's gRPC implementation as a client over TLS: two connections, the server by its name and by its address.

Usage: grpcio_tls_client.py PORT AUTHORITIES [CHAIN KEY]
With a certificate of its own it asks /test/Who, otherwise /test/Echo. Prints what went wrong and exits with 1, or nothing.
"""

import sys
from pathlib import Path

import grpc


def call(port, credentials, method, name):
    options = [("grpc.ssl_target_name_override", name)] if name else []
    # A channel of its own, not one that is shared behind the scenes.
    options.append(("grpc.use_local_subchannel_pool", 1))
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
        echo = channel.unary_unary(method, lambda message: message, lambda message: message)
        for size in [0, 1, 20_000, 3_000_000]:
            message = b"x" * size
            if echo(message, timeout=20) != message:
                print(f"{name}: {size} bytes came back otherwise")
                sys.exit(1)


def main():
    port, authorities, *own = sys.argv[1:]
    chain, key = [Path(path).read_bytes() for path in own] or [None, None]
    credentials = grpc.ssl_channel_credentials(Path(authorities).read_bytes(), key, chain)
    for name in [None, "rpc.test"]:
        call(port, credentials, "/test/Who" if own else "/test/Echo", name)
    try:
        call(port, credentials, "/test/Echo", "other.test")
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.UNAVAILABLE:
            raise
    else:
        print("the server is taken for another")
        sys.exit(1)


main()
