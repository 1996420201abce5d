"""What all tests in Python need. It imports nothing of theirs: some of them run where there is no gRPC."""

import os
import sys

import pytest

# What tests start is started by fork and exec; gRPC has no part in that.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

pytest.register_assert_rewrite("availability", "containers", "debian", "faults", "installation", "support")


@pytest.fixture(scope="session", autouse=True)
def _environment():
    """Without the tests' own variables, which the service would refuse."""
    if server := sys.modules.get("support.server"):
        server.remove_own_variables()
