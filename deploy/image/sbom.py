"""Writes the list of the image's parts in CycloneDX's JSON (1.5): Debian's packages, Swift's packages, what else is linked.

    dpkg-query --show --showformat '${Package}\t${Version}\t${Architecture}\t${source:Package}\n' ... |
      sbom.py VERSION PRODUCT [TYPE]

PRODUCT is the directory that collect-product filled. TYPE is what CycloneDX calls the whole: "container", or "application".
"""

import json
import sys
from pathlib import Path
from urllib.parse import quote

SYSTEM = "debian-12"


def component(name, version, purl, **more):
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, **more}


def debian(name, version, architecture, source):
    purl = f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={architecture}&distro={SYSTEM}"
    return component(name, version, purl, properties=[{"name": "debian:source", "value": source}])


def swift_packages(resolved):
    for pin in json.loads(resolved)["pins"]:
        version = pin["state"]["version"]
        location = pin["location"].removeprefix("https://").removesuffix(".git")
        yield component(pin["identity"], version, f"pkg:swift/{location}@{version}")


def main(version, product, type="container"):
    product = Path(product)
    components = [debian(*line.split("\t")) for line in sys.stdin.read().splitlines()]
    components += swift_packages((product / "Package.resolved").read_text())
    swift = (product / "swift-version").read_text().strip()
    components.append(component("swift", swift, f"pkg:generic/swift@{swift}", description="Swift's runtime, linked statically"))
    crypto_mb = product / "crypto-mb-version"
    if crypto_mb.exists():
        number = crypto_mb.read_text().strip()
        components.append(component("crypto_mb", number, f"pkg:pypi/ipp-crypto-static@{number}"))
    reference = f"pkg:generic/touchstone@{version}"
    whole = {"type": type, "bom-ref": reference, "name": "touchstone", "version": version, "purl": reference}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": whole},
        "components": components,
        "dependencies": [{"ref": reference, "dependsOn": [part["bom-ref"] for part in components]}],
    }
    print(json.dumps(document, indent=1))


main(*sys.argv[1:])
