"""The load client at scale: many addresses, TLS, and several processes."""

import math
import socket
import time
from concurrent import futures

import grpc
import pytest

from support.caller import new_caller
from support.certificates import Authority
from support.credentials import Key
from support.load import end, latencies, run_command, run_load, start_and_await, start_load
from support.proxy import REFUSES, Proxy

VALID, WRONG_OPTION, UNREACHABLE, CLIENT_LIMITED, MISSED = 0, 64, 69, 70, 99
#: A machine that also does other work may make the client late.
FINE = (VALID, CLIENT_LIMITED)

BRIEF = ("--duration", "1s", "--warmup", "100ms")


def assert_refused(ended, code, *parts):
    """Ends with one line that has these parts."""
    assert ended.returncode == code, ended.stderr
    assert not ended.stdout
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    for part in parts:
        assert part in ended.stderr


# Addresses


@pytest.fixture
def closed_address():
    """One where nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield "127.0.0.1:{}".format(bound.getsockname()[1])


def test_calls_are_spread_evenly_over_addresses(start):
    server = start(listen=["127.0.0.1:0"] * 3)
    # Separated by commas, and repeated.
    options = ["--target", ",".join(server.addresses[:2]), "--target", server.addresses[2]]
    ended = run_command(*options, "--json", "--rate", 300, "--threads", 2, *BRIEF)
    assert ended.returncode in FINE, ended.stderr
    report = ended.report
    assert report["due"] == report["succeeded"] == 300
    assert report["target"] == ",".join(server.addresses)
    assert [entry["target"] for entry in report["targets"]] == server.addresses
    assert sum(entry["connections"] for entry in report["targets"]) == report["connections"] == 8
    assert max(entry["connections"] for entry in report["targets"]) <= 4
    sent = [entry["sent"] for entry in report["targets"]]
    # Each of two threads deals calls out by itself.
    assert sum(sent) == 300
    assert max(sent) - min(sent) <= 4
    assert all(entry["succeeded"] == entry["sent"] for entry in report["targets"])


@pytest.fixture
def new_proxy():
    """Makes another address of a server, which can be cut off."""
    proxies = []

    def new_proxy(server):
        host, port = server.address.rsplit(":", 1)
        proxies.append(Proxy(host, int(port)))
        return proxies[-1]

    yield new_proxy
    for proxy in proxies:
        proxy.close()


def test_errors_are_counted_at_their_address(start, new_proxy, tmp_path):
    server = start()
    proxy, page = new_proxy(server), tmp_path / "page.html"
    load = start_and_await(
        server, "--target", proxy.address, "--json", "--html", page, "--scenario", "preflight",
        "--rate", 100, "--duration", "4s",
    )  # fmt: skip
    proxy.mode = REFUSES
    proxy.cut()
    ended = end(load)
    assert ended.returncode == MISSED
    served, cut = ended.report["targets"]
    assert cut["target"] == proxy.address
    assert served["sent"] == served["succeeded"] == 200
    assert cut["failed"] + cut["timed_out"] + cut["unfinished"] > 0
    assert ended.report["errors"] == cut["sent"] - cut["succeeded"]
    assert proxy.address in page.read_text(encoding="utf-8")


def test_an_address_that_was_away_is_named_with_its_time(start, new_proxy):
    """As a replica's address is during a rolling restart. The client waits before it connects for the third time."""
    server = start()
    proxy = new_proxy(server)
    load = start_and_await(
        server, "--target", proxy.address, "--json", "--scenario", "preflight", "--rate", 100, "--duration", "4s",
        "--connections", 2,
    )  # fmt: skip
    proxy.refusals = 1
    proxy.cut()
    ended = end(load)
    assert ended.returncode == MISSED
    served, cut = ended.report["targets"]
    assert served["away"] == []
    assert len(cut["away"]) == 1, cut
    assert 0 < cut["away"][0]["calls"] == cut["failed"] == ended.report["failed_by_status"]["UNAVAILABLE"]
    # It served again before the end.
    assert cut["away"][0]["start"] + cut["away"][0]["seconds"] < ended.report["seconds"]


def test_an_address_out_of_reach_is_named_and_nothing_is_bound(start, closed_address):
    server = start()
    ended = run_load(server, "--target", closed_address, *BRIEF)
    assert_refused(ended, UNREACHABLE, closed_address)
    assert server.address not in ended.stderr
    assert new_caller(server, "touchstone-load").events() == []


def test_another_service_is_no_touchstone():
    other = grpc.server(futures.ThreadPoolExecutor(1))
    address = "127.0.0.1:{}".format(other.add_insecure_port("127.0.0.1:0"))
    other.start()
    try:
        assert_refused(run_command("--target", address, *BRIEF), UNREACHABLE, address, "UNIMPLEMENTED")
    finally:
        other.stop(grace=None).wait()


