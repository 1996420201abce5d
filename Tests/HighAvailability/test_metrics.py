"""Patroni exposes what the alerts on replication read (deploy/prometheus/rules/store.yaml)."""


def test_patroni_has_the_metrics_of_the_alerts(cluster):
    leader = cluster.leader()
    synchronous, other = cluster.standbys()
    metrics = cluster.await_metrics(synchronous, "patroni_sync_standby")
    assert {name: each["patroni_sync_standby"] for name, each in metrics.items()} == {leader: 0, synchronous: 1, other: 0}
    assert {name: each["patroni_replica"] for name, each in metrics.items()} == {leader: 0, synchronous: 1, other: 1}
    assert metrics[leader]["patroni_xlog_location"] > 0
    assert metrics[leader]["patroni_xlog_replayed_location"] == 0
    for standby in (synchronous, other):
        assert metrics[standby]["patroni_xlog_location"] == 0
        assert metrics[standby]["patroni_xlog_replayed_location"] > 0
