"""What Kubernetes reads: valid by its schemas, judged by strangers' tools, and as the service needs it."""

import json
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from rendered import OVERLAYS, ROOT, USER, Manifests, text

#: The oldest with all fields that the manifests use; and the newest that the validator knows.
VERSIONS = ["1.32", "1.34"]
#: Of cert-manager, the Prometheus and the External Secrets operator, whose schemas the validator does not have.
OTHERS = {"Certificate", "Issuer", "PrometheusRule", "ServiceMonitor", "ExternalSecret"}
#: As they are, and with other values and all components.
RENDERED = [(overlay, is_changed) for overlay in OVERLAYS for is_changed in (False, True)]

#: How long a pod's running calls may take after SIGTERM (`Serve.grace`).
DRAIN_SECONDS = 20
#: Of one process of the service (docs/STORES.md), and what PostgreSQL allows by default, less those for superusers.
CONNECTIONS, MAXIMUM_CONNECTIONS = 16, 97


@pytest.fixture(params=RENDERED, ids=str)
def manifests(request):
    return Manifests(*request.param)


@pytest.fixture(params=OVERLAYS)
def changed(request):
    return Manifests(request.param, is_changed=True)


def is_selected(selector, labels):
    return selector["matchLabels"].items() <= labels.items()


# By strangers' tools


@pytest.mark.parametrize("version", VERSIONS)
def test_each_resource_is_valid(manifests, version):
    for resource in manifests.resources:
        if resource["kind"] not in OTHERS:
            kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.parametrize(("overlay", "is_changed"), RENDERED)
def test_checkov_finds_nothing_and_each_skipped_check_has_its_reason(overlay, is_changed, tmp_path):
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(text(overlay, is_changed))
    checkov = Path(sys.executable).with_name("checkov")
    command = [checkov, "--framework", "kubernetes", "--file", rendered, "--output", "json", "--skip-download"]
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(judged.stdout)
    results = report["results"]
    assert [(check["check_id"], check["resource"]) for check in results["failed_checks"]] == []
    assert report["summary"]["passed"] > 50
    assert all(check["check_result"]["suppress_comment"] for check in results["skipped_checks"])
    assert judged.returncode == 0


# As the service needs it


def test_pods_have_the_image_s_user_and_no_rights(manifests):
    for name, pod in manifests.pods.items():
        spec = pod["spec"]
        context = spec["securityContext"]
        assert (context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (USER, USER, USER), name
        assert context["runAsNonRoot"] is True
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        # Links would set TOUCHSTONE_PORT and the like, which look like settings.
        assert spec["enableServiceLinks"] is False
        assert spec["automountServiceAccountToken"] is False
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert "memory" in container["resources"]["limits"]


def test_pods_run_the_image_of_this_version(manifests):
    version = (ROOT / "VERSION").read_text().strip()
    for container in manifests.service["spec"]["containers"]:
        assert container["image"].endswith(f"/touchstone:{version}"), container["image"]


def test_probes_use_https_at_a_port_of_the_container(manifests):
    (container,) = manifests.service["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    for probe, path in [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")]:
        get = container[probe]["httpGet"]
        assert (get["path"], get["scheme"]) == (path, "HTTPS")
        assert get["port"] in ports


def test_a_pod_has_time_to_drain(manifests):
    spec = manifests.service["spec"]
    before = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] >= before + DRAIN_SECONDS + 5


def test_secrets_are_mounted_read_only_and_closed_to_others(manifests):
    made = {certificate["spec"]["secretName"] for certificate in manifests.all("Certificate")}
    # These are made by hand, once, or by the External Secrets operator.
    made |= {"touchstone-keys", "touchstone-oidc"}
    for pod in manifests.pods.values():
        (container,) = pod["spec"]["containers"]
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
        assert mounts.keys() == {volume["name"] for volume in pod["spec"]["volumes"]}
        for volume in pod["spec"]["volumes"]:
            if "secret" in volume:
                assert volume["secret"]["secretName"] in made
                assert volume["secret"]["defaultMode"] == 0o400
                assert mounts[volume["name"]]["readOnly"] is True


