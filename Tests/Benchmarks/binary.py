"""How large the release binary is without its debugging symbols."""

import subprocess
import sys
import tempfile
from pathlib import Path

import budgets
from service import TOUCHSTONE


def measure():
    with tempfile.TemporaryDirectory(prefix="touchstone-binary-") as directory:
        stripped = Path(directory) / "touchstone"
        subprocess.run(["strip", "-o", stripped, TOUCHSTONE], check=True)
        megabytes = stripped.stat().st_size / 1e6
    print(f"{megabytes:.1f} MB")
    return {"binary": megabytes}


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
