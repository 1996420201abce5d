"""What the image holds, and what a process in it may do."""

import contextlib
import json
import os
import stat
from pathlib import Path

import pytest

from containers import IMAGE, USER, podman

#: What docs/DEPLOY.md promises.
MAXIMUM_BYTES = 50_000_000

DOCUMENTS = Path("usr/share/doc")


@pytest.fixture(scope="module")
def files():
    """The image's root directory."""
    with _mounted() as root:
        yield root


@contextlib.contextmanager
def _mounted():
    yield Path(podman("image", "mount", IMAGE).stdout.strip())
    podman("image", "unmount", IMAGE)


def everything(root):
    return [Path(directory) / name for directory, _, names in os.walk(root) for name in names]


def test_it_is_small(files, image):
    assert sum(path.lstat().st_size for path in everything(files)) <= MAXIMUM_BYTES
    assert image["Size"] <= MAXIMUM_BYTES


def test_it_holds_one_program_and_the_libraries_that_it_loads(files):
    executable = {path.relative_to(files) for path in everything(files) if path.stat().st_mode & 0o111}
    libraries = {path for path in executable if ".so" in path.name}
    assert executable - libraries == {Path("usr/bin/touchstone")}
    names = {path.name for path in everything(files) if ".so" in path.name}
    assert any(name.startswith("libpq.so") for name in names)
    assert not [name for name in names if name.startswith(("libkrb5", "libgnutls", "libsasl2"))]
    # In the place of LDAP and Kerberos there is nothing but functions that fail.
    hollow = {path.name: path.lstat().st_size for path in everything(files) if path.name.startswith(("libldap", "libgssapi"))}
    assert len(hollow) == 2
    assert max(hollow.values()) < 20_000


def test_no_file_raises_privileges_or_can_be_changed_by_others(files):
    for path in everything(files):
        mode = path.lstat().st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH), path


def test_root_gives_the_place_of_state_to_its_group(files):
    """So that any user of that group can run the service."""
    status = (files / "var/lib/touchstone").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (0, 0, 0o770)


def test_its_configuration_names_a_user_by_number_and_a_health_check(image):
    configuration = image["Config"]
    assert configuration["User"] == f"{USER}:0"
    # No flag, which would override a file and variables.
    assert configuration["Cmd"] == ["serve"]
    assert set(configuration["Volumes"]) == {"/var/lib/touchstone"}
    check = image.get("HealthCheck") or image.get("Healthcheck") or configuration["Healthcheck"]
    assert check["Test"][:3] == ["CMD", "/usr/bin/touchstone", "healthcheck"]


def test_there_is_no_shell(containers):
    for shell in ["/bin/sh", "/bin/bash", "/usr/bin/env"]:
        ended = containers.run("--entrypoint", shell)
        assert ended.returncode in (126, 127), shell


def test_the_process_has_no_rights(containers, installation):
    container = containers.start(installation)
    status = container.status()
    assert status["Uid"].split() == [str(USER)] * 4
    assert status["Gid"].split() == ["0"] * 4
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]:
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    # A seccomp filter is in force.
    assert status["Seccomp"] == "2"


def test_its_root_is_read_only(containers, installation):
    container = containers.start(installation)
    refused = container.run("/usr/bin/touchstone", "keys", "new", "/usr/keys")
    assert refused.returncode != 0
    assert "Read-only file system" in refused.stderr


def test_the_list_of_parts_names_each_library(files):
    document = json.loads((files / DOCUMENTS / "touchstone/sbom.cdx.json").read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    parts = {part["name"]: part for part in document["components"]}
    assert {"libc6", "libssl3", "libsqlite3-0", "libnghttp2-14", "libpq5", "swift-crypto", "swift-log", "swift"} <= set(parts)
    assert all(part["version"] for part in parts.values())
    # Each of Debian's packages has its licence in the image.
    for part in parts.values():
        if part["purl"].startswith("pkg:deb/"):
            assert (files / DOCUMENTS / part["name"] / "copyright").exists(), part["name"]
    licenses = {path.name.split(".")[0] for path in (files / DOCUMENTS / "touchstone/licenses").iterdir()}
    assert {name for name, part in parts.items() if part["purl"].startswith("pkg:swift/")} <= licenses