def test_services_and_policies_select_the_pods_that_serve(manifests):
    labels = manifests.service["metadata"]["labels"]
    for service in manifests.all("Service"):
        assert service["spec"]["selector"].items() <= labels.items()
        named = {port["name"] for port in manifests.service["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= named
    for kind in ["Deployment", "PodDisruptionBudget"]:
        for resource in manifests.all(kind):
            assert is_selected(resource["spec"]["selector"], labels)
    (monitor,) = manifests.all("ServiceMonitor")
    monitored = [
        service["metadata"]["name"]
        for service in manifests.all("Service")
        if is_selected(monitor["spec"]["selector"], service["metadata"].get("labels", {}))
    ]
    assert monitored == ["touchstone-operators"]
    # The names for which the service's certificate is issued.
    names = manifests.one("Certificate", "touchstone-tls")["spec"]["dnsNames"]
    assert monitor["spec"]["endpoints"][0]["tlsConfig"]["serverName"] in names


def test_the_operator_of_prometheus_gets_the_rules(manifests):
    files = sorted((ROOT / "deploy/prometheus/rules").glob("*.yaml"))
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    assert len(groups) > 4
    rules = manifests.one("PrometheusRule")["spec"]
    assert rules == {"groups": groups}, "run deploy/prometheus/to-kubernetes"


def test_everything_is_denied_that_no_policy_allows(manifests):
    denied = manifests.one("NetworkPolicy", "default-deny")["spec"]
    assert denied == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for policy in manifests.all("NetworkPolicy"):
        for rule in policy["spec"].get("ingress", []) + policy["spec"].get("egress", []):
            # A rule without peers or ports would allow all of them.
            assert rule.get("from") or rule.get("to")
            assert rule["ports"]


# The values


def test_everything_follows_from_the_values(changed):
    (namespace,) = changed.all("Namespace")
    assert namespace["metadata"]["name"] == "login"
    assert {r["metadata"]["namespace"] for r in changed.resources if r is not namespace} == {"login"}
    # The values themselves stay here.
    assert not changed.all("Values")
    version = (ROOT / "VERSION").read_text().strip()
    images = {container["image"] for pod in changed.pods.values() for container in pod["spec"]["containers"]}
    assert images == {f"registry.example.com/team/touchstone:{version}"}

    names = changed.one("Certificate", "touchstone-tls")["spec"]["dnsNames"]
    assert names == [
        "touchstone",
        "touchstone.login",
        "touchstone.login.svc",
        "touchstone.login.svc.cluster.local",
        "touchstone-pods.login",
        "touchstone-pods.login.svc",
        "touchstone-operators.login.svc",
        "login.example.com",
    ]
    monitored = changed.one("ServiceMonitor")["spec"]["endpoints"][0]["tlsConfig"]["serverName"]
    assert monitored == "touchstone-operators.login.svc"

    let_in, let_out = (
        {
            peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
            for policy in changed.all("NetworkPolicy")
            for rule in policy["spec"].get(direction, [])
            for peer in rule[side]
            if "kubernetes.io/metadata.name" in peer.get("namespaceSelector", {}).get("matchLabels", {})
        }
        for direction, side in (("ingress", "from"), ("egress", "to"))
    )
    assert let_in == {"observability", "haproxy-controller"}
    assert let_out - {"databases"} == {"kube-system"}

    ingress = changed.one("Ingress")["spec"]
    assert (ingress["ingressClassName"], ingress["rules"][0]["host"]) == ("haproxy", "console.example.com")
    assert ingress["tls"][0]["hosts"] == ["console.example.com"]
    stores = {secret["spec"]["secretStoreRef"]["name"] for secret in changed.all("ExternalSecret")}
    assert stores == {"vault"}


def test_each_store_has_its_values():
    sqlite, postgresql = (Manifests(overlay, is_changed=True) for overlay in OVERLAYS)
    assert sqlite.one("PersistentVolumeClaim")["spec"]["resources"]["requests"] == {"storage": "7Gi"}
    assert sqlite.configuration.keys().isdisjoint({"store", "keys"})
    store = postgresql.configuration["store"]
    assert store.startswith("postgresql://touchstone@db.databases.svc/touchstone?")
    (container,) = postgresql.service["spec"]["containers"]
    mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
    paths = [part.split("=")[1] for part in store.split("?")[1].split("&")] + [postgresql.configuration["keys"]]
    assert len(paths) == 4
    for path in paths:
        assert str(Path(path).parent) in mounted


def test_each_caller_has_a_certificate(manifests):
    named = {caller["spiffe"] for caller in manifests.configuration["callers"] if "spiffe" in caller}
    issued = {
        uri
        for certificate in manifests.all("Certificate")
        if "client auth" in certificate["spec"].get("usages", [])
        for uri in certificate["spec"].get("uris", [])
    }
    assert named
    assert named == issued


# The console


def test_there_is_no_console_without_its_component(manifests):
    (container,) = manifests.service["spec"]["containers"]
    variables = {variable["name"]: variable for variable in container.get("env", [])}
    if not manifests.all("Ingress"):
        assert variables == {}
        assert "operators" not in manifests.configuration
        return
    reference = variables["TOUCHSTONE_OPERATORS"]["valueFrom"]["secretKeyRef"]
    filled = {
        (secret["metadata"]["name"], entry["secretKey"])
        for secret in manifests.all("ExternalSecret")
        for entry in secret["spec"]["data"]
    }
    assert (reference["name"], reference["key"]) in filled
    assert variables["TOUCHSTONE_CONSOLE_URL"]["value"] == "https://console.example.com/console"


def test_a_vault_has_each_secret_that_no_certificate_makes():
    manifests = Manifests("postgresql", is_changed=True)
    issued = {certificate["spec"]["secretName"] for certificate in manifests.all("Certificate")}
    spec = manifests.service["spec"]
    used = {volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume}
    used |= {
        variable["valueFrom"]["secretKeyRef"]["name"] for variable in spec["containers"][0]["env"] if "valueFrom" in variable
    }
    assert {secret["metadata"]["name"] for secret in manifests.all("ExternalSecret")} == used - issued


def test_browsers_reach_the_console_alone(changed):
    (rule,) = changed.one("Ingress")["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert (path["path"], path["pathType"]) == ("/console", "Prefix")
    backend = path["backend"]["service"]
    (port,) = changed.one("Service", backend["name"])["spec"]["ports"]
    assert (port["name"], port["targetPort"]) == (backend["port"]["name"], "operators")


# Each store


def test_a_single_replica_keeps_its_data_in_a_directory_of_its_own():
    manifests = Manifests("sqlite")
    deployment = manifests.one("Deployment")["spec"]
    assert deployment["replicas"] == 1
    # Two processes cannot have one data directory.
    assert deployment["strategy"] == {"type": "Recreate"}
    assert manifests.one("PersistentVolumeClaim")["spec"]["accessModes"] == ["ReadWriteOncePod"]
    (container,) = manifests.service["spec"]["containers"]
    (data,) = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "data"]
    assert f"--data-dir={data}/data" in container["args"]
    assert not manifests.all("HorizontalPodAutoscaler")


def test_replicas_survive_a_node_and_leave_connections_free():
    manifests = Manifests("postgresql")
    # The autoscaler sets it: a number here would undo that at each apply.
    assert "replicas" not in manifests.one("Deployment")["spec"]
    scaler = manifests.one("HorizontalPodAutoscaler")["spec"]
    assert scaler["minReplicas"] >= 2
    # One more runs during an update.
    assert (scaler["maxReplicas"] + 1) * CONNECTIONS <= MAXIMUM_CONNECTIONS
    assert scaler["metrics"][0]["pods"]["metric"]["name"] == "touchstone_calls_in_flight"
    assert manifests.one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    spread = {constraint["topologyKey"] for constraint in manifests.service["spec"]["topologySpreadConstraints"]}
    assert spread == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
    migration = manifests.pods["touchstone-migrate"]["spec"]
    assert migration["containers"][0]["args"][0] == "migrate"
    assert migration["containers"][0]["image"] == manifests.service["spec"]["containers"][0]["image"]
