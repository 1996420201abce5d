"""What calls beyond its capacity do to a server.

A bare server of DispatchRPC (rpc/overload), then the service beside the baseline's Go service (baseline.py), in turns, with the first
core; the load has the second one. A closed loop finds each one's capacity. Then logins are due at 1, 2 and 4 times that rate,
whether the earlier ones were answered or not. Goodput is what succeeded, each of a login's two requests within DEADLINE. Each
figure is a median of ROUNDS (3) loads of SECONDS (5).
"""

import os
import subprocess
import sys

import budgets
from baseline import ERRORS_ALLOWED, build_baseline, in_turns, started
from service import built, report

DURATION = f"{os.environ.get('SECONDS', '5')}s"
MULTIPLES = [1, 2, 4]
DEADLINE = "500ms"
#: So many connections that a limit of streams on each keeps no call in the client.
LOAD = ["--connections", 32, "--streams", 10, *ERRORS_ALLOWED]
#: If the load client sent less than this part of what was due, it was the limit, and not the server.
SENT = 0.95


def measure_system(system):
    """By multiple of capacity: goodput, what was sent, refused and late, as parts of capacity."""
    with started(system) as server:
        capacity = report(server.load(*LOAD, duration=DURATION), is_saturating=True)["rate"]
        figures = {"capacity": capacity}
        for multiple in MULTIPLES:
            options = ["--rate", f"{multiple * capacity:.0f}", "--timeout", DEADLINE]
            found = report(server.load(*LOAD, *options, duration=DURATION), may_miss=True)
            whole = capacity * found["seconds"]
            figures |= {
                (multiple, "sent"): (found["due"] - found["unsent"]) / whole,
                (multiple, "goodput"): found["succeeded"] / whole,
                (multiple, "refused"): found["failed"] / whole,
                (multiple, "late"): (found["timed_out"] + found["unfinished"]) / whole,
            }
    return figures


def measure():
    subprocess.run([built("rpc-overload")], check=True)
    build_baseline()
    systems = dict(zip(["touchstone", "go-boring"], in_turns("go-boring", measure_one=measure_system), strict=True))
    names = ["sent", "goodput", "refused", "late"]
    print("times capacity" + " " * 23 + "".join(f"{name:>10}" for name in names))
    for multiple in MULTIPLES:
        for system, figures in systems.items():
            parts = [figures[multiple, name] for name in names]
            row = f"{system:11}at {multiple} × {figures['capacity']:.0f} logins/s"
            limit = "  touchstone-load was the limit" if parts[0] < SENT * multiple else ""
            print(f"{row:37}" + "".join(f"{part:10.2f}" for part in parts) + limit, flush=True)
    ours = systems["touchstone"]
    return {f"overload_{multiple}": 100 * (1 - ours[multiple, "goodput"]) for multiple in MULTIPLES}


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
