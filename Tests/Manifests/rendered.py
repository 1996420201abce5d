"""The manifests as `kubectl apply --kustomize` would send them."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy/kubernetes"
OVERLAYS = ["sqlite", "postgresql"]

#: The image's user and group.
USER = 10001


@functools.cache
def text(overlay):
    command = [Path(sys.executable).with_name("kubectl"), "kustomize", KUBERNETES / "overlays" / overlay]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Manifests:
    def __init__(self, overlay):
        self.resources = list(yaml.safe_load_all(text(overlay)))

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
