"""grpc's interoperability cases (grpc/grpc doc/interop-test-descriptions.md), and which peer can take part in which.

Left out are those of Google's cloud (compute_engine_creds, jwt_token_creds, oauth2_auth_token, per_rpc_creds,
google_default_credentials, compute_engine_channel_credentials), of gRPC's own load balancers (grpclb, xDS), and:

- cacheable_unary: sends GET to a caching proxy, which no released gRPC does any more;
- orca_per_rpc, orca_oob: load reports for custom balancing policies, which DispatchRPC has no use for;
- long_lived_channel: rpc_soak with pauses.
"""

COMPRESSION = [
    "client_compressed_unary", "server_compressed_unary", "client_compressed_streaming", "server_compressed_streaming",
]

CASES = [
    "empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "half_duplex", "empty_stream",
    *COMPRESSION,
    "cancel_after_begin", "cancel_after_first_response", "timeout_on_sleeping_server", "slow_consumer",
    "custom_metadata", "status_code_and_message", "special_status_message", "unimplemented_method",
    "unimplemented_service", "pick_first_unary", "concurrent_large_unary", "rpc_soak", "channel_soak",
]

#: By the client's program.
CLIENT_LACKS = {
    "python": {*COMPRESSION, "half_duplex", "slow_consumer", "pick_first_unary", "concurrent_large_unary", "rpc_soak",
               "channel_soak"},
    "go": {*COMPRESSION, "half_duplex", "slow_consumer", "concurrent_large_unary", "rpc_soak", "channel_soak"},
    "cpp": {"concurrent_large_unary"},
    "ours": set(COMPRESSION),
}

#: By the server's program, with what it does instead.
NO_COMPRESSION = "server does not compress"
NO_EXPECTATION = "server does not check whether a request was compressed"
NO_SERVER_ID = "server does not say its server_id"
SERVER_LACKS = {
    "python": {
        "client_compressed_unary": NO_EXPECTATION, "client_compressed_streaming": NO_EXPECTATION,
        "server_compressed_unary": NO_COMPRESSION, "server_compressed_streaming": NO_COMPRESSION,
        "pick_first_unary": NO_SERVER_ID,
    },
    "go": {
        "client_compressed_unary": NO_EXPECTATION, "client_compressed_streaming": NO_EXPECTATION,
        "server_compressed_unary": NO_COMPRESSION, "server_compressed_streaming": NO_COMPRESSION,
        "pick_first_unary": NO_SERVER_ID,
    },
    "cpp": {"pick_first_unary": NO_SERVER_ID},
    "ours": {"server_compressed_unary": NO_COMPRESSION, "server_compressed_streaming": NO_COMPRESSION},
}

#: Where the default is not enough.
SECONDS = {"slow_consumer": 240, "rpc_soak": 240, "channel_soak": 240, "concurrent_large_unary": 240}
#: Most take less than one; the rest is for machines that do something else, too.
DEFAULT_SECONDS = 120

#: A hundred calls each.
FLAGS = {
    case: ["--soak_iterations=100", "--soak_overall_timeout_seconds=200",
           "--soak_per_iteration_max_acceptable_latency_ms=20000"]
    for case in ("rpc_soak", "channel_soak")
}


#: By client and case: races of the client with itself, which it loses against its own server, too.
TRIES = {("go", "cancel_after_begin"): 3}


def why_not(case, client, server):
    """Why these two cannot play the case; `None` where they can."""
    return client_lacks(case, client, server) or SERVER_LACKS[server].get(case)


def client_lacks(case, client, _server):
    return "client lacks the case" if case in CLIENT_LACKS[client] else None
