"""Measures everything that has a budget, and prints each budget beside its figure. Exits with 1 if a threshold is not kept.

PARTS: only these modules of Tests/Benchmarks, such as "measure idle". A part that ends in an error fails its budgets; the
others are still measured.
"""

import importlib
import os
import subprocess
import sys
import time

import budgets
from service import CORES, verification_microseconds

#: Runnable processes on average over the last minute, for each core, from which on times are not to be trusted.
BUSY_LOAD = 0.5


def main():
    parts = os.environ.get("PARTS", "").split() or budgets.PARTS
    if unknown := set(parts) - set(budgets.PARTS):
        sys.exit(f"PARTS: {', '.join(sorted(unknown))} has no budget; {', '.join(budgets.PARTS)} have")
    load = os.getloadavg()[0]
    print(f"{len(CORES)} cores, V = {verification_microseconds():.1f} µs, load average {load:.1f}")
    if load > BUSY_LOAD * len(CORES):
        print("The machine is busy with something else: times, and what is measured in V, may fail for that reason.")
    figures, broken = {}, []
    for part in parts:
        begin = time.monotonic()
        print(f"\n== {part}", flush=True)
        try:
            figures |= importlib.import_module(part).measure()
        except (SystemExit, OSError, ArithmeticError, subprocess.SubprocessError) as failure:
            broken.append(f"{part}: {failure}")
            print(broken[-1], flush=True)
        print(f"({time.monotonic() - begin:.0f} s)", flush=True)
    exit_code = budgets.judge(figures) if figures else 1
    for line in broken:
        print(f"not measured: {line}")
    return 1 if broken else exit_code


if __name__ == "__main__":
    sys.exit(main())
