"""Addresses of a test's own."""

import random


def own_host():
    """One of the machine's 16 million addresses for itself. A port of it stays free between two servers, because no other test
    listens or connects from there; of 127.0.0.1 any client may get it meanwhile."""
    return ".".join(["127", *(str(random.randint(1, 254)) for _ in range(3))])