def test_what_speaks_no_grpc_is_out_of_reach():
    with socket.create_server(("127.0.0.1", 0)) as listener, futures.ThreadPoolExecutor(1) as thread:
        address = "127.0.0.1:{}".format(listener.getsockname()[1])

        def answer():
            accepted, _ = listener.accept()
            with accepted:
                accepted.recv(65_536)
                accepted.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

        answered = thread.submit(answer)
        assert_refused(run_command("--target", address, "--timeout", "3s", *BRIEF), UNREACHABLE, address)
        listener.shutdown(socket.SHUT_RDWR)
        answered.exception(timeout=10)


@pytest.mark.parametrize(
    "options",
    [
        ["--target", "here"],
        ["--target", "127.0.0.1:1,"],
        ["--target", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", "--connections", "2"],
        ["--tls-server-name", "localhost"],
        ["--tls-certificate", "/no/such/file", "--tls"],
    ],
)
def test_wrong_addresses_are_refused(options):
    ended = run_command(*options)
    assert ended.returncode == WRONG_OPTION
    assert not ended.stdout


# TLS


def test_calls_over_mutual_tls(start, tmp_path):
    authority = Authority(tmp_path)
    key = Key()
    certificate = authority.issue("server", hosts=["touchstone.example.org"])
    client = authority.issue("client", uris=["spiffe://example.org/load"])
    server = start(
        configuration={
            "tls": {
                "certificate": str(certificate.file), "key": str(certificate.key_file),
                "client_authorities": str(authority.file), "client_certificates": "required",
            },
            "callers": [
                {
                    "name": "load", "applications": ["touchstone-load"], "methods": "*",
                    "spiffe": "spiffe://example.org/load", "keys": [key.digest],
                }
            ],
        }
    )  # fmt: skip
    key_file = tmp_path / "key"
    key_file.write_text(f"{key.text}\n")
    trust = ["--tls-authorities", authority.file, "--tls-server-name", "touchstone.example.org"]
    identity = ["--tls-certificate", client.file, "--tls-key", client.key_file]
    ended = run_load(server, "--json", "--rate", 50, *trust, *identity, "--key-file", key_file, *BRIEF)
    assert ended.returncode in FINE, ended.stderr
    assert ended.report["succeeded"] == 50
    # Neither a wrong name nor a missing certificate goes through.
    assert_refused(run_load(server, *trust[:2], *identity, *BRIEF), UNREACHABLE, server.address)
    assert_refused(run_load(server, *trust, *BRIEF), UNREACHABLE, server.address)


# Several processes


@pytest.fixture(scope="module")
def parts(server, tmp_path_factory):
    """Reports of two runs at the same time, and their files."""
    directory = tmp_path_factory.mktemp("join")
    # A busy machine may leave a call unfinished; it counts as well.
    options = (
        "--json", "--scenario", "preflight", "--rate", 200, "--duration", "3s", "--warmup", "500ms", "--allow-errors",
    )  # fmt: skip
    loads = [start_load(server, *options)]
    time.sleep(0.4)
    loads.append(start_load(server, *options))
    ended = [end(load) for load in loads]
    assert all(each.returncode in FINE for each in ended), [each.report["reasons"] for each in ended]
    files = [directory / "A.json", directory / "B.json"]
    for file, each in zip(files, ended):
        file.write_text(each.stdout)
    return [each.report for each in ended], files


def test_joined_percentiles_are_those_of_the_merged_histograms(parts):
    reports, files = parts
    joined = run_command("join", *files, "--json", "--allow-errors").report
    merged = sorted(latency for report in reports for latency in latencies(report))
    assert latencies(joined) == merged and len(merged) == joined["due"]
    for key, percentile in {"p50_us": 50, "p90_us": 90, "p99_us": 99, "p999_us": 99.9, "p9999_us": 99.99}.items():
        assert joined[key] == min(merged[math.ceil(percentile / 100 * joined["due"]) - 1], joined["max_us"]), key
    assert sorted(latency for window in joined["windows"] for latency in latencies(window)) == merged


def test_a_joined_report_has_all_forms_and_a_verdict(parts, tmp_path):
    reports, files = parts
    page = tmp_path / "page.html"
    ended = run_command("join", *files, "--html", page, "--slo", "p99<60s", "--allow-errors")
    assert ended.returncode in FINE, ended.stdout
    due = sum(report["due"] for report in reports)
    assert f" {due:,} " in ended.stdout
    assert "joined from 2 processes" in ended.stdout
    assert f"<td>due</td><td>{due:,}</td>" in page.read_text(encoding="utf-8")
    assert run_command("join", *files, "--slo", "p50<1us").returncode == MISSED
