"""Compares crypto_mb's answers with swift-crypto's, on this CPU or, if it lacks AVX-512 IFMA, in an emulated machine.

    accelerated.py PROGRAM DIRECTORY BATCHES SEEDS

For each seed from 1 to SEEDS, PROGRAM (accelerated-check) writes BATCHES batches with swift-crypto's answers into
DIRECTORY, and judges the accelerator's answers by them.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import emulator

HERE = Path(__file__).parent

#: What `accelerated-check judge` exits with if the CPU lacks the accelerator's instructions (EX_UNAVAILABLE).
NO_ACCELERATOR = 69


def prepare(program, directory, batches, seed):
    crafted = directory / f"crafted-{seed}.txt"
    cases = directory / f"cases-{seed}.txt"
    with crafted.open("w") as file:
        subprocess.run([sys.executable, HERE / "crafted.py", str(seed)], stdout=file, check=True)
    with cases.open("w") as file:
        subprocess.run([program, "prepare", crafted, str(seed), str(batches)], stdout=file, check=True)
    return cases


def has_accelerator(program):
    judge = subprocess.run([program, "judge", os.devnull], capture_output=True)
    return judge.returncode != NO_ACCELERATOR


def main():
    program, directory = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    batches, seeds = int(sys.argv[3]), int(sys.argv[4])
    directory.mkdir(parents=True, exist_ok=True)
    if has_accelerator(program):

        def judge(seed, cases):
            return subprocess.run([program, "judge", cases]).returncode

    else:
        print("This CPU lacks AVX-512 IFMA: an emulated one judges, at some 20 million instructions a second", flush=True)
        machine = emulator.Machine(program, directory)

        def judge(seed, cases):
            return machine.judge(cases, name=f"seed {seed}")

    def run(seed):
        print(f"seed {seed}: {batches} batches", flush=True)
        cases = prepare(program, directory, batches, seed)
        return judge(seed, cases)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(run, range(1, seeds + 1)))
    failures = [f"seed {seed} ({result})" for seed, result in enumerate(results, start=1) if result != 0]
    if failures:
        sys.exit(f"failed: {', '.join(failures)}; the cases are in {directory}")
    print(f"passed: {seeds} seeds of {batches} batches")


main()
