"""Calls at the edge of HTTP/2 and gRPC: each gets a status of its own, and the other calls on its connection live on."""

import pytest

from support.http2 import Client

HEALTH = "/grpc.health.v1.Health/Check"
DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED = "4", "8"


@pytest.mark.parametrize("timeout", ["0n", "00000000S"])
def test_a_call_without_any_time_is_late(server, timeout):
    with Client(server.address) as client:
        assert client.call(HEALTH, ("grpc-timeout", timeout))["grpc-status"] == DEADLINE_EXCEEDED
        assert client.call(HEALTH)["grpc-status"] == "0"


def test_a_call_with_hardly_any_time_gets_a_status(server):
    with Client(server.address) as client:
        for _ in range(100):
            assert client.call(HEALTH, ("grpc-timeout", "1u"))["grpc-status"] in ("0", DEADLINE_EXCEEDED)


@pytest.mark.parametrize("huffman", [False, True])
@pytest.mark.parametrize("size", [20_000, 65_537, 120_000])
def test_too_much_metadata_refuses_one_call(server, size, huffman):
    """The value goes into the table of header compression, too, which must stay the same on both sides."""
    with Client(server.address) as client:
        client.huffman(huffman)
        assert client.call(HEALTH, ("x-known", "a"))["grpc-status"] == "0"
        # Huffman's code makes 50 bits of these eight characters (RFC 7541, appendix B).
        text = ("0123abc~" * size)[: size * 64 // 50 if huffman else size]
        assert client.call(HEALTH, ("x-large", text), ("x-after", "b"))["grpc-status"] == RESOURCE_EXHAUSTED
        assert client.call(HEALTH, ("x-known", "a"), ("x-after", "b"))["grpc-status"] == "0"


@pytest.fixture
def path(start, tmp_path):
    """Of a service on a Unix socket."""
    path = f"unix:{tmp_path}/touchstone.sock"
    start(listen=[path])
    return path


def test_clients_of_a_unix_socket_have_any_authority(path):
    for authority in ("localhost", "%2Frun%2Fsocket", "/run/socket", "", None):
        with Client(path) as client:
            assert client.call(HEALTH, authority=authority)["grpc-status"] == "0", authority


def test_other_rules_of_http2_hold_for_a_unix_socket(path):
    for name, value in [("Upper-Case", "a"), ("x-value", "a\nb"), ("connection", "close"), (":path", "/late"), ("", "a")]:
        with Client(path) as client:
            assert client.call(HEALTH, (name, value)) == {":status": "400"}, name
            assert client.call(HEALTH)["grpc-status"] == "0"
