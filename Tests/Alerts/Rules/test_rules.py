"""The alerts are tested and explained, and they and the dashboard use only metrics that there are."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from promql import family, metric_names

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RULE_FILES = sorted((ROOT / "deploy/prometheus/rules").glob("*.yaml"))
UNIT_TESTS = sorted(HERE.glob("*.test.yaml"))
DASHBOARD = json.loads((ROOT / "deploy/grafana/touchstone.json").read_text())
RUNBOOK = (ROOT / "docs/RUNBOOK.md").read_text()
METRICS = (ROOT / "docs/METRICS.md").read_text()

#: What Grafana's releases since 12 write, and the last one of this form of a dashboard.
SCHEMA_VERSION = 42


def rules():
    for file in RULE_FILES:
        for group in yaml.safe_load(file.read_text())["groups"]:
            yield from group["rules"]


ALERTS = [rule for rule in rules() if "alert" in rule]
RECORDS = {rule["record"] for rule in rules() if "record" in rule}
NAMES = sorted({rule["alert"] for rule in ALERTS})
SERIES_TESTS = [
    test
    for file in UNIT_TESTS
    for scenario in yaml.safe_load(file.read_text())["tests"]
    for test in scenario["promql_expr_test"]
]


def promtool(*arguments):
    ended = subprocess.run(["promtool", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def panels():
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries():
    """Of rules, dashboard and runbook, by where they are."""
    for rule in rules():
        yield rule.get("alert") or rule["record"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for number, block in enumerate(re.findall(r"(?s)```promql\n(.*?)```", RUNBOOK)):
        yield f"query {number} of the runbook", block


# Rules


def test_promtool_accepts_the_rules():
    promtool("check", "rules", *map(str, RULE_FILES))


@pytest.mark.parametrize("file", UNIT_TESTS, ids=lambda file: file.name)
def test_each_alert_fires_when_it_should(file):
    promtool("test", "rules", file.name)


def samples_of(name):
    """What the unit tests expect of an alert, at each time that they look at it."""
    return [
        test["exp_samples"]
        for test in SERIES_TESTS
        if (found := re.search(r'alertname=~?"([^"]+)"', test["expr"])) and re.fullmatch(found[1], name)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_alert_has_unit_tests_in_which_it_fires_and_does_not(name):
    expected = [any(f'alertname="{name}"' in sample["labels"] for sample in samples) for samples in samples_of(name)]
    assert any(expected)
    assert not all(expected)


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_each_alert_says_what_is_wrong_and_where_to_read_on(rule):
    assert rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in ("critical", "warning")
    annotations = rule["annotations"]
    assert annotations.keys() == {"summary", "description", "runbook_url"}
    assert annotations["runbook_url"] == f"https://touchstone.example.org/docs/RUNBOOK.md#{rule['alert'].lower()}"
    fired = [sample["labels"] for samples in samples_of(rule["alert"]) for sample in samples]
    for label in re.findall(r"\$labels\.(\w+)", " ".join(annotations.values())):
        assert all(f'{label}="' in labels for labels in fired), label


# What goes with them


def test_the_runbook_has_a_section_for_each_alert_and_no_other():
    assert re.findall(r"(?m)^### (Touchstone\w+)$", RUNBOOK) == [rule["alert"] for rule in unique(ALERTS)]


def unique(alerts):
    return {rule["alert"]: rule for rule in alerts}.values()


@pytest.mark.parametrize("name", NAMES)
def test_each_section_of_the_runbook_has_all_its_parts(name):
    section = RUNBOOK.split(f"### {name}\n")[1].split("\n### ")[0].split("\n## ")[0]
    for part in ("It means", "People notice", "Check first", "Mend", "Tell"):
        assert f"**{part}**" in section, part


def test_only_metrics_that_the_docs_list_are_used():
    known = set(re.findall(r"(?m)^\| `(\w+)` \| (?:counter|gauge|histogram) \|", METRICS))
    assert len(known) > 50
    for place, query in queries():
        names = metric_names(query)
        assert names, place
        for name in names - RECORDS:
            assert family(name, known) in known, f"{place}: {name}"


def test_the_names_of_metrics_are_found():
    query = 'sum by (job) (rate(a_total{b="c_total"}[5m] offset 1d)) / on (job) group_right () d:e unless f > 5 and up'
    assert metric_names(query) == {"a_total", "d:e", "f", "up"}


# The dashboard


def test_the_dashboard_has_the_form_that_grafana_reads():
    assert DASHBOARD["schemaVersion"] == SCHEMA_VERSION
    variables = {variable["name"]: variable["type"] for variable in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource": "datasource", "job": "query", "instance": "query"}
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert len({panel["title"] for panel in panels()}) == len(panels())
    for panel in panels():
        for part in [panel, *panel["targets"]]:
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]


def test_each_panel_links_to_the_alerts_that_it_names_and_to_their_runbook():
    runbooks = {rule["alert"]: rule["annotations"]["runbook_url"] for rule in ALERTS}
    named = {panel["title"]: re.findall(r"\bTouchstone[A-Z]\w+", panel.get("description", "")) for panel in panels()}
    assert sum(map(len, named.values())) > 20
    for panel in panels():
        expected = [
            url
            for alert in named[panel["title"]]
            for url in (runbooks[alert], f"/alerting/list?search=rule:{alert}")
        ]
        assert [link["url"] for link in panel.get("links", [])] == expected, panel["title"]


def test_the_first_row_tells_whether_it_serves_how_fast_and_how_full():
    first, *following = DASHBOARD["panels"]
    assert first["type"] == "row"
    used = {
        family(name, ())
        for panel in following
        if panel["gridPos"]["y"] < next(row["gridPos"]["y"] for row in following if row["type"] == "row")
        for target in panel["targets"]
        for name in metric_names(target["expr"])
    }
    assert used >= {
        "touchstone_serving",
        "grpc_server_call_duration_seconds_bucket",
        "touchstone_filesystem_available_bytes",
        "touchstone_store_size_bytes",
    }


def test_the_panels_of_the_dashboard_do_not_overlap():
    taken = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for column in range(place["x"], place["x"] + place["w"]):
            for line in range(place["y"], place["y"] + place["h"]):
                assert (column, line) not in taken, (panel["title"], taken[column, line])
                taken[column, line] = panel["title"]
