"""Files that change on disk are taken over without a signal, all of them or none."""

import json
import re
import shlex

import grpc
import pytest

from support.caller import new_caller
from support.certificates import Authority
from support.credentials import Key, caller_with
from support.errors import refused
from support.http import request
from support.kubernetes import Volume
from support.phone import Phone
from support.server import run
from support.stubs import evaluation_pb2, tokens_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED

LOCAL = {"name": "local", "methods": "*", "applications": "*"}
FINGER = {"purpose": "login", "factors": ["biometry"]}
#: The shortest, so that tests wait for a second or two.
WATCH = {"watch_files": "1s"}


def taken(server, *files):
    """The log's line of a change that was taken over; it names the files."""
    line = server.next_error("configuration reloaded")
    fields = shlex.split(line)
    assert "cause=files" in fields
    assert f"files={', '.join(files)}" in fields, line
    return line


def pair(certificate):
    return {"tls.crt": certificate.pem, "tls.key": certificate.key_pem}


class Site:
    """A certificate in a volume, a caller with a key, and a configuration for both."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority(directory)
        self.volume = Volume(directory / "volume", pair(self.authority.issue_server()))
        self.key = Key()

    def configuration(self, *more):
        shop = {"name": "shop", "keys": [self.key.digest], "applications": ["shop"], "methods": "*"}
        tls = {"certificate": str(self.volume / "tls.crt"), "key": str(self.volume / "tls.key")}
        return {"tls": tls, "callers": [shop, *more], **WATCH}

    def renewed(self, name):
        """Another authority, with a certificate for the service."""
        (self.directory / name).mkdir()
        authority = Authority(self.directory / name)
        return authority, authority.issue_server()

    def calls(self, server, authority, key=None):
        return caller_with(server.channel(authority=authority), "shop", key or self.key).get_settings("alice")


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def test_a_certificate_that_kubernetes_replaces(start, site):
    server = start(configuration=site.configuration())
    assert site.calls(server, site.authority)
    authority, certificate = site.renewed("renewed")
    site.volume.replace(pair(certificate))
    taken(server, "tls.certificate", "tls.key")
    assert site.calls(server, authority)
    with refused(UNAVAILABLE):
        site.calls(server, site.authority)


def test_a_certificate_without_its_key_is_taken_when_the_key_is_there(start, site):
    server = start(configuration=site.configuration())
    authority, certificate = site.renewed("renewed")
    site.volume.replace({**pair(certificate), "tls.key": (site.volume / "tls.key").read_bytes()})
    line = server.next_error("configuration refused, nothing changed")
    assert "not the key of the certificate" in line
    assert "cause=files" in line
    assert site.calls(server, site.authority)

    site.volume.replace(pair(certificate))
    taken(server, "tls.certificate", "tls.key")
    assert site.calls(server, authority)
    # The refusal was said once.
    assert server.errors.count("configuration refused") == 1


def test_a_caller_that_is_added(start, site):
    server = start(configuration=site.configuration())
    key = Key()
    with refused(UNAUTHENTICATED):
        site.calls(server, site.authority, key)
    bank = {"name": "bank", "keys": [key.digest], "applications": ["shop"], "methods": "*"}
    server.write_configuration(site.configuration(bank))
    assert "callers=shop, bank" in shlex.split(taken(server, "configuration"))
    assert site.calls(server, site.authority, key)


def refused_seconds(server):
    metrics = request(server.urls[0], "/metrics").text
    return float(re.search(r"(?m)^touchstone_reload_refused_seconds (.+)$", metrics)[1])


def test_a_policy_that_changes_and_then_a_file_that_is_wrong_until_it_is_mended(start):
    """The log, the audit log and the metrics say so."""

    def configuration(**policies):
        return {"callers": [LOCAL], "policies": policies, **WATCH}

    server = start(configuration=configuration(kept=FINGER), arguments=["--http", "127.0.0.1:0"], http=1)
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    server.write_configuration(configuration(kept=FINGER, added=FINGER))
    assert "added=added" in taken(server, "configuration")
    assert caller.login(phone, "added").outcome == SUCCEEDED
    event = caller.next_event("configuration.reloaded")
    assert (event.caller, dict(event.details)) == ("operator", {"cause": "files", "files": "configuration"})

    server.write_configuration(json.dumps(configuration(wrong={"purpose": "pay"})))
    line = server.next_error("configuration refused, nothing changed")
    assert f"{server.data_directory.with_suffix('.yaml')}:1:" in line
    assert refused_seconds(server) > 0
    assert caller.login(phone, "added").outcome == SUCCEEDED

    server.write_configuration(configuration(mended=FINGER))
    server.next_error("configuration reloaded")
    assert caller.login(phone, "mended").outcome == SUCCEEDED
    metrics = request(server.urls[0], "/metrics").text
    assert "\ntouchstone_reload_refused_seconds 0\n" in metrics
    assert 'touchstone_reloads_total{result="done",cause="files"} 2' in metrics
    # A line for each thing that is wrong, and one refusal.
    assert 'touchstone_reloads_total{result="refused",cause="files"} 1' in metrics


def test_a_file_that_the_configuration_begins_to_name_is_awaited(start, tmp_path):
    roots = tmp_path / "roots.pem"
    server = start(configuration={"callers": [LOCAL], **WATCH})
    server.write_configuration(
        {"callers": [LOCAL], "attestation": {"roots": {"android": str(roots)}}, **WATCH}
    )
    assert "attestation.roots.android" in server.next_error("configuration refused")
    roots.write_bytes(Authority(tmp_path).pem)
    taken(server, "attestation.roots.android")


def test_keys_that_are_rotated(start):
    server = start(configuration=WATCH)
    caller = new_caller(server)

    def published():
        return len(json.loads(caller.tokens.GetSigningKeys(tokens_pb2.GetSigningKeysRequest()).jwk_set)["keys"])

    before = published()
    assert run("keys", "rotate", server.data_directory / "keys", "signing", "--after", "1h").returncode == 0
    taken(server, "keys")
    assert published() == before + 1


def test_a_signal_is_told_from_a_change(start):
    server = start(configuration={"watch_files": "off"})
    assert "cause=signal files=configuration" in server.reload({"watch_files": "off", "issuer": "other"})
    event = new_caller(server).next_event("configuration.reloaded")
    assert dict(event.details)["cause"] == "signal"
