"""Prometheus collects all metrics, the dashboard's queries have data, and what goes wrong arrives as an alert."""

import json
import re
import signal

import pytest

from installation import Customer, Denied, Failing, guess_at_many, metrics_address
from support.monitoring import DEPLOY, ROOT, check_runbook
from support.replicas import Load
from support.scaling import scaled

DASHBOARD = DEPLOY.parent / "grafana/touchstone.json"
METRICS = ROOT / "docs/METRICS.md"

#: For what takes 10 s.
DATA_SECONDS = 40
#: For what takes 20 s: a sweep every five, a scaled minute without a good one, and one more.
ALERT_SECONDS = 60

#: More than 60 wrong passcodes, at five for each profile.
GUESSED_PROFILES = 16


@pytest.fixture
def traffic(installation):
    """Customers at both stores, and calls that are refused."""
    caller, of_postgresql = installation.caller(), installation.caller_of_postgresql()
    load = Load(Customer(caller), Customer(of_postgresql), Denied(caller, installation.stranger()))
    with load:
        load.wait_for_rounds(3)
        installation.on_sqlite.reload()
        yield load


def families():
    """Of docs/METRICS.md: names and types."""
    table = METRICS.read_text().split("<!-- families -->")[1].split("<!-- end of families -->")[0]
    return re.findall(r"(?m)^\| `(\w+)` \| (\w+) \|", table)


def queries():
    """Of the dashboard, by panel, as Grafana sends them for all jobs and instances."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            query = scaled(target["expr"]).replace("$__rate_interval", "10s")
            yield f"{panel['title']} {target['refId']}", re.sub(r"\$(job|instance)\b", ".+", query)


def test_only_times_are_scaled():
    assert scaled("rate(a[1h] offset 6s) > 60\nfor: 30s") == "rate(a[600000ms] offset 1000ms) > 60\nfor: 5000ms"


def test_prometheus_collects_every_family_of_the_docs(monitoring, traffic):
    expected = {f"{name}_bucket" if kind == "histogram" else name for name, kind in families()}
    assert sum(name.startswith("touchstone_") for name in expected) >= 15
    missing = monitoring.await_all(
        {"three targets": lambda: [number for _, number in monitoring.query("up")] == [1, 1, 1]}
        | {name: lambda name=name: name in monitoring.names() for name in expected},
        DATA_SECONDS,
    )
    assert missing == []


def test_every_query_of_the_dashboard_has_data(monitoring, traffic):
    asked = dict(queries())
    assert len(asked) > 50
    without = monitoring.await_all(
        {panel: lambda query=query: monitoring.has_data(query) for panel, query in asked.items()}, DATA_SECONDS
    )
    assert without == [], {panel: asked[panel] for panel in without}


def test_what_goes_wrong_arrives_as_an_alert_with_its_section_of_the_runbook(monitoring, installation):
    assert monitoring.query('ALERTS{alertstate="firing"}') == []
    installation.postgres.stop("immediate")
    installation.lost.process.send_signal(signal.SIGKILL)
    guess_at_many(installation.caller(), GUESSED_PROFILES)
    failing = Failing(installation.caller_of_postgresql())
    with Load(failing):
        alerts = [
            monitoring.receiver.next_alert("TouchstoneSecretGuessing", ALERT_SECONDS, severity="critical"),
            monitoring.receiver.next_alert(
                "TouchstoneStoreDown", ALERT_SECONDS, instance=metrics_address(installation.on_postgresql)
            ),
            monitoring.receiver.next_alert(
                "TouchstoneNotServing", ALERT_SECONDS, instance=metrics_address(installation.on_postgresql)
            ),
            monitoring.receiver.next_alert(
                "TouchstoneTargetDown", ALERT_SECONDS, instance=metrics_address(installation.lost)
            ),
            monitoring.receiver.next_alert("TouchstoneErrorBudgetFastBurn", ALERT_SECONDS),
        ]
    for alert in alerts:
        check_runbook(alert)
