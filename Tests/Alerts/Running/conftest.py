"""Fixtures: three processes of the service, watched by Debian's Prometheus and Alertmanager."""

import os
import sys
from pathlib import Path

# Shared with the acceptance tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Acceptance"))
# The service is started by fork and exec; gRPC has no part in that.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import pytest  # noqa: E402

pytest.register_assert_rewrite("support.errors", "support.server", "support.monitoring", "installation")

from installation import Installation  # noqa: E402
from support.monitoring import Monitoring  # noqa: E402
from support.server import BINARY, remove_own_variables  # noqa: E402


@pytest.fixture(scope="session")
def installation(tmp_path_factory):
    if not BINARY.exists():
        pytest.exit(f"there is no {BINARY}: run `make test-alerts`, or set TOUCHSTONE_BINARY", returncode=1)
    remove_own_variables()
    installation = Installation(tmp_path_factory.mktemp("services"))
    yield installation
    installation.close()


@pytest.fixture(scope="session")
def monitoring(installation, tmp_path_factory):
    monitoring = Monitoring(tmp_path_factory.mktemp("monitoring"), installation.metrics_addresses)
    yield monitoring
    monitoring.close()
