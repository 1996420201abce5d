"""The Python client's wheel, and Pythons of their own to install it in, as its users do."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: What `make clients` built.
PACKAGES = Path(os.environ.get("CLIENT_PACKAGES") or ROOT / ".build-clients")
WHEELS = sorted(PACKAGES.glob("touchstone_client-*.whl"))
#: The versions that are tested.
CONSTRAINTS = ROOT / "Tests/Acceptance/requirements.txt"

INSTALL_SECONDS = 300


def installed(directory, *packages, constraints=("--constraint", CONSTRAINTS)):
    """The interpreter of a new environment that has the packages and what they require, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True, timeout=INSTALL_SECONDS)
    python = directory / "bin/python"
    options = ["--quiet", "--disable-pip-version-check", *constraints]
    subprocess.run([python, "-m", "pip", "install", *options, *packages], check=True, timeout=INSTALL_SECONDS)
    return python
