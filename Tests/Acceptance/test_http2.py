"""Calls at the edge of HTTP/2 and gRPC: each gets a status of its own, and the other calls on its connection live on."""

import pytest

from support.http2 import Client

HEALTH = "/grpc.health.v1.Health/Check"
DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED = "4", "8"


@pytest.mark.parametrize("timeout", ["0n", "0u", "0m", "0S", "0M", "0H", "00000000S"])
def test_a_call_without_any_time_is_late(server, timeout):
    with Client(server.address) as client:
        assert client.call(HEALTH, ("grpc-timeout", timeout))["grpc-status"] == DEADLINE_EXCEEDED
        assert client.call(HEALTH)["grpc-status"] == "0"


@pytest.mark.parametrize("timeout", ["1n", "1u"])
def test_a_call_with_hardly_any_time_gets_a_status(server, timeout):
    with Client(server.address) as client:
        for _ in range(100):
            assert client.call(HEALTH, ("grpc-timeout", timeout))["grpc-status"] in ("0", DEADLINE_EXCEEDED)


@pytest.mark.parametrize("huffman", [False, True])
@pytest.mark.parametrize("size", [20_000, 65_500, 65_537, 66_000, 81_000, 100_000, 120_000])
def test_too_much_metadata_refuses_one_call(server, size, huffman):
    """The value goes into the table of header compression, too, which must stay the same on both sides."""
    with Client(server.address) as client:
        client.huffman(huffman)
        assert client.call(HEALTH, ("x-known", "a"))["grpc-status"] == "0"
        # Huffman's code makes 50 bits of these eight characters (RFC 7541, appendix B).
        text = ("0123abc~" * size)[: size * 64 // 50 if huffman else size]
        assert client.call(HEALTH, ("x-large", text), ("x-after", "b"))["grpc-status"] == RESOURCE_EXHAUSTED
        assert client.call(HEALTH, ("x-known", "a"), ("x-after", "b"))["grpc-status"] == "0"


@pytest.mark.parametrize("authority", ["localhost", "%2Frun%2Fsocket", "/run/socket", "", None], ids=repr)
def test_clients_of_a_unix_socket_have_any_authority(start, tmp_path, authority):
    path = f"unix:{tmp_path}/touchstone.sock"
    start(listen=[path])
    with Client(path) as client:
        assert client.call(HEALTH, authority=authority)["grpc-status"] == "0"


@pytest.mark.parametrize(
    "field",
    [("Upper-Case", "a"), ("x-value", "a\nb"), ("connection", "close"), (":path", "/late"), (":authority", "late"), ("", "a")],
    ids=repr,
)
def test_other_rules_of_http2_hold_for_a_unix_socket(start, tmp_path, field):
    path = f"unix:{tmp_path}/touchstone.sock"
    start(listen=[path])
    with Client(path) as client:
        assert client.call(HEALTH, field) == {":status": "400"}
        assert client.call(HEALTH)["grpc-status"] == "0"
