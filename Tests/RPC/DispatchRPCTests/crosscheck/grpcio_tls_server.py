"""Google's gRPC implementation as a server over TLS that asks for certificates: /test/Who tells whom it sees.

Usage: grpcio_tls_server.py CHAIN KEY AUTHORITIES
Prints its port, and serves until its standard input ends.
"""

import sys
from concurrent import futures
from pathlib import Path

import grpc


class Methods(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self.who)

    @staticmethod
    def who(_, context):
        names = context.auth_context()
        uris = [name for name in names["x509_subject_alternative_name"] if b"://" in name]
        return b" ".join(names["x509_common_name"] + uris)


def main():
    chain, key, authorities = (Path(path).read_bytes() for path in sys.argv[1:])
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2), handlers=[Methods()])
    credentials = grpc.ssl_server_credentials([(key, chain)], authorities, require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(grace=None)


main()
