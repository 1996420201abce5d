"""docs/quickstart.py runs as it stands."""

import subprocess
import sys

from support.stubs import DIRECTORY, PROTOS

QUICKSTART = PROTOS.parent / "docs" / "quickstart.py"


def test_the_quickstart_binds_logs_in_pays_and_recovers(server):
    run = subprocess.run(
        [sys.executable, str(QUICKSTART), server.address],
        env={"PYTHONPATH": DIRECTORY},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "login OUTCOME_SUCCEEDED",
        "payment OUTCOME_SUCCEEDED",
        "paid True and again False",
        # The device locks at five failures; each evaluation here has one.
        *["login OUTCOME_TRY_AGAIN"] * 4,
        "login OUTCOME_LOCKED_OUT",
        # By the passcode, and then by a finger again.
        "login OUTCOME_SUCCEEDED",
        "login OUTCOME_SUCCEEDED",
    ]
