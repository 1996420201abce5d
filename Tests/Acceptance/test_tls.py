"""TLS: callers by their certificates, and certificates that change while the service serves."""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from support.android import certificate_that_spells_its_curve_out
from support.authenticators import Publisher
from support.caller import new_caller, passcode
from support.certificates import Authority, Certificate
from support.configuration import BAD_CONFIGURATION, MARK, check_complaints
from support.credentials import Key, caller_with
from support.errors import refused
from support.phone import Phone
from support.replicas import Load
from support.server import BINARY, run, run_to_end
from support.stubs import administration_pb2, evaluation_pb2

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
PERMISSION_DENIED = grpc.StatusCode.PERMISSION_DENIED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE

ROOT = Path(__file__).parents[2]

SHOP = "spiffe://example.org/shop"


class Installation:
    """An authority, a server's certificate, and the configuration for them."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority(directory)
        self.server = self.authority.issue_server()
        self.key = Key()

    def configuration(self, *callers, client_certificates="optional"):
        return {
            "tls": {
                "certificate": str(self.server.file),
                "key": str(self.server.key_file),
                "client_authorities": str(self.authority.file),
                "client_certificates": client_certificates,
            },
            "callers": callers
            or [
                caller("shop", spiffe=SHOP, keys=[self.key.digest]),
                caller("bank", dns="bank.example.org"),
                caller("support", common_name="Support Desk"),
            ],
        }


def caller(name, **identity):
    return {"name": name, "applications": ["shop"], "methods": "*", **identity}


@pytest.fixture
def installed(tmp_path):
    return Installation(tmp_path)


def connected(server, installed, certificate=None, key=None, authority=None):
    channel = server.channel(authority=authority or installed.authority, certificate=certificate)
    return caller_with(channel, "shop", key)


# Who calls


def test_a_certificate_says_who_calls(start, installed):
    server = start(configuration=installed.configuration())
    for name, names in [
        ("shop", {"uris": [SHOP], "hosts": ["bank.example.org"], "common_name": "Support Desk"}),
        ("bank", {"hosts": ["other.example.org", "bank.example.org"], "common_name": "Support Desk"}),
        ("support", {"common_name": "Support Desk"}),
    ]:
        caller, phone = connected(server, installed, installed.authority.issue("client", **names)), Phone()
        caller.bind(phone, name)
        assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
        assert {event.caller for event in caller.events() if event.profile_id == name} == {name}
        caller.application_id = "another"
        with refused(PERMISSION_DENIED, reason="APPLICATION_NOT_GRANTED"):
            caller.get_settings("alice")


def test_who_is_not_let_in_is_an_event_and_a_line_of_the_log(start, installed, tmp_path):
    auditor = {"name": "auditor", "dns": "audit.example.org", "applications": "*", "methods": "*"}
    server = start(configuration=installed.configuration(auditor, client_certificates="required"))
    (tmp_path / "other").mkdir()
    forged = Authority(tmp_path / "other").issue("client", hosts=["audit.example.org"])
    with refused(UNAVAILABLE):
        connected(server, installed, forged).get_settings("alice")
    assert "certificate" in server.next_error("a TLS handshake failed")
    auditor = connected(server, installed, installed.authority.issue("audit", hosts=["audit.example.org"]))
    # What is committed later is durable later.
    auditor.set_secret("alice", passcode("2468"))
    only_refusals = administration_pb2.EventFilter(kinds=["call.refused"])
    listed = auditor.administration.ListEvents(administration_pb2.ListEventsRequest(filter=only_refusals)).events
    # As often as the client tried.
    assert {(event.caller, *sorted(event.details.items())) for event in listed} == {
        ("unknown", ("peer", "tls"), ("reason", "CERTIFICATE_REFUSED"))
    }


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_strangers_curve_that_is_spelled_out_is_never_read(start, installed, tmp_path, version):
    """Reading one of the stranger's own making takes an event loop 100 ms, and a chain has room for fifty."""
    server = start(configuration=installed.configuration())
    stranger = installed.authority.issue("stranger", common_name="Support Desk")
    chain = tmp_path / "chain.pem"
    chain.write_bytes(stranger.pem + ssl.DER_cert_to_PEM_cert(certificate_that_spells_its_curve_out()).encode())
    context = ssl.create_default_context(cadata=installed.authority.pem.decode())
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(chain, stranger.key_file)
    host, port = server.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as connection, pytest.raises(ssl.SSLError, match="(?i)decode.error"):
        # By TLS 1.3 the client's part is over before the server has read its certificates.
        context.wrap_socket(connection, server_hostname="localhost").recv()


