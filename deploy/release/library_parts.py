"""Writes the list of a release's clients and kits in CycloneDX's JSON (1.5): each one's files with their digests, and what it depends on.

    library_parts.py DIRECTORY VERSION

DIRECTORY has the files. What they depend on stands in their own metadata; a version is a range there if the client takes several.
"""

import hashlib
import json
import re
import sys
import tarfile
import xml.etree.ElementTree as xml
import zipfile
from email.parser import Parser
from pathlib import Path
from urllib.parse import quote

POM = {"m": "http://maven.apache.org/POM/4.0.0"}


def part(kind, name, version="", **more):
    purl = f"pkg:{kind}/{quote(name.replace(':', '/'))}" + (f"@{quote(version)}" if version else "")
    numbered = {"version": version} if version else {}
    return {"type": "library", "bom-ref": purl, "name": name, **numbered, "purl": purl, **more}


def member(archive, name):
    with tarfile.open(archive) as opened:
        return opened.extractfile(next(n for n in opened.getnames() if n.split("/", 1)[-1] == name)).read().decode()


def of_wheel(wheel):
    with zipfile.ZipFile(wheel) as opened:
        metadata = Parser().parsestr(opened.read(next(n for n in opened.namelist() if n.endswith("/METADATA"))).decode())
    needs = [re.fullmatch(r"([\w.-]+)(.*)", need).groups() for need in metadata.get_all("Requires-Dist", [])]
    takes = [part("pypi", name, properties=[{"name": "requirement", "value": name + rest}]) for name, rest in needs]
    return part("pypi", metadata["Name"], metadata["Version"]), takes


def of_go(archive, version):
    text = member(archive, "go.mod")
    module = re.search(r"(?m)^module (\S+)$", text)[1]
    return part("golang", module, f"v{version}"), [part("golang", *need) for need in re.findall(r"(?m)^\t(\S+) (v\S+)$", text)]


def of_npm(archive):
    package = json.loads(member(archive, "package.json"))
    takes = [part("npm", *need) for need in package.get("dependencies", {}).items()]
    return part("npm", package["name"], package["version"]), takes


def of_pom(pom):
    project = xml.parse(pom).getroot()

    def named(element):
        group, artifact, version = (element.findtext(f"m:{key}", namespaces=POM) for key in ("groupId", "artifactId", "version"))
        return part("maven", f"{group}:{artifact}", version)

    return named(project), [named(need) for need in project.findall("m:dependencies/m:dependency", POM)]


def libraries(directory, version):
    """Each one's files, its part, and the parts that it takes."""
    (wheel,) = directory.glob("touchstone_client-*.whl")
    yield [wheel], *of_wheel(wheel)
    go = directory / f"touchstone-client-go-{version}.tar.gz"
    yield [go], *of_go(go, version)
    for package in ("touchstone-client-node", "touchstone-kit"):
        archive = directory / f"{package}-{version}.tgz"
        yield [archive], *of_npm(archive)
    for package in ("touchstone-client", "touchstone-kit"):
        pom = directory / f"{package}-{version}.pom"
        yield [pom.with_name(f"{package}-{version}.jar"), pom], *of_pom(pom)
    # On Apple's platforms it takes nothing; on Linux the repository of this release, for tests.
    yield [directory / f"touchstone-kit-ios-{version}.tar.gz"], part("swift", "touchstone-kit-ios", version), []


def file_part(path):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"type": "file", "bom-ref": path.name, "name": path.name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def main(directory, version):
    made, taken, depends = [], {}, []
    for files, library, takes in libraries(Path(directory), version):
        made.append({**library, "components": [file_part(path) for path in files]})
        taken |= {need["bom-ref"]: need for need in takes}
        depends.append({"ref": library["bom-ref"], "dependsOn": sorted(need["bom-ref"] for need in takes)})
    reference = f"pkg:generic/touchstone@{version}?libraries"
    whole = {"type": "library", "bom-ref": reference, "name": "touchstone", "version": version}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": whole},
        "components": made + [taken[key] for key in sorted(taken)],
        "dependencies": [{"ref": reference, "dependsOn": [library["bom-ref"] for library in made]}, *depends],
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
