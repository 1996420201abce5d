"""Plays grpc's interoperability suites against DispatchRPC: `make interop`.

Prints tables and exits with 1 where a cell of them fails. What it needs of others it fetches and builds in
INTEROP_CACHE (.build-interop): grpc's programs from the distribution's source packages, their packages from PyPI.

PEERS names the foreign implementations to play with (python, go, cpp); SUITES what to play:

  cases       every interoperability case, both ways, in plaintext and over TLS
  references  the same between the foreign ones: what fails there as well is not ours
"""

import os
import sys
from pathlib import Path

from suite import matrix
from suite.foreign import Foreign
from suite.peers import FOREIGN, Ours
from suite.table import Table

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("INTEROP_CACHE", ROOT / ".build-interop")).resolve()
BINARIES = Path(os.environ.get("INTEROP_BINARIES", ROOT / ".build/debug")).resolve()
PEERS = os.environ.get("PEERS", "python go cpp").split()
SUITES = os.environ.get("SUITES", "cases").split()


def main():
    CACHE.mkdir(parents=True, exist_ok=True)
    logs = CACHE / "logs"
    logs.mkdir(exist_ok=True)
    foreign = Foreign(CACHE)
    ours = Ours(foreign, BINARIES)
    peers = [FOREIGN[name](foreign) for name in PEERS]
    tables = []
    if "cases" in SUITES:
        tables.append(Table("case"))
        matrix.play(matrix.pairings(ours, peers), tables[-1], logs)
    if "references" in SUITES:
        tables.append(Table("case"))
        matrix.play(matrix.references(peers), tables[-1], logs)
    for table in tables:
        print(f"\n{table.markdown()}")
    failures = sum(len(table.failures) for table in tables)
    if failures:
        sys.exit(f"{failures} failed; the servers' logs are in {logs}")


if __name__ == "__main__":
    main()
