"""`touchstone-load grpc` against grpc's own servers in C++ and Go, by their reflection."""

import json

from .matrix import Pairing, running
from .peers import SERVER_NAME
from .processes import Outcome, run

#: Those of FOREIGN whose servers have reflection here; Python's interoperability server has none.
REFLECTING = ["go", "cpp"]
METHOD = "grpc.testing.TestService/UnaryCall"
REQUEST = {"responseType": "COMPRESSABLE", "responseSize": 271, "payload": {"body": "AAECAw=="}}
RATE = 200
SECONDS = 2
#: With the client's start, warm-up and end.
LIMIT_SECONDS = 60


def play(ours, peers, table, logs):
    for peer in (peer for peer in peers if peer.name in REFLECTING):
        for tls in (False, True):
            pairing = Pairing(ours, peer, tls)
            with running(pairing, logs) as port:
                table.enter("load by reflection", pairing.title, load(ours, port, tls))


def load(ours, port, tls):
    options = ["--method", METHOD, "--data", json.dumps(REQUEST), "--rate", str(RATE), "--duration", f"{SECONDS}s"]
    if tls:
        authority = ours.foreign.credentials / "ca.pem"
        options += ["--tls-authorities", str(authority), "--tls-server-name", SERVER_NAME]
    program = str(ours.binaries / "touchstone-load")
    outcome = run([program, "grpc", "--target", f"127.0.0.1:{port}", "--json", "--quiet", *options], LIMIT_SECONDS,
                  whole_output=True)
    return counted(outcome) if outcome.passed else outcome


def counted(outcome):
    report = json.loads(outcome.output)
    counts = report["due"], report["succeeded"]
    return Outcome(counts == (RATE * SECONDS,) * 2, f"due and succeeded: {counts}")
