"""Runs benchmarks, and prints each budget beside its figure. Exits with 1 if a threshold is not kept.

WHAT: the scripts of this directory to run, such as "measure idle"; without it, all that have a budget. A script that ends in an
error fails its budgets; the others are still run.
"""

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import budgets
from service import CORES, verification_microseconds

#: Runnable processes on average over the last minute, for each core, from which on times are not to be trusted.
BUSY_LOAD = 0.5


def scripts():
    """All that can be run, by name: the other files of this directory are their parts."""
    found = Path(__file__).parent.glob("*.py")
    return {path.stem for path in found if '__name__ == "__main__"' in path.read_text()} - {Path(__file__).stem}


def main():
    names = os.environ.get("WHAT", "").split() or budgets.PARTS
    if unknown := set(names) - scripts():
        sys.exit(f"WHAT: there is no {', '.join(sorted(unknown))}; there are {', '.join(sorted(scripts()))}")
    load = os.getloadavg()[0]
    print(f"{len(CORES)} cores, V = {verification_microseconds():.1f} µs, load average {load:.1f}")
    if load > BUSY_LOAD * len(CORES):
        print("The machine is busy with something else: times, and what is measured in V, may fail for that reason.")
    figures, broken = {}, []
    for name in names:
        begin = time.monotonic()
        print(f"\n== {name}", flush=True)
        try:
            script = importlib.import_module(name)
            if hasattr(script, "measure"):
                figures |= script.measure()
            else:
                script.main()
        except (SystemExit, OSError, ArithmeticError, subprocess.SubprocessError) as failure:
            broken.append(f"{name}: {failure}")
            print(broken[-1], flush=True)
        print(f"({time.monotonic() - begin:.0f} s)", flush=True)
    exit_code = budgets.judge(figures)
    for line in broken:
        print(f"failed: {line}")
    return 1 if broken else exit_code


if __name__ == "__main__":
    sys.exit(main())
