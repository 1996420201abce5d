"""Fixtures: the image, and containers of a test's own.

`make verify-image` runs these tests in a network namespace of their own, so that the container has its usual address and no other program
reaches it.
"""

import pytest

from containers import Containers, Installation


@pytest.fixture(scope="session", autouse=True)
def image():
    image = Containers.image()
    if image is None:
        pytest.exit("there is no image: run `make image`", returncode=1)
    return image


@pytest.fixture
def installation(tmp_path):
    """What an operator mounts: a configuration, a certificate and its key."""
    return Installation(tmp_path / "etc")


@pytest.fixture
def containers(tmp_path):
    """Starts containers, and removes them and their volume at the end."""
    containers = Containers()
    yield containers
    containers.close()
