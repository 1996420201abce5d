"""Writes an image's archive anew, so that the same layers and settings make the same bytes.

    image.py <ARCHIVE >ARCHIVE        of podman save --format docker-archive

Docker's format of an image, which a health check needs, has the random name of the container that built it. That goes, and so do the parts of
the archive that only versions of docker before 1.10 read.
"""

import hashlib
import io
import json
import sys
import tarfile


def add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def without_container(settings):
    """The image's settings as bytes."""
    settings = {key: value for key, value in settings.items() if key not in ("container", "container_config")}
    settings["config"] = {key: value for key, value in settings["config"].items() if key != "Hostname"}
    return json.dumps(settings, sort_keys=True, separators=(",", ":")).encode()


def main():
    with tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read())) as source:
        (image,) = json.load(source.extractfile("manifest.json"))
        settings = without_container(json.load(source.extractfile(image["Config"])))
        layers = {name: source.extractfile(name).read() for name in image["Layers"]}
    image["Config"] = f"{hashlib.sha256(settings).hexdigest()}.json"
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.USTAR_FORMAT) as target:
        add(target, "manifest.json", json.dumps([image], sort_keys=True, separators=(",", ":")).encode())
        add(target, image["Config"], settings)
        for name, content in layers.items():
            add(target, name, content)


main()
