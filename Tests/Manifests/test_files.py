"""The files themselves: their form, compose's and Prometheus's."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from compose_spec import PyCompose

from rendered import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE = ["compose.yaml", "compose.postgresql.yaml"]


def test_yamllint_finds_nothing():
    yamllint = Path(sys.executable).with_name("yamllint")
    configuration = Path(__file__).with_name("yamllint.yaml")
    checked = subprocess.run(
        [yamllint, "--strict", "--config-file", configuration, DEPLOY], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_are_valid(name):
    content = yaml.safe_load((DEPLOY / name).read_text())
    # Written anew, because the reader of the Compose Specification has no merge keys ("<<").
    assert PyCompose.from_yaml(yaml.safe_dump(content)).to_spec().services.keys() == content["services"].keys()
    content["services"]["touchstone"]["cap_dorp"] = ["ALL"]
    with pytest.raises(ValueError, match="cap_dorp"):
        PyCompose.from_yaml(yaml.safe_dump(content))


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_name_what_they_define(name):
    content = yaml.safe_load((DEPLOY / name).read_text())
    for service_name, service in content["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            # Those of ./touchstone are the operator's.
            if source.startswith("./"):
                assert source.startswith("./touchstone") or (DEPLOY / source).exists(), source
            else:
                assert source in content["volumes"], source
        assert set(service.get("secrets", [])) <= content.get("secrets", {}).keys()
        assert set(service.get("depends_on", {})) <= content["services"].keys()
        if service_name != "postgres":
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", COMPOSE)
def test_the_service_has_time_to_drain(name):
    service = yaml.safe_load((DEPLOY / name).read_text())["services"]["touchstone"]
    assert service["stop_grace_period"] == "30s"
    assert service["tmpfs"] == ["/tmp"]


def test_compose_gives_prometheus_its_alert_rules():
    volumes = yaml.safe_load((DEPLOY / "compose.postgresql.yaml").read_text())["services"]["prometheus"]["volumes"]
    assert "./prometheus:/etc/prometheus:ro" in volumes
    named = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())["rule_files"]
    found = {file for pattern in named for file in (DEPLOY / "prometheus").glob(pattern)}
    assert found == set((DEPLOY / "prometheus/rules").iterdir())
    assert len(found) > 2


def test_prometheus_and_alertmanager_accept_their_configurations():
    for command in (
        # The authority's file is the operator's.
        ["promtool", "check", "config", "--syntax-only", DEPLOY / "prometheus/prometheus.yaml"],
        ["amtool", "check-config", DEPLOY / "prometheus/alertmanager.yaml"],
    ):
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
