"""Files that other users can change are not served from: the configuration, and what it names."""

import os

import pytest
from support.caller import new_caller
from support.configuration import BAD_CONFIGURATION, write
from support.phone import Phone
from support.server import run, run_to_end
from test_tls import Installation

NOBODY = 65534

MENDING = "lets other users change it: run `chmod go-w"


@pytest.fixture
def installed(tmp_path):
    return Installation(tmp_path)


@pytest.fixture
def configuration(tmp_path):
    return write(tmp_path / "touchstone.yaml", "issuer: bank\n")


def refusal(configuration, data_directory):
    """What `check-config` and `serve` say, which is the same."""
    checked = run("check-config", configuration)
    ended = run_to_end(data_directory, arguments=["--config", configuration])
    assert (checked.returncode, ended.returncode) == (BAD_CONFIGURATION, BAD_CONFIGURATION)
    assert checked.stderr == ended.stderr
    assert (checked.stdout, ended.stdout) == ("", "")
    assert not data_directory.exists()
    return checked.stderr


def test_a_configuration_that_others_can_write(configuration, tmp_path):
    mode = 0o602
    configuration.chmod(mode)
    line = f"{configuration}: mode 0{mode:o} {MENDING} {configuration}`\n"
    assert refusal(configuration, tmp_path / "data") == line
    configuration.chmod(0o644)
    assert run("check-config", configuration).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_configuration_of_another_user(configuration, tmp_path):
    os.chown(configuration, NOBODY, NOBODY)
    line = (
        f"user {NOBODY} owns it and can change it: if that is the service's user, run this command as it: "
        "`runuser -u nobody -- …`; a stranger's file is to be copied by root, after a look at it"
    )
    assert line in refusal(configuration, tmp_path / "data")


@pytest.mark.parametrize(("mode", "is_served"), [(0o770, False), (0o1777, True)])
def test_a_directory_on_the_way_to_a_socket(start, tmp_path, mode, is_served):
    """Another user's socket in the place of the service's would be sent its callers' passcodes."""
    directory = tmp_path / "open"
    directory.mkdir()
    configuration = write(tmp_path / "touchstone.yaml", f"listen: unix:{directory}/socket\n")
    directory.chmod(mode)
    if is_served:
        assert run("check-config", configuration).returncode == 0
        new_caller(start(listen=[f"unix:{directory}/socket"])).begin_binding(Phone(), "alice")
    else:
        line = f"listen {directory}/socket: its directory {directory}: mode 0{mode:o} {MENDING} {directory}`"
        serve = ["serve", "--config", configuration, "--data-dir", tmp_path / "data"]
        for ended in [run("check-config", configuration), run(*serve)]:
            assert ended.returncode == BAD_CONFIGURATION
            assert line in ended.stderr
        assert not (tmp_path / "data").exists()


def test_a_mounted_config_map_is_served(start, tmp_path):
    """As Kubernetes arranges it: links to a directory that is swapped as a whole."""
    mount = tmp_path / "etc"
    (mount / "..2026").mkdir(parents=True)
    (mount / "..data").symlink_to("..2026")
    write(mount / "..2026" / "touchstone.yaml", "issuer: bank\n").chmod(0o644)
    (mount / "touchstone.yaml").symlink_to("..data/touchstone.yaml")
    start(arguments=["--config", mount / "touchstone.yaml"])


@pytest.mark.parametrize("name", ["certificate", "key", "client_authorities"])
def test_a_file_of_tls_that_others_can_write(installed, tmp_path, start, name):
    settings = installed.configuration()
    path = settings["tls"][name]
    before = os.stat(path).st_mode & 0o777
    os.chmod(path, 0o620)
    configuration = write(tmp_path / "touchstone.yaml", "tls: " + str(settings["tls"]) + "\ncallers: " + str(settings["callers"]))
    column = configuration.read_text().index(repr(path)) + 1
    line = f"{configuration}:1:{column}: tls.{name} {path}: mode 0620 {MENDING} {path}`\n"
    assert refusal(configuration, tmp_path / "data") == line
    os.chmod(path, before)
    server = start(configuration=settings)
    os.chmod(path, 0o620)
    server.process.send_signal(1)
    assert f"mode 0620 {MENDING} {path}`" in server.next_error("configuration refused, nothing changed")


def test_a_reload_refuses_a_configuration_that_others_can_write(start, configuration):
    server = start(arguments=["--config", configuration])
    configuration.chmod(0o666)
    server.process.send_signal(1)
    assert MENDING in server.next_error("configuration refused, nothing changed")


def test_check_config_looks_at_the_data_directory(tmp_path):
    data = tmp_path / "data"
    configuration = write(tmp_path / "touchstone.yaml", f"data_dir: {data}\n")
    assert run("check-config", configuration).returncode == 0
    data.mkdir()
    data.chmod(0o777)
    checked = run("check-config", configuration)
    assert checked.returncode == BAD_CONFIGURATION
    assert checked.stderr == f"{configuration}:1:11: data_dir {data}: mode 0777 {MENDING} {data}`\n"


def test_check_config_names_every_place_at_once(installed, tmp_path):
    installed.server.file.unlink()
    data, archive = tmp_path / "data", tmp_path / "archive"
    for directory in (data, archive):
        directory.mkdir()
        directory.chmod(0o777)
    configuration = write(
        tmp_path / "touchstone.yaml",
        f"tls: {installed.configuration()['tls']}\ncallers: {installed.configuration()['callers']}\n"
        f"data_dir: {data}\nretention: {{events: 1d, archive: {archive}}}\n",
    )
    lines = run("check-config", configuration).stderr.splitlines()
    starts = [f"1:22: tls.certificate {installed.server.file}", f"3:11: data_dir {data}", f"4:34: retention.archive {archive}"]
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(f"{configuration}:{start}: ")


def test_a_policy_table_may_be_played_on_anybodys_configuration(configuration):
    configuration.chmod(0o666)
    assert run("policy", "list", "--config", configuration).returncode == 0
