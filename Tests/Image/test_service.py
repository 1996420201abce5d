"""The service in the container: a stranger's client logs in, and nothing that was answered is lost."""

from containers import Containers

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


def test_the_health_check_tells_a_service_from_none(containers, installation):
    container = containers.start(installation)
    # The image's own, as an engine runs it.
    assert container.is_healthy()
    checked = container.run("/usr/bin/touchstone", "healthcheck", "--address", "unix:/run/touchstone/touchstone.sock")
    assert (checked.returncode, checked.stdout) == (0, "serving\n")
    absent = container.run("/usr/bin/touchstone", "healthcheck", "--address", "127.0.0.1:1")
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
