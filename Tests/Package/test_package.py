"""The package for Debian: it installs on a clean system, and what its unit starts serves at once."""

import subprocess
from pathlib import Path

from debian import CONFIGURATION
from support.phone import Phone
from support.stubs import evaluation_pb2

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy/debian/touchstone.service"

#: What docs/DEPLOY.md promises: seconds until it serves, and systemd-analyze's exposure in tenths.
START_SECONDS = 10
EXPOSURE = 20


def test_it_serves_after_its_installation_and_logs_in(debian):
    service = debian.serve()
    try:
        assert service.start_seconds < START_SECONDS
        assert service.addresses == ["127.0.0.1:7443", "unix:/run/touchstone/touchstone.sock"]
        caller, phone = service.caller(), Phone()
        caller.bind(phone)
        assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
    finally:
        service.terminate()


def test_it_depends_on_the_libraries_that_it_loads(debian):
    depends = debian.run("dpkg-query", "--show", "--showformat", "${Depends}", "touchstone").stdout
    for library in ["libc6 (>=", "libssl3 (>=", "libpq5", "libsqlite3-0 (>=", "libnghttp2-14 (>="]:
        assert library in depends
    assert "not found" not in debian.run("ldd", "/usr/bin/touchstone").stdout


def test_its_files_belong_to_root_and_its_state_to_the_service(debian):
    listed = debian.run("stat", "--format", "%U:%G %a %n", "/usr/bin/touchstone", f"/{CONFIGURATION}", "/var/lib/touchstone").stdout
    assert listed.splitlines() == [
        "root:root 755 /usr/bin/touchstone",
        f"root:touchstone 640 /{CONFIGURATION}",
        "touchstone:touchstone 700 /var/lib/touchstone",
    ]
    assert debian.run("md5sum", "--check", "--quiet", "/var/lib/dpkg/info/touchstone.md5sums", check=False).stdout == ""
    # As the service itself reads it; root is told to do so.
    refused = debian.run("touchstone", "check-config", f"/{CONFIGURATION}", check=False)
    assert "`runuser -u touchstone -- …`" in refused.stderr and "chown" not in refused.stderr
    checked = debian.run("runuser", "-u", "touchstone", "--", "touchstone", "check-config", f"/{CONFIGURATION}")
    assert f"/{CONFIGURATION}: ok" in checked.stdout


def test_a_changed_configuration_and_the_state_survive_an_upgrade_and_a_removal(debian, package):
    configuration = debian.root / CONFIGURATION
    changed = configuration.read_text() + "issuer: bank\n"
    configuration.write_text(changed)
    kept = debian.root / "var/lib/touchstone/kept"
    kept.touch()
    debian.install(package)
    assert configuration.read_text() == changed
    debian.run("dpkg", "--remove", "touchstone")
    assert configuration.read_text() == changed
    debian.run("dpkg", "--purge", "touchstone")
    assert not configuration.exists()
    assert kept.exists()
    # For the tests after this one.
    debian.install(package)


def test_its_unit_is_confined():
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager", UNIT]
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    print(judged.stdout.splitlines()[-1])


def test_lintian_finds_no_error(package):
    judged = subprocess.run(
        ["lintian", "--fail-on", "error", "--allow-root", package], capture_output=True, text=True, check=False
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
