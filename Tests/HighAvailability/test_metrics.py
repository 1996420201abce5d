"""Patroni exposes what the alerts on replication read (deploy/prometheus/rules/store.yaml)."""


def test_patroni_has_the_metrics_of_the_alerts(cluster):
    leader = cluster.leader()
    synchronous, other = cluster.standbys()
    metrics = {name: cluster.metrics(name) for name in cluster.hosts}
    assert {name: each["patroni_replica"] for name, each in metrics.items()} == {leader: 0, synchronous: 1, other: 1}
    assert {name: each["patroni_sync_standby"] for name, each in metrics.items()} == {leader: 0, synchronous: 1, other: 0}
    written = metrics[leader]["patroni_xlog_location"]
    assert written > 0
    assert metrics[leader]["patroni_xlog_replayed_location"] == 0
    for standby in (synchronous, other):
        assert metrics[standby]["patroni_xlog_location"] == 0
        assert 0 < metrics[standby]["patroni_xlog_replayed_location"]
