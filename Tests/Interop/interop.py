"""Plays grpc's own interoperability tests against DispatchRPC: `make interop`.

PEERS names the implementations to play with: python, go, cpp. Their programs are built from the distribution's source
packages in INTEROP_CACHE (.build-interop); ours are taken from INTEROP_BINARIES (.build/debug). SUITES names what to
play:

  cases        every interoperability case, both ways, in plaintext and over TLS
  bad-servers  HTTP/2 servers that misbehave (test/http2_test), against our client; takes Python
  framing      tests of HTTP/2 and TLS themselves (tools/http2_interop), against our server; takes Go
  corpora      inputs that grpc's fuzzers found interesting, as bytes from a peer
  references   the cases once more among the foreign ones, also those that a server is known to lack something for: what
               fails there is not ours; only when asked for

Prints a table for each and exits with 1 where a cell fails. README.md beside this has the last one, and what is not
applicable, and why.
"""

import os
import signal
import sys
from pathlib import Path

from suite import cases, corpora, http2, matrix
from suite.foreign import Foreign
from suite.peers import FOREIGN, Ours
from suite.table import Table

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("INTEROP_CACHE") or ROOT / ".build-interop").resolve()
BINARIES = Path(os.environ.get("INTEROP_BINARIES") or ROOT / ".build/debug").resolve()
PEERS = set(os.environ.get("PEERS", "python go cpp").split())
SUITES = os.environ.get("SUITES", "cases bad-servers framing corpora").split()
#: Where none of them is among PEERS, the suite is left out.
TAKES = {"bad-servers": {"python"}, "framing": {"go"}}


def main():
    # Whoever is told to end, ends its servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Told to end"))
    logs = CACHE / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    foreign = Foreign(CACHE)
    ours = Ours(foreign, BINARIES)
    peers = [kind(foreign) for name, kind in FOREIGN.items() if name in PEERS]
    players = {
        "cases": lambda table: matrix.play(matrix.pairings(ours, peers), table, logs),
        "bad-servers": lambda table: http2.play_bad_servers(ours, foreign, table, logs),
        "framing": lambda table: http2.play_framing(ours, foreign, table, logs),
        "corpora": lambda table: corpora.play(ours, foreign, table, logs),
        "references": lambda table: matrix.play(matrix.references(peers), table, logs, cases.client_lacks),
    }
    tables = [play(name, players[name]) for name in SUITES if name not in TAKES or TAKES[name] & PEERS]
    failures = sum(len(table.failures) for table in tables if table.name != "references")
    if failures:
        sys.exit(f"{failures} failed; what servers said is in {logs}")


def play(name, player):
    print(f"Playing {name}", flush=True)
    table = Table(name)
    player(table)
    print(f"\n{table.markdown()}", flush=True)
    return table


if __name__ == "__main__":
    main()
