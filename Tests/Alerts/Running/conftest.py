"""Fixtures: three processes of the service, watched by Debian's Prometheus and Alertmanager."""

import pytest

from installation import Installation
from support.monitoring import Monitoring


@pytest.fixture(scope="session")
def installation(tmp_path_factory):
    installation = Installation(tmp_path_factory.mktemp("services"))
    yield installation
    installation.close()


@pytest.fixture(scope="session")
def monitoring(installation, tmp_path_factory):
    monitoring = Monitoring(tmp_path_factory.mktemp("monitoring"), installation.metrics_addresses)
    yield monitoring
    monitoring.close()
