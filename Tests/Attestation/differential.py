"""Mutates the vectors, and compares `touchstone attestation check` with PyPI's webauthn, fido2, pyattest and cryptography.

    differential.py BINARY SEEDS COUNT

What it accepts and all that judge such a proof refuse is a fault: it is printed, and the exit status is 1. The other
differences are counted by reason (README.md).
"""

import collections
import json
import random
import subprocess
import sys
import tempfile

from mutations import mutated
from proofs import load, ours
from strangers import STRANGERS, refusal

#: Cases of one file.
BATCH = 500


def judged(binary, cases):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([ours(case, str(number)) for number, case in enumerate(cases)], file)
        file.flush()
        checked = subprocess.run(
            [binary, "attestation", "check", "--json", file.name], capture_output=True, text=True, timeout=300
        )
    verdicts = [json.loads(line) for line in checked.stdout.splitlines()]
    assert len(verdicts) == len(cases), f"{checked.returncode}: {checked.stderr[-1_000:]}"
    return verdicts


class Comparison:
    """How often each verdict of ours met which of the strangers' agreement, and what only ours accepted."""

    def __init__(self):
        self.classes = collections.Counter()
        self.faults = collections.Counter()

    def add(self, case, verdict):
        refusals = {judge.__name__[3:]: refusal(judge, case) for judge in STRANGERS[case["proof"]]}
        accepting = ",".join(name for name, error in refusals.items() if error is None)
        word = verdict["verdict"] if verdict["verdict"] == "accepted" else verdict["reason"]
        if word != "accepted" or accepting:
            self.classes[case["proof"], word, accepting or "none"] += 1
        elif verdict.get("level") == "self" and any("error parsing asn1" in error for error in refusals.values()):
            # Nothing is used of certificates that no root was asked for; cryptography cannot parse this one.
            self.classes[case["proof"], "accepted at level self", "none, unparsed"] += 1
        else:
            self.add_fault(case, refusals)

    def add_fault(self, case, refusals):
        self.faults[case["proof"], str(refusals)] += 1
        if self.faults[case["proof"], str(refusals)] == 1:
            print("FAULT", refusals, json.dumps(ours(case, "fault")), flush=True)

    def report(self):
        for (proof, word, accepting), number in sorted(self.classes.items()):
            differs = " " if word.startswith("accepted") == (accepting != "none") else "*"
            print(f"{differs} {number:7} {proof:15} {word:28} accepted by {accepting}")
        for (proof, errors), number in self.faults.most_common():
            print(f"fault {number:5} {proof} {errors}")


def main(binary, seeds, count):
    cases = [c for c in load() if any(refusal(judge, c) is None for judge in STRANGERS[c["proof"]])]
    comparison = Comparison()
    for seed in range(1, int(seeds) + 1):
        print(f"seed {seed}: {count} of {len(cases)} proofs that strangers accept, changed", flush=True)
        chance = random.Random(seed)
        for _ in range(0, int(count), BATCH):
            batch = [mutated(chance, cases) for _ in range(BATCH)]
            for case, verdict in zip(batch, judged(binary, batch), strict=True):
                comparison.add(case, verdict)
    comparison.report()
    sys.exit(1 if comparison.faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
