"""PostgreSQL that crashes under load, connections that are cut in the middle of a commit, and a failover."""

import random
import statistics
import time

import grpc

from faults.calls import SUCCEEDED
from faults.extent import kills
from faults.load import APPLICATION, Load
from support.proxy import LOSES_ANSWERS, OPEN
from faults.site import PostgresSite
from faults.watching import NOT_SERVING, SERVING, await_status, seconds_until_it_serves
from support.caller import new_caller
from support.phone import Phone
from support.stubs import bindings_pb2

#: How often PostgreSQL is killed: `make soak KILLS=200`. It takes its time to start after it.
KILLS = kills(3, in_ci=3)
#: How often connections are cut under load.
CUTS = 8

#: What customers do between two faults.
ACTS = (1, 30)
#: While answers are lost, commits are done that nobody hears of.
LOSS_SECONDS = (0.0, 0.05)
#: A service is back within a second of its database; beside others, on a busy machine, within this. A machine that
#: stands still may make any one of them late, and not most.
RETURN_SECONDS = 3
#: At once: some of them wait for a connection, and so become a group.
REVOCATIONS = 20
#: On whichever connection is free.
READS = 40
#: Longer than the store tries.
REVOCATION_SECONDS = 8


def test_what_was_answered_survives_every_crash_of_postgresql(mortal_site, mortal_postgres, seed):
    """The service lives through all of them."""
    dice = random.Random(seed)
    load = Load(dice.random())
    server = mortal_site.start()
    caller = new_caller(server, APPLICATION)
    returns = []
    for _ in range(KILLS):
        run = load.run(server)
        run.await_acts(dice.randint(*ACTS))
        mortal_postgres.stop("immediate")
        run.await_refusals()
        mortal_postgres.start()
        returns.append(seconds_until_it_serves(caller))
        load.check(server)
        mortal_site.check_log()
        load.renew()
    assert statistics.median(returns) < RETURN_SECONDS
    await_status(server, SERVING)
    assert server.process.poll() is None


def test_every_answer_is_right_where_connections_are_cut_in_the_middle_of_commits(distant_site, proxy, seed):
    """The database has done what was sent, or has not: who was cut off asks it, and does not guess."""
    dice = random.Random(seed)
    load = Load(dice.random())
    server = distant_site.start()
    caller = new_caller(server, APPLICATION)
    run = load.run(server)
    returns = []
    for _ in range(CUTS):
        run.await_acts(run.done + dice.randint(*ACTS))
        proxy.mode = LOSES_ANSWERS
        time.sleep(dice.uniform(*LOSS_SECONDS))
        proxy.mode = OPEN
        proxy.cut()
        returns.append(seconds_until_it_serves(caller))
        run.resume()
    run.end()
    assert statistics.median(returns) < RETURN_SECONDS
    # Counts the effects: one for each answer, none for a refusal that said so.
    load.check(server)
    distant_site.check_log()
    assert run.done > CUTS


def test_that_a_binding_is_revoked_already_is_only_answered_once_a_standby_has_it(mortal_site, mortal_postgres):
    """A commit of a group can be read before it is durable: who tries again is not told of it any earlier."""
    caller = new_caller(mortal_site.start(), APPLICATION)
    phones = [Phone() for _ in range(REVOCATIONS)]
    for phone in phones:
        caller.bind(phone)
    mortal_postgres.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    mortal_postgres.execute("SELECT pg_reload_conf()")
    mortal_postgres.await_waiting_commits()
    assert revoke(caller, phones).isdisjoint({grpc.StatusCode.OK})
    bindings = "SELECT count(*) FROM bindings WHERE is_revoked"
    assert int(mortal_postgres.execute(bindings, mortal_site.uri)[0]) > 0
    assert revoke(caller, phones).isdisjoint({grpc.StatusCode.OK})
    # One alone has time to be asked for twice in a call.
    assert revoke(caller, phones[:1]).isdisjoint({grpc.StatusCode.OK})
    mortal_postgres.execute("ALTER SYSTEM RESET synchronous_standby_names")
    mortal_postgres.execute("SELECT pg_reload_conf()")
    seconds_until_it_serves(caller)
    assert revoke(caller, phones) == {grpc.StatusCode.OK}


def test_a_primary_that_was_replaced_and_goes_on_is_not_read(cluster, tmp_path):
    """As where its machine was paused, or its cluster manager hangs. One answer of the new primary is enough: from then on
    the process takes none of the old one's."""
    site = PostgresSite(tmp_path, cluster.primary, cluster.uri)
    try:
        caller = new_caller(site.start(), APPLICATION)
        phone = Phone()
        caller.bind(phone)
        token = caller.login(phone).token
        cluster.standby.promote()
        seconds_until_it_serves(caller)
        caller.revoke_token(token)
        seconds = []
        for _ in range(READS):
            assert not caller.introspect(token).active
            began = time.monotonic()
            assert caller.login(phone).outcome == SUCCEEDED
            seconds.append(time.monotonic() - began)
        # On the old primary a commit would wait for the standby that left it.
        assert statistics.median(seconds) < 1
        # It is as it was, and would answer.
        is_primary = "SELECT NOT pg_is_in_recovery()"
        assert cluster.primary.execute(is_primary) == cluster.standby.execute(is_primary) == ["t"]
        site.uri = cluster.standby.uri(site.name)
        site.check_log()
    finally:
        site.close()


def revoke(caller, phones):
    """All at once; answers the codes."""
    requests = [
        bindings_pb2.RevokeBindingRequest(
            application_id=caller.application_id, binding_id=phone.binding.binding_id, reason="lost"
        )
        for phone in phones
    ]
    calls = [caller.bindings.RevokeBinding.future(request, timeout=REVOCATION_SECONDS) for request in requests]
    return {call.code() for call in calls}


def test_no_answered_login_is_lost_where_a_synchronous_standby_takes_over(cluster, tmp_path, seed):
    """Nothing is answered that the standby does not have: also not those commits of a group that do not wait for
    themselves, as the log's order has the last one wait for all."""
    site = PostgresSite(tmp_path, cluster.primary, cluster.uri)
    try:
        load = Load(seed)
        server = site.start()
        caller = new_caller(server, APPLICATION)
        run = load.run(server)
        run.await_acts(ACTS[-1])
        cluster.standby.stop("immediate")
        # What is on its way is refused in time, and all that comes.
        run.await_refusals()
        await_status(server, NOT_SERVING)
        cluster.standby.start()
        seconds_until_it_serves(caller)
        load.check(server)
        site.check_log()

        run = load.run(server)
        run.await_acts(ACTS[-1])
        cluster.primary.stop("immediate")
        run.await_refusals()
        await_status(server, NOT_SERVING)
        cluster.standby.promote()
        seconds_until_it_serves(caller)
        await_status(server, SERVING)
        load.check(server)
        site.uri = cluster.standby.uri(site.name)
        site.check_log()
    finally:
        site.close()