def test_a_missing_intermediate_is_a_warning(tmp_path):
    """Of `check-config`: a service with a private root that its clients know is right without it."""
    intermediate = Authority(tmp_path, "intermediate")
    server = intermediate.issue_server()
    complete = tmp_path / "complete.pem"
    complete.write_bytes(server.pem + intermediate.pem)

    def checked(certificate, key, **more):
        tls = {"certificate": str(certificate), "key": str(key), **more}
        callers = [{"name": "shop", "spiffe": "spiffe://example.org/shop", "applications": "*", "methods": "*"}]
        if not more:
            callers = [{"name": "shop", "keys": [Key().digest], "applications": "*", "methods": "*"}]
        path = tmp_path / "touchstone.yaml"
        path.write_text(json.dumps({"tls": tls, "callers": callers}))
        ended = run("check-config", path)
        assert ended.returncode == 0, ended.stderr
        return [line for line in ended.stdout.splitlines() if "warning" in line]

    (warning,) = checked(server.file, server.key_file)
    assert f"warning: tls.certificate {server.file}: its issuer /CN=intermediate is neither in the file" in warning
    assert warning.startswith(f"{tmp_path / 'touchstone.yaml'}:1:")
    assert checked(complete, server.key_file) == []
    assert checked(server.file, server.key_file, client_authorities=str(intermediate.file)) == []
    alone = Certificate(tmp_path / "alone.pem", tmp_path / "alone.key")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-subj", "/CN=alone", "-out", alone.file]
    subprocess.run([*command, "-keyout", alone.key_file], check=True, capture_output=True)
    assert checked(alone.file, alone.key_file) == []


def test_plaintext_is_not_served_beside_tls_but_on_a_unix_socket(start, installed, tmp_path):
    path = f"unix:{tmp_path}/touchstone.sock"
    configuration = installed.configuration()
    configuration["callers"].append(caller("local"))
    server = start(listen=["127.0.0.1:0", path], configuration=configuration)
    with refused(UNAVAILABLE):
        caller_with(server.channel(), "shop", installed.key).get_settings("alice")
    assert caller_with(server.channel(address=path), "shop").get_settings("alice")
    # Over TLS this machine is like any other.
    with refused(UNAUTHENTICATED, reason="CREDENTIALS_MISSING"):
        connected(server, installed).get_settings("alice")


# Files


def replace(target, source):
    """In one step, as a renewing agent does it."""
    for old, new in [(target.file, source.file), (target.key_file, source.key_file)]:
        shutil.copy(new, old.with_suffix(".new"))
        old.with_suffix(".new").replace(old)


def test_certificates_are_reloaded_under_load_and_no_call_fails(start, installed, tmp_path):
    server = start(configuration=installed.configuration())
    shop = installed.authority.issue("shop", uris=[SHOP])

    def call_by(caller):
        return lambda: caller.get_settings("alice")

    with Load(*(call_by(connected(server, installed, shop)) for _ in range(4))) as load:
        load.wait_for_rounds(20)
        # Another authority's from now on; the connections that are there know nothing of it.
        (tmp_path / "new").mkdir()
        renewed = Authority(tmp_path / "new")
        replace(installed.server, renewed.issue_server())
        server.reload()
        load.wait_for_rounds(20)
        assert connected(server, installed, shop, authority=renewed).get_settings("alice")
        with refused(UNAVAILABLE):
            connected(server, installed, shop).get_settings("alice")


# A connection stands as long as its client's certificate, and as long as somebody vouches for that


def test_a_broken_certificate_changes_nothing(start, installed):
    server = start(configuration=installed.configuration())
    shutil.copy(installed.authority.issue_server("other").key_file, installed.server.key_file)
    # The callers beside it are not taken, either.
    server.write_configuration(installed.configuration(caller("nobody", spiffe="spiffe://x/y")))
    server.process.send_signal(signal.SIGHUP)
    log = server.next_error("configuration refused, nothing changed")
    assert str(installed.directory) in log
    assert connected(server, installed, key=installed.key).get_settings("alice")


def test_other_files_wait_for_a_restart(start, installed):
    server = start(configuration=installed.configuration())
    installed.server = installed.authority.issue_server("other")
    server.reload(installed.configuration())
    assert "settings=tls" in server.next_error("wait for a restart")


def test_files_that_cannot_be_used_are_named_before_anything_is_made(tmp_path, installed):
    installed.server.key_file.unlink()
    configuration, key = tmp_path / "touchstone.yaml", installed.server.key_file
    complaint = f"tls.key {key}: No such file or directory"
    text = json.dumps(installed.configuration()).replace(f'"{key}"', f'\n{MARK}"{key}"')
    check_complaints(configuration, text, complaint)
    ended = run_to_end(tmp_path / "data", arguments=["--config", configuration])
    assert (ended.returncode, ended.stderr) == (BAD_CONFIGURATION, f"{configuration}:2:1: {complaint}\n")
    assert not (tmp_path / "data").exists()


