"""What an operator gets wrong: one clear line, and the container ends with an exit code that says why."""

import shutil
import socket

from containers import USER

BAD_CONFIGURATION = 78
UNAVAILABLE = 69


def refusal(containers, *, mounts=()):
    """The exit code, and the one line that is no notice of the start."""
    ended = containers.run(mounts=mounts)
    # It never said that it listens.
    assert ended.stdout == ""
    lines = [line for line in ended.stderr.splitlines() if " notice " not in line]
    assert len(lines) == 1, ended.stderr
    return ended.returncode, lines[0]


def test_no_configuration(containers):
    code, line = refusal(containers)
    assert code == BAD_CONFIGURATION
    assert "0.0.0.0:7443: is reached from beyond this machine: use tls and callers" in line
    assert "there is no /etc/touchstone/touchstone.yaml" in containers.run().stderr


def test_a_key_that_others_can_read(containers, installation):
    installation.server.key_file.chmod(0o644)
    code, line = refusal(containers, mounts=installation.mount)
    assert code == BAD_CONFIGURATION
    assert "/etc/touchstone/server.key" in line
    assert "open to other users (mode 644)" in line


def test_a_certificate_that_does_not_fit_its_key(containers, installation):
    other = installation.authority.issue_server("other")
    shutil.copyfile(other.key_file, installation.server.key_file)
    shutil.chown(installation.server.key_file, USER, USER)
    code, line = refusal(containers, mounts=installation.mount)
    assert code == BAD_CONFIGURATION
    assert "/etc/touchstone/server.key: not the key of the certificate in /etc/touchstone/server.pem" in line


def test_a_port_in_use(containers, installation):
    with socket.create_server(("0.0.0.0", 7443)):
        code, line = refusal(containers, mounts=installation.mount)
    assert code == UNAVAILABLE
    assert "0.0.0.0:7443" in line
    assert "Address already in use" in line
