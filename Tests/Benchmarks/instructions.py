"""Instructions and allocations of one call: a gate that a busy machine cannot fail.

The release service runs under callgrind, which counts instructions instead of time, and touchstone-load loads it. Only
what a longer run has more than a brief one is counted, because both bind as many phones and make as many connections. The
lowest of several runs stands.

Prints each figure beside its threshold in instructions.json, and fails if one is more than TOLERANCE above it. If one is
lower by as much, lower the threshold: ACCEPT=1 writes the measured figures there.

Callgrind shows the service a processor with AVX2, but without ADX and SHA instructions. BoringSSL therefore runs slower
code than on the machine itself, and is counted apart. The figures depend on the compiler, valgrind, libc, nghttp2, SQLite
and protobuf-c, so instructions.json names the system that they were measured on. They do not count the kernel.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import callgrind
from service import CLIENT_LIMITED, TOUCHSTONE, TOUCHSTONE_LOAD, Service, install

THRESHOLDS = Path(__file__).with_suffix(".json")
#: Runs of one binary differ by up to 2 %, because the number of commits that share an fsync varies. One more allocation
#: in each preflight is seen, or five in each login.
TOLERANCE = 0.03
#: SQLite's instructions also grow with the database, and so with the speed of the machine.
TOLERANCE_OF_SQLITE = 0.2
#: A preflight has neither cryptography nor SQLite. What runs beside it has little, while one digest takes 3,000
#: instructions.
LEAST_WHOLE = {"cryptography": 20_000, "sqlite": 5_000}

SCENARIOS = ["login", "preflight"]
#: How many calls a long run has beyond a brief one at least, however slow the machine is.
COUNTED_CALLS = 500
BRIEF_SECONDS, LONG_SECONDS, MOST_SECONDS = 4, 10, 200
REPEATS = 3
#: One connection, so that the calls of a round of the event loop vary little.
PHONES = 32

#: As callgrind names them; libc's own calls among them count, too.
ALLOCATIONS = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"}
#: The functions that Swift code calls of BoringSSL, and the names of Swift's own functions.
BORINGSSL, SWIFT = "CCryptoBoringSSL", "$s"
SQLITE = "libsqlite3.so"


@dataclass(frozen=True)
class Counts:
    calls: int
    #: But those of cryptography and SQLite.
    instructions: int
    cryptography: int
    sqlite: int
    allocations: int

    def per_call_since(self, brief):
        calls = self.calls - brief.calls
        return {
            name: max(0, round((getattr(self, name) - getattr(brief, name)) / calls, 1))
            for name in ("instructions", "cryptography", "sqlite", "allocations")
        }


def count(profile, calls):
    cryptography = sum(
        cost
        for (caller, function), cost in profile.inclusive.items()
        if caller.startswith(SWIFT) and function.startswith(BORINGSSL)
    )
    sqlite = sum(count for path, count in profile.own_of_objects.items() if SQLITE in path)
    instructions = sum(profile.own.values()) - cryptography - sqlite
    return Counts(calls, instructions, cryptography, sqlite, profile.calls_of(ALLOCATIONS))


class CountedService:
    """`touchstone serve` under callgrind."""

    def __init__(self, directory):
        self._counts = directory / "callgrind.out"
        # Valgrind cannot read Swift's debug information.
        binary = directory / "touchstone"
        subprocess.run(["strip", "--strip-debug", "-o", binary, TOUCHSTONE], check=True)
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self._counts}", "--fair-sched=yes"]
        self._service = Service(directory, program=[*valgrind, binary], has_one_loop=True)
        self._dumps = 0

    def run(self, scenario, seconds, least_calls=1):
        """What the service did for one run of the load client: a longer one if it was too short for so many calls."""
        while (counts := self._run(scenario, seconds)).calls < least_calls and seconds < MOST_SECONDS:
            seconds *= 2
        if counts.calls < least_calls:
            sys.exit(f"{scenario}: {counts.calls} calls in {seconds} seconds")
        return counts

    def _run(self, scenario, seconds):
        self._dump()
        command = [TOUCHSTONE_LOAD, "--target", self._service.address, "--scenario", scenario, "--json"]
        command += ["--connections", "1", "--streams", str(PHONES), "--duration", f"{seconds}s", "--warmup", "0s"]
        # Every call ends, however slow the machine is.
        command += ["--timeout", f"{MOST_SECONDS}s", "--grace", f"{MOST_SECONDS}s"]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if ended.returncode not in (0, CLIENT_LIMITED):
            sys.exit(f"{scenario}: touchstone-load ended with {ended.returncode}: {ended.stdout}")
        report = json.loads(ended.stdout)
        if report["errors"]:
            sys.exit(f"{scenario}: {report}")
        return count(callgrind.read(self._dump()), report["succeeded"])

    def stop(self):
        self._service.stop()

    def _dump(self):
        """Writes the counts since the last dump into a file."""
        command = ["callgrind_control", "--dump", str(self._service.pid)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._dumps += 1
        return self._counts.with_suffix(f".out.{self._dumps}")


def count_scenarios():
    """The figures of each scenario."""
    install("callgrind")
    with tempfile.TemporaryDirectory(prefix="touchstone-instructions-") as directory:
        service = CountedService(Path(directory))
        try:
            figures = {}
            for scenario in SCENARIOS:
                # The first run also fills caches.
                service.run(scenario, BRIEF_SECONDS)
                brief = service.run(scenario, BRIEF_SECONDS)
                least_calls = brief.calls + COUNTED_CALLS
                runs = [service.run(scenario, LONG_SECONDS, least_calls).per_call_since(brief) for _ in range(REPEATS)]
                figures[scenario] = {name: min(run[name] for run in runs) for name in runs[0]}
            return figures
        finally:
            service.stop()


def system():
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}, {valgrind}"


def main():
    figures, here = count_scenarios(), system()
    if os.environ.get("ACCEPT"):
        THRESHOLDS.write_text(json.dumps({"system": here, "thresholds": figures}, indent=2) + "\n")
    committed = json.loads(THRESHOLDS.read_text())
    print(f"{here}; thresholds from {committed['system']}")
    print(f"{'a call':<12}{'of':<14}{'measured':>12}{'threshold':>12}{'difference':>12}")
    failed = []
    for scenario, measured in figures.items():
        for name, value in measured.items():
            threshold = committed["thresholds"][scenario][name]
            difference = (value - threshold) / max(threshold, LEAST_WHOLE.get(name, 0))
            print(f"{scenario:<12}{name:<14}{value:>12,.1f}{threshold:>12,.1f}{difference:>+12.1%}")
            if difference > (TOLERANCE_OF_SQLITE if name == "sqlite" else TOLERANCE):
                failed.append(f"{name} per {scenario}")
    if failed:
        sys.exit(f"more than the threshold allows: {', '.join(failed)}")


if __name__ == "__main__":
    main()
