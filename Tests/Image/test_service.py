"""The service in the container: a stranger's client logs in, and nothing that was answered is lost."""

import json
import shutil

from containers import Containers, SHOP

from support.phone import Phone
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT


def test_a_login_survives_a_kill_and_its_challenge_stays_used(containers, installation):
    first = containers.start(installation)
    caller, phone = first.caller(), Phone()
    binding_id = caller.bind(phone).binding_id
    used = caller.attempt(phone, caller.begin(phone))
    assert caller.evaluations.SubmitAttempt(used).outcome == SUCCEEDED
    first.kill()

    second = containers.start(installation)
    caller = second.caller()
    assert caller.evaluations.SubmitAttempt(used).outcome == INVALID_CONTEXT
    assert caller.login(phone).outcome == SUCCEEDED
    assert caller.get_binding(binding_id).binding_id == binding_id
    assert second.terminate() == 0


def test_sigterm_ends_it_with_0(containers, installation):
    container = containers.start(installation)
    assert "listening on" in container.logs()
    assert container.terminate() == 0


def test_the_files_values_are_in_force(containers, installation):
    """The image has defaults alone, which the file overrides."""
    file = installation.directory / "touchstone.yaml"
    settings = json.loads(file.read_text()) | {"data_dir": "/var/lib/touchstone/own", "listen": ["0.0.0.0:7443", "127.0.0.1:7444"]}
    file.write_text(json.dumps(settings))
    container = containers.start(installation)
    assert "listening on 127.0.0.1:7444" in container.logs()
    container.caller().bind(Phone())
    verified = container.run("/usr/bin/touchstone", "audit", "verify", "--data-dir", "/var/lib/touchstone/own")
    assert verified.returncode == 0, verified.stderr


def test_variables_alone_configure_it(containers, installation):
    """Beside the certificate and its key, which no variable holds."""
    (installation.directory / "touchstone.yaml").unlink()
    caller = {"name": "shop", "spiffe": SHOP, "applications": ["shop"], "methods": "*"}
    variables = {
        "TLS_CERTIFICATE": "/etc/touchstone/server.pem",
        "TLS_KEY": "/etc/touchstone/server.key",
        "TLS_CLIENT_AUTHORITIES": f"/etc/touchstone/{installation.authority.file.name}",
        "CALLERS": json.dumps([caller]),
        "ISSUER": "variables",
    }
    arguments = [f"--env=TOUCHSTONE_{name}={value}" for name, value in variables.items()]
    container = containers.start(installation, arguments=arguments)
    caller, phone = container.caller(), Phone()
    caller.bind(phone)
    assert caller.login(phone).outcome == SUCCEEDED
    assert container.is_healthy()


def test_any_user_of_group_0_runs_it(containers, installation):
    """OpenShift gives each project a user of its own, without a name; mounted files belong to root and the pod's group."""
    for path in installation.directory.iterdir():
        shutil.chown(path, 0, 2000)
        path.chmod(0o440)
    arguments = ["--user=1000680000:0", "--group-add=2000"]
    for _ in range(2):
        container = containers.start(installation, arguments=arguments)
        caller, phone = container.caller(), Phone()
        caller.bind(phone)
        assert caller.login(phone).outcome == SUCCEEDED
        assert container.is_healthy()
        assert container.terminate() == 0
    # What another user left is told apart from a wrong mode.
    other = containers.run("--user=1000690000:0", "--group-add=2000", mounts=installation.mount)
    assert other.returncode == 77
    assert "run the service as user 1000680000" in other.stderr


def test_the_health_check_tells_a_service_from_none(containers, installation):
    container = containers.start(installation)
    # The image's own, as an engine runs it.
    assert container.is_healthy()
    checked = container.run("/usr/bin/touchstone", "healthcheck", "--target", "unix:/tmp/touchstone.sock")
    assert (checked.returncode, checked.stdout) == (0, "serving\n")
    absent = container.run("/usr/bin/touchstone", "healthcheck", "--target", "127.0.0.1:1")
    assert absent.returncode == 69
    assert "127.0.0.1:1" in absent.stderr


def test_the_demo_runs_inside(containers):
    demo = containers.run(image_arguments=["demo"])
    assert demo.returncode == 0, demo.stderr
    assert "→ SUCCEEDED" in demo.stdout


def test_the_version_is_the_labels_version(containers, image):
    told = containers.run(image_arguments=["--version"])
    assert told.returncode == 0
    labels = image["Labels"]
    assert labels["org.opencontainers.image.version"] == told.stdout.strip()
    assert labels["org.opencontainers.image.title"] == "Touchstone"
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert Containers.image()["Id"] == image["Id"]
