"""The manifests as `kubectl apply --kustomize` would send them."""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy/kubernetes"
OVERLAYS = ["sqlite", "postgresql"]

#: The image's user and group.
USER = 10001


#: Another installation's values, by those of values.yaml.
OTHER_VALUES = {
    "\n  namespace: touchstone\n": "\n  namespace: login\n",
    "image: localhost/touchstone": "image: registry.example.com/team/touchstone",
    "address: touchstone.example.org": "address: login.example.com",
    "prometheusNamespace: monitoring": "prometheusNamespace: observability",
    "name: shop": "name: cart",
    "spiffe://example.org/shop": "spiffe://example.com/cart",
    "volume: 10Gi": "volume: 7Gi",
    "namespace: postgresql": "namespace: databases",
    "@postgresql.postgresql.svc": "@db.databases.svc",
    "host: touchstone-console.example.org": "host: console.example.com",
    "ingressClass: traefik": "ingressClass: haproxy",
    "ingressNamespace: traefik": "ingressNamespace: haproxy-controller",
    "secretStore: secrets": "secretStore: vault",
}


@functools.cache
def text(overlay, is_changed=False):
    """Changed: with other values, and with the components that the overlay has as comments."""
    if not is_changed:
        return kustomize(KUBERNETES / "overlays" / overlay)
    with tempfile.TemporaryDirectory() as directory:
        copied = Path(shutil.copytree(KUBERNETES, Path(directory) / "kubernetes"))
        for file, changes in {
            copied / "base/values.yaml": OTHER_VALUES,
            copied / "overlays" / overlay / "kustomization.yaml": {"# - ../../components/": "- ../../components/"},
        }.items():
            content = file.read_text()
            for old, new in changes.items():
                assert old in content, old
                content = content.replace(old, new)
            file.write_text(content)
        return kustomize(copied / "overlays" / overlay)


def kustomize(directory):
    command = [Path(sys.executable).with_name("kubectl"), "kustomize", directory]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Manifests:
    def __init__(self, overlay, is_changed=False):
        self.resources = list(yaml.safe_load_all(text(overlay, is_changed)))

    def all(self, kind):
        return [resource for resource in self.resources if resource["kind"] == kind]

    def one(self, kind, name=None):
        (found,) = [resource for resource in self.all(kind) if name in (None, resource["metadata"]["name"])]
        return found

    @property
    def pods(self):
        """The templates of pods, by the name of what makes them."""
        made = self.all("Deployment") + self.all("Job")
        return {resource["metadata"]["name"]: resource["spec"]["template"] for resource in made}

    @property
    def configuration(self):
        """The service's own."""
        return yaml.safe_load(self.one("ConfigMap")["data"]["touchstone.yaml"])

    @property
    def service(self):
        """The pod that serves."""
        return self.pods["touchstone"]


def main(directory):
    """Writes each overlay's resources as JSON, for tests without a reader of YAML."""
    for overlay in OVERLAYS:
        resources = Manifests(overlay).resources
        (Path(directory) / f"{overlay}.json").write_text(json.dumps(resources), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
