"""The primary's host fails under load: no answer is lost, and the service is back in the time that the docs state."""

import contextlib
import os
import time

import pytest

from availability.logins import Logins, Revocation
from availability.network import CLIENTS, CLUSTER
from faults.load import Load
from faults.watching import NOT_SERVING, await_status
from support.server import run

#: How often each host fails: `make test-ha ROUNDS=5`.
ROUNDS = int(os.environ.get("HA_ROUNDS") or 1)

#: As docs/HIGH-AVAILABILITY.md has them: without an answered login, at each process, at most.
FAILOVER_SECONDS = 40
SWITCHOVER_SECONDS = 15
STANDBY_SECONDS = 15

#: Customers at each process, beside the phones that only log in.
CUSTOMERS = 2
#: Logins of each process before a fault.
LOGINS = 60
#: Challenges that were used in this time before a fault are tried again, with all that were used after it.
JUST_BEFORE_SECONDS = 1.0


def cut_off(host):
    host.unplug(CLIENTS)
    host.unplug(CLUSTER)


FAULTS = {
    "killed": lambda host: host.kill(),
    "cut off": cut_off,
    "cut off from the cluster, not from the service": lambda host: host.unplug(CLUSTER),
    "paused": lambda host: host.pause(),
    # PostgreSQL goes on, as a primary beside the one that is promoted.
    "its Patroni paused": lambda host: host.pause("/usr/bin/patroni"),
}


@pytest.mark.parametrize("turn", range(ROUNDS))
@pytest.mark.parametrize("fault", FAULTS)
def test_no_answered_login_is_lost_with_the_primarys_host(cluster, servers, outages, seed, fault, turn):
    old = cluster.leader()
    with under_load(servers, seed) as logins:
        revoked = logins.answered[0]
        began = time.monotonic()
        FAULTS[fault](cluster.hosts[old])
        cluster.await_other_leader(old)
        logins.await_each(time.monotonic())
        logins.check_use(began - JUST_BEFORE_SECONDS)
        # From here on each process has found the new primary: the old one's answers are over.
        revocation = Revocation(servers, logins.application_id, revoked.token)
        cluster.heal()
        cluster.await_whole()
        logins.await_each(time.monotonic())
        revocation.end()
    check(cluster, logins)
    note(outages, f"primary's host {fault}", logins.outages(began), FAILOVER_SECONDS)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_no_answered_login_is_lost_in_a_switchover(cluster, servers, outages, seed, turn):
    old = cluster.leader()
    new, _ = cluster.standbys()
    with under_load(servers, seed) as logins:
        began = time.monotonic()
        cluster.switch_over(old, new)
        logins.await_each(time.monotonic())
        assert cluster.await_other_leader(old) == new
        logins.check_use(began - JUST_BEFORE_SECONDS)
        cluster.await_whole()
        logins.await_each(time.monotonic())
    check(cluster, logins)
    note(outages, "switchover", logins.outages(began), SWITCHOVER_SECONDS)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_another_standby_takes_the_place_of_one_that_is_lost(cluster, servers, outages, seed, turn):
    leader = cluster.leader()
    synchronous, _ = cluster.standbys()
    with under_load(servers, seed) as logins:
        began = time.monotonic()
        cluster.hosts[synchronous].kill()
        logins.await_each(time.monotonic())
        assert cluster.leader() == leader
        cluster.heal()
        cluster.await_whole()
    check(cluster, logins)
    note(outages, "synchronous standby's host killed", logins.outages(began), STANDBY_SECONDS)


def test_one_host_alone_answers_no_login(cluster, servers, seed):
    """Its loss would lose them. Nor has etcd a majority then."""
    with under_load(servers, seed) as logins:
        for name in cluster.standbys():
            cluster.hosts[name].kill()
        began = time.monotonic()
        for server in servers:
            await_status(server, NOT_SERVING)
        assert not [login for login in logins.answered_since(began) if login.began > began]
        cluster.heal()
        cluster.await_whole()
        logins.await_each(time.monotonic())
    check(cluster, logins)


@contextlib.contextmanager
def under_load(servers, seed):
    """Phones log in, and customers do all that customers do, at each process. At the end each customer finds all as it was
    answered, at another process."""
    loads = [Load(seed + index, CUSTOMERS) for index in range(len(servers))]
    logins = Logins(servers)
    runs = [load.run(server) for load, server in zip(loads, servers, strict=True)]
    try:
        logins.await_each(time.monotonic(), LOGINS)
        yield logins
    finally:
        logins.end()
        for each in runs:
            each.end()
    for load, server in zip(loads, servers[1:] + servers[:1], strict=True):
        load.check(server)


def check(cluster, logins):
    """All that was answered is there, and the audit log is whole."""
    logins.settle()
    logins.check({int(row) for row in cluster.query("SELECT expires_at FROM evaluations WHERE is_finished")})
    verified = run("audit", "verify", "--store", cluster.uri)
    assert verified.returncode == 0, verified.stderr


def note(outages, fault, seconds, limit):
    outages.setdefault(fault, []).append(max(seconds))
    print(f"{fault}: {seconds}")
    assert max(seconds) <= limit, f"{fault}: {seconds}"
