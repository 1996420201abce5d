"""HTTP/2 itself: grpc's misbehaving servers against our client, and its framing tests against our server."""

import json
import re
from pathlib import Path

from .cases import DEFAULT_SECONDS
from .peers import SERVER_NAME, Command, flag
from .processes import Outcome, free_ports, run, server, tail
from .table import NotApplicable

#: In the order of the ports that test/http2_test/http2_test_server.py gives them.
BAD_SERVERS = [
    "data_frame_padding", "goaway", "max_streams", "no_df_padding_sanity_test", "ping", "rst_after_data",
    "rst_after_header", "rst_during_data",
]
#: The server finds fault with the client.
BROKEN_CLIENT = re.compile(r"Unhandled Error|AssertionError")
#: Two, for a client that has understood GOAWAY.
CONNECTIONS = re.compile(r"New Connection: 2")
GOAWAY_ATTEMPTS = 3

#: Tests of tools/http2_interop that say nothing of the server; Go's own fails them, too.
UNSOUND_TESTS = {
    "TestSoonSmallMaxFrameSize": "no server can pass: the test waits for an error that nothing in it makes",
    "TestSoonTLSApplicationProtocol":
        "the test takes the alert no_application_protocol, which RFC 7301 §3.2 wants, for a failure",
    "TestSoonTLSMaxVersion": "Go's TLS refuses to try what the test wants to see refused",
    "TestSoonTLSBadCipherSuites": "Go's TLS offers the suites of TLS 1.3 all the same",
}


def play_bad_servers(ours, foreign, table, logs: Path):
    for index, case in enumerate(BAD_SERVERS):
        # The client waits a second for GOAWAY, of which nothing tells it; a busy machine's server may send it later.
        for _ in range(GOAWAY_ATTEMPTS if case == "goaway" else 1):
            result = play_bad_server(ours, foreign, index, logs / f"http2_test-{case}.txt")
            if result.passed:
                break
        table.enter(case, "our client", result)


def play_bad_server(ours, foreign, index, log):
    ports, case = free_ports(len(BAD_SERVERS)), BAD_SERVERS[index]
    command = [str(foreign.python), "http2_test_server.py", f"--base_port={ports[0]}"]
    with server(command, ports[index], log, directory=foreign.http2_test):
        client = ours.client(ports[index], False, case)
        result = run(client.arguments, DEFAULT_SECONDS)
    return judged(case, result, log.read_text(errors="replace"))


def judged(case, result, log):
    """What the client thinks of it, and what the server does."""
    if not result.passed:
        return result
    if BROKEN_CLIENT.search(log):
        return Outcome(False, f"the server finds fault with the client: {tail(log)}")
    if case == "goaway" and not CONNECTIONS.search(log):
        return Outcome(False, "the client stayed on a connection that it was asked to leave")
    return result


def play_framing(ours, foreign, table, logs: Path):
    for tls in (False, True):
        port = free_ports(1)[0]
        command = ours.server(port, tls)
        log = logs / f"http2_interop-server-{flag(tls)}.txt"
        with server(command.arguments, port, log):
            for suite in ("framing", "tls") if tls else ("framing",):
                column = f"our server, {'TLS' if tls else 'h2c'}"
                for name, result in run_framing(foreign, port, tls, suite).items():
                    table.enter(name, column, result)


def run_framing(foreign, port, tls, suite):
    """The tests' results by their names."""
    command = Command([
        str(foreign.go / "http2interop"), "-server_host=127.0.0.1", f"-server_port={port}", f"-use_tls={flag(tls)}",
        f"-use_test_ca={flag(tls)}", f"-server_host_override={SERVER_NAME}", f"-test_case={suite}", "-test.v"])
    # It reads the authorities from a path below the working directory.
    outcome = run(command.arguments, DEFAULT_SECONDS, directory=foreign.grpc, whole_output=True)
    report = re.search(r'^\{"cases":.*\}$', outcome.output, re.MULTILINE)
    if not report:
        return {suite: Outcome(False, tail(outcome.output))}
    return {
        case["name"]: framing_result(case, outcome.output)
        for case in json.loads(report[0])["cases"] if not case.get("skipped")}


def framing_result(case, output):
    if not case["passed"] and case["name"] in UNSOUND_TESTS:
        return NotApplicable(UNSOUND_TESTS[case["name"]])
    said = re.search(rf"=== RUN +{case['name']}\n(.*?)--- ", output, re.DOTALL)
    return Outcome(case["passed"], tail(said[1]) if said else "")
