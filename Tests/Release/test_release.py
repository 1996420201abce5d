"""deploy/release: the same binaries make the same files, a signature covers all of them, and what was changed is found.

`make test-release` takes the binaries that are there. Without an image, because podman's storage is root's.
"""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARIES = Path(os.environ.get("BINARIES") or ROOT / ".build/release")
CLIENTS = Path(os.environ.get("CLIENTS") or ROOT / ".build-clients")
VERSION = (ROOT / "VERSION").read_text().strip()
SECONDS = 300
#: The time of both builds; any would do.
EPOCH = "1790000000"


def run(*command, check=True, umask=0o022, **environment):
    # The deb's compression takes most of the time, and is not what is tested.
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "DPKG_DEB_COMPRESSOR_LEVEL": "1", "SOURCE_DATE_EPOCH": EPOCH, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        umask=umask,
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def build(directory, **options):
    run("deploy/debian/build", str(BINARIES / "touchstone"), str(directory / "deb"), **options)
    output = directory / "release"
    run("deploy/release/build", str(output), str(BINARIES), str(directory / "deb"), str(CLIENTS), **options)
    return output


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Two of minisign's: the release's own, and another one."""
    directory = tmp_path_factory.mktemp("keys")
    for name in ("release", "other"):
        run("minisign", "-G", "-W", "-p", str(directory / f"{name}.pub"), "-s", str(directory / f"{name}.key"))
    return directory


@pytest.fixture(scope="session")
def release(tmp_path_factory, keys):
    return build(tmp_path_factory.mktemp("first"), RELEASE_KEY=str(keys / "release.key"))


@pytest.fixture
def copy(release, tmp_path):
    """One to spoil."""
    return shutil.copytree(release, tmp_path / "copy")


def verified(directory, *key):
    return run("deploy/release/verify", str(directory), *map(str, key), check=False)


def test_it_is_verified_by_the_public_key(release, keys):
    done = verified(release, keys / "release.pub")
    assert (done.returncode, done.stdout) == (0, f"touchstone-{VERSION} is as it was released\n"), done.stderr


def test_it_has_the_files_that_the_page_lists(release):
    page = (ROOT / "docs/RELEASE.md").read_text(encoding="utf-8")
    for path in release.iterdir():
        name = path.name.replace(VERSION.replace("-", "~"), "VERSION").replace(VERSION, "VERSION")
        name = name.replace(VERSION.replace("-dev", ".dev0"), "VERSION").replace("amd64", "ARCHITECTURE").replace("arm64", "ARCHITECTURE")
        assert f"`{name}`" in page


def test_no_packaged_readme_links_to_what_its_package_lacks(release):
    readmes = 0
    for path in [*release.glob("touchstone-kit-*gz"), *release.glob("touchstone-client-*gz")]:
        with tarfile.open(path) as archive:
            names = archive.getnames()
            for name in (name for name in names if name.endswith("README.md")):
                readmes += 1
                for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", archive.extractfile(name).read().decode()):
                    assert os.path.normpath(f"{os.path.dirname(name)}/{link}") in names, f"{path.name}: {link}"
    assert readmes >= 4


def test_the_changelog_begins_with_the_version():
    first = re.search(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[1]
    date = "unreleased" if VERSION.endswith("-dev") else r"20\d\d-\d\d-\d\d"
    assert re.fullmatch(rf"\[{re.escape(VERSION)}\] - {date}", first)


def test_a_second_build_makes_the_same_bytes(release, tmp_path):
    second = build(tmp_path, umask=0o077)
    sums = [(directory / "SHA256SUMS").read_text() for directory in (release, second)]
    assert sums[0] == sums[1]
    assert not (second / "SHA256SUMS.minisig").exists()


def test_without_a_key_nothing_is_signed_and_it_says_so(copy, keys):
    (copy / "SHA256SUMS.minisig").unlink()
    done = verified(copy)
    assert done.returncode == 0 and "The signature is not verified" in done.stdout
    refused = verified(copy, keys / "release.pub")
    assert (refused.returncode, refused.stderr) == (65, "SHA256SUMS is not signed\n")


def test_another_key_is_refused(release, keys):
    refused = verified(release, keys / "other.pub")
    assert refused.returncode == 65 and "is not by this key" in refused.stderr


def changed(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_changed_file_is_found(copy, keys):
    for path in sorted(copy.iterdir()):
        original = path.read_bytes()
        changed(path)
        assert verified(copy, keys / "release.pub").returncode == 65, path.name
        path.write_bytes(original)
    assert verified(copy, keys / "release.pub").returncode == 0


def test_a_missing_or_added_file_is_found(copy):
    (copy / "added").touch()
    assert "does not list added" in verified(copy).stderr
    (copy / "added").unlink()
    next(copy.glob("*.whl")).unlink()
    assert verified(copy).returncode == 65


def test_a_list_that_leads_out_of_the_directory_is_refused(copy):
    with (copy / "SHA256SUMS").open("a") as sums:
        sums.write("0" * 64 + "  ../outside\n")
    assert "not a checksum and a name" in verified(copy).stderr


def image_archive(host, layer=b"a layer"):
    """As `podman save` writes one that a container of this name built."""
    settings = {"config": {"Hostname": host, "User": "10001"}, "container": host, "created": "2026-01-01T00:00:00Z", "rootfs": {}}
    contents = {
        f"{host}.json": json.dumps(settings).encode(),
        "layer.tar": layer,
        f"{host}/VERSION": b"1.0",
        "manifest.json": json.dumps([{"Config": f"{host}.json", "RepoTags": ["localhost/touchstone:1"], "Layers": ["layer.tar"]}]).encode(),
    }
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return output.getvalue()


def normal(archive):
    command = [sys.executable, ROOT / "deploy/release/image.py"]
    return subprocess.run(command, input=archive, capture_output=True, timeout=60, check=True).stdout


def test_an_image_that_another_container_built_has_the_same_bytes():
    first = normal(image_archive("one"))
    assert first == normal(image_archive("two")) == normal(first)
    assert first != normal(image_archive("one", b"another layer"))
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        (image,) = json.load(archive.extractfile("manifest.json"))
        settings = archive.extractfile(image["Config"]).read()
        assert image["Config"] == hashlib.sha256(settings).hexdigest() + ".json"
        assert json.loads(settings)["config"] == {"User": "10001"}
        assert archive.extractfile(image["Layers"][0]).read() == b"a layer"


def test_the_archive_has_programs_pages_licences_and_completions(release):
    with tarfile.open(next(release.glob("*-linux-*.tar.gz"))) as archive:
        names = {member.name.removeprefix(f"touchstone-{VERSION}/"): member for member in archive.getmembers()}
    for name in (
        "bin/touchstone",
        "bin/touchstone-load",
        "share/man/man1/touchstone.1.gz",
        "share/bash-completion/completions/touchstone",
        "share/zsh/vendor-completions/_touchstone",
        "share/fish/vendor_completions.d/touchstone.fish",
        "share/doc/touchstone/LICENSE",
        "share/doc/touchstone/CHANGELOG.md",
        "share/doc/touchstone/SECURITY.md",
        "share/doc/touchstone/examples/touchstone.example.yaml",
    ):
        assert names[name].isfile()
    assert any(name.startswith("share/doc/touchstone/licenses/swift-crypto.") for name in names)
    assert {member.mode & 0o777 for name, member in names.items() if name.startswith("bin/")} == {0o755}
    assert {(member.uid, member.gid, member.mtime) for member in names.values()} == {(0, 0, int(EPOCH))}


def test_the_manifests_of_the_release_run_its_image(release, tmp_path):
    with tarfile.open(release / f"touchstone-deploy-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    tree = tmp_path / f"touchstone-deploy-{VERSION}"
    assert f"image: localhost/touchstone:{VERSION}\n" in (tree / "kubernetes/base/values.yaml").read_text()
    for name in ("prometheus/rules/store.yaml", "grafana/touchstone.json", "compose.postgresql.yaml"):
        assert (tree / name).read_bytes() == (ROOT / "deploy" / name).read_bytes()


def test_the_list_of_parts_names_what_the_program_loads_and_links(release):
    parts = json.loads(next(release.glob("*-linux-*.cdx.json")).read_text())
    assert parts["metadata"]["component"]["version"] == VERSION
    assert parts["metadata"]["component"]["type"] == "application"
    names = {part["name"] for part in parts["components"]}
    assert {"libssl3", "libnghttp2-14", "libpq5", "swift-crypto", "swift-log", "swift"} <= names


def test_the_list_of_libraries_has_each_client_and_kit_with_what_it_takes(release):
    document = json.loads((release / f"touchstone-{VERSION}-libraries.cdx.json").read_text())
    digests = {
        file["name"]: file["hashes"][0]["content"] for library in document["components"] for file in library.get("components", [])
    }
    libraries = {path.name for path in release.iterdir() if re.match("touchstone[-_](client|kit)", path.name)}
    assert digests.keys() == libraries
    for name, digest in digests.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
    takes = {entry["ref"].split("@")[0]: entry["dependsOn"] for entry in document["dependencies"]}
    assert "pkg:pypi/grpcio" in takes["pkg:pypi/touchstone-client"]
    assert any(part.startswith("pkg:maven/io.grpc/grpc-stub@") for part in takes["pkg:maven/org.example.touchstone/touchstone-client"])
    assert any(part.startswith("pkg:golang/google.golang.org/grpc@v") for part in takes["pkg:golang/touchstone.example.org/touchstone"])
    # The names under which others find them.
    page = (ROOT / "docs/RELEASE.md").read_text(encoding="utf-8")
    for kind in ("golang", "maven"):
        for name in (ref.removeprefix(f"pkg:{kind}/") for ref in takes if ref.startswith(f"pkg:{kind}/")):
            assert f"`{name}`" in page or f"`{name.rpartition('/')[0]}`" in page, name
    for alone in ("pkg:npm/touchstone-client", "pkg:npm/touchstone-kit", "pkg:maven/org.example.touchstone/touchstone-kit"):
        assert takes[alone] == []


def test_bash_reads_the_completions(release, tmp_path):
    with tarfile.open(next(release.glob("*-linux-*.tar.gz"))) as archive:
        path = f"touchstone-{VERSION}/share/bash-completion/completions/touchstone"
        (tmp_path / "completions").write_bytes(archive.extractfile(path).read())
    script = f'set -e; . "{tmp_path}/completions"; complete -p touchstone'
    assert "touchstone" in run("bash", "-c", script).stdout


def test_binaries_of_another_version_are_refused(release, tmp_path):
    (tmp_path / "touchstone-load").write_text("#!/bin/sh\necho 0.0.1\n")
    (tmp_path / "touchstone-load").chmod(0o755)
    deb = release.with_name("deb")
    refused = run("deploy/release/build", str(tmp_path / "new"), str(tmp_path), str(deb), str(CLIENTS), check=False)
    assert refused.returncode == 65 and refused.stderr.startswith("touchstone-load is not of version") and not (tmp_path / "new").exists()


@pytest.mark.parametrize("missing", ["touchstone-load", "deb", "clients"])
def test_what_is_missing_is_named_with_its_command(tmp_path, missing):
    (tmp_path / "binaries").mkdir()
    if missing != "touchstone-load":
        (tmp_path / "binaries/touchstone-load").touch()
    (tmp_path / "deb").mkdir()
    if missing == "clients":
        architecture = run("dpkg", "--print-architecture").stdout.strip()
        (tmp_path / f"deb/touchstone_{VERSION.replace('-', '~')}_{architecture}.deb").touch()
    refused = run("deploy/release/build", str(tmp_path / "new"), str(tmp_path / "binaries"), str(tmp_path / "deb"), str(tmp_path), check=False)
    command = {"touchstone-load": "make load-client", "deb": "make deb", "clients": "make clients"}[missing]
    assert refused.returncode == 66 and refused.stderr.endswith(f"is missing: run {command}\n")


def test_a_directory_that_is_no_release_is_not_overwritten(tmp_path):
    (tmp_path / "mine").touch()
    refused = run("deploy/release/build", str(tmp_path), str(BINARIES), str(tmp_path), str(CLIENTS), check=False)
    assert refused.returncode == 73 and (tmp_path / "mine").exists()