def test_a_key_file_that_others_can_read_is_refused(tmp_path, installed):
    installed.server.key_file.chmod(0o644)
    configuration = tmp_path / "touchstone.yaml"
    configuration.write_text(json.dumps(installed.configuration()))
    checked = run("check-config", configuration)
    assert checked.returncode == BAD_CONFIGURATION
    assert str(installed.server.key_file) in checked.stderr


# What is shipped


def test_the_example_is_right(tmp_path, installed):
    """With files where it has them."""
    example = (ROOT / "deploy/touchstone.example.yaml").read_text()
    installed.authority.file.rename(tmp_path / "clients.pem")
    roots = ROOT / "Sources/Core/TouchstoneAttestation/Roots"
    shutil.copy(roots / "google-hardware-p384-2025.pem", tmp_path / "android-roots.pem")
    shutil.copy(roots / "apple-app-attestation-root-ca.pem", tmp_path / "apple-app-attest-root.pem")
    (tmp_path / "android-revoked.json").write_text('{"entries": {}}')
    publisher = Publisher()
    publisher.write(tmp_path / "fido-metadata.jwt")
    publisher.root.write(tmp_path / "fido-metadata-root.pem")
    publisher.root.write(tmp_path / "authenticator-roots.pem")
    path = tmp_path / "touchstone.yaml"
    path.write_text(example.replace("/etc/touchstone/", f"{tmp_path}/"))
    checked = run("check-config", path)
    assert (checked.returncode, checked.stderr) == (0, "")
    callers = [line.split()[1] for line in checked.stdout.splitlines() if line.startswith("caller ")]
    assert callers == ["shop", "checkout", "support", "auditor", "local"]


#: Installed with the tests' packages.
BUF = Path(sys.executable).with_name("buf")
CALLS = ROOT / "docs" / "CALLS.md"


class CallByHand:
    """One of the page's lines, word for word but for the address."""

    def __init__(self, command, directory, server):
        command = re.sub(r"(127\.0\.0\.1|localhost):7443", server.address, command)
        path = f"{BUF.parent}:{os.environ['PATH']}"
        self._process = subprocess.Popen(
            ["bash", "-euc", f"exec {command}"],
            cwd=directory,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def output(self):
        printed, errors = self._process.communicate(timeout=60)
        assert self._process.returncode == 0, errors
        return printed

    def prints(self, word):
        """Whether it does, of a call without an end."""
        try:
            return any(word in line for line in self._process.stdout)
        finally:
            self._process.kill()
            self._process.communicate()


def commands_by_hand(text):
    return [line for line in text.replace("\\\n", "").splitlines() if line.startswith("buf ")]


def test_the_pages_calls_by_hand_are_right(start, tmp_path):
    server = start()
    new_caller(server, "shop").bind(Phone())
    listing, keys, events = commands_by_hand(CALLS.read_text().split("## With TLS")[0])
    assert "touchstone.v1.AdministrationService/WatchEvents" in CallByHand(listing, tmp_path, server).output()
    assert "jwkSet" in CallByHand(keys, tmp_path, server).output()
    assert CallByHand(events, tmp_path, server).prints("binding.created")


def test_the_page_on_calls_is_right(start, tmp_path):
    """What it says of a service with TLS, word for word but for the port and the build."""
    text = CALLS.read_text()
    script = text.split("## With TLS and known callers")[1].split("```sh\n")[1].split("```")[0]
    setup, serving = script.rstrip().rsplit("\n", 1)
    assert serving.startswith("$touchstone serve --listen 0.0.0.0:7443 --config touchstone.yaml")
    setup = setup.replace("make debug && touchstone=.build/debug/touchstone", f"touchstone={BINARY}")
    made = subprocess.run(["bash", "-euc", setup], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    configuration = (tmp_path / "touchstone.yaml").read_text().replace("server.", f"{tmp_path}/server.")
    server = start(configuration=configuration)

    client = text.split("in Python, with `grpcio`:\n```python\n")[1].split("```")[0]
    client = client.replace('open("', f'open("{tmp_path}/').replace("localhost:7443", server.address)
    names = {"grpc": grpc}
    exec(client, names)
    caller, phone = caller_with(names["channel"], "shop"), Phone()
    caller.bind(phone)
    assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
    names["channel"].close()

    (tmp_path / "Protos").symlink_to(ROOT / "Protos")
    (keys,) = commands_by_hand(text.split("## With TLS")[1])
    assert "jwkSet" in CallByHand(keys, tmp_path, server).output()
