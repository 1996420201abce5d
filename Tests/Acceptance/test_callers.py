"""Who may call: keys, methods and applications, as a stock client meets them."""

import json

import grpc
import pytest

from support.caller import new_caller, passcode
from support.configuration import BAD_CONFIGURATION
from support.credentials import Key, caller_with, new_key
from support.errors import refused
from support.phone import Phone
from support.replicas import Load
from support.server import run_to_end
from support.stubs import administration_pb2, evaluation_pb2, tokens_pb2

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
PERMISSION_DENIED = grpc.StatusCode.PERMISSION_DENIED


def entry(name, *keys, applications=("shop",), methods="*"):
    """One of `callers`."""
    entry = {"name": name, "applications": applications, "methods": methods}
    if keys:
        entry["keys"] = [key.digest for key in keys]
    return entry


@pytest.fixture
def shop_key():
    return Key()


@pytest.fixture
def audit_key():
    return Key()


@pytest.fixture
def guarded(start, shop_key, audit_key):
    """A service with a shop, and an auditor who may list everybody's events and no more."""
    auditor = entry("auditor", audit_key, applications="*", methods=["AdministrationService/ListEvents"])
    return start(configuration={"callers": [entry("shop", shop_key), auditor]})


def events(server, key, application_id="", kinds=("call.",)):
    listing = administration_pb2.ListEventsRequest(
        filter=administration_pb2.EventFilter(application_id=application_id, kinds=kinds), page_size=1000
    )
    return caller_with(server.channel(), "", key).administration.ListEvents(listing).events


# Keys


def test_a_key_opens_what_its_caller_is_granted(guarded, shop_key):
    caller, phone = caller_with(guarded.channel(), "shop", shop_key), Phone()
    caller.bind(phone)
    answer = caller.login(phone)
    assert answer.outcome == evaluation_pb2.OUTCOME_SUCCEEDED
    assert caller.introspect(answer.token).active
    assert {event.caller for event in caller.events()} == {"shop"}


def test_who_shows_no_known_key_is_refused_whatever_they_ask_for(guarded, shop_key):
    channel = guarded.channel()
    for shown, reason in [(None, "CREDENTIALS_MISSING"), ("Bearer", "KEY_MALFORMED"), (f"Bearer {Key().text}", "KEY_UNKNOWN")]:
        with refused(UNAUTHENTICATED, reason=reason):
            caller_with(channel, "shop", authorization=shown).get_profile("alice")
    with refused(UNAUTHENTICATED, reason="KEY_MALFORMED"):
        caller_with(channel, "shop").evaluations.CanEvaluatePolicy(
            evaluation_pb2.CanEvaluatePolicyRequest(application_id="shop"),
            metadata=[("authorization", f"Bearer {shop_key.text}")] * 2,
        )
    assert caller_with(channel, "shop", shop_key).get_settings("alice")


def test_the_command_makes_a_key_and_the_lines_for_it(start, tmp_path):
    key, lines = new_key("shop")
    text = f"callers:\n{lines}\n    applications: [shop]\n    methods: [TokenService/*]\n"
    server = start(configuration=text)
    caller = caller_with(server.channel(), "shop", key)
    assert caller.tokens.GetSigningKeys(tokens_pb2.GetSigningKeysRequest()).jwk_set
    assert key.text not in text
    assert new_key("shop")[0].text != key.text


# This machine


def test_without_callers_this_machine_may_do_everything_also_over_a_unix_socket(start, tmp_path):
    path = f"unix:{tmp_path}/touchstone.sock"
    server = start(listen=["127.0.0.1:0", path])
    assert server.addresses[1] == path
    phone = Phone()
    new_caller(server, "shop").bind(phone)
    over_socket = caller_with(server.channel(address=path), "shop")
    assert over_socket.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
    assert {event.caller for event in over_socket.events()} == {"local"}


@pytest.mark.parametrize("with_callers", [False, True])
def test_where_nobody_could_show_who_they_are_the_service_does_not_start(tmp_path, with_callers):
    configuration = tmp_path / "touchstone.yaml"
    callers = [entry("shop", Key())] if with_callers else None
    configuration.write_text(json.dumps({"callers": callers} if callers else {}))
    arguments = ["--listen", "0.0.0.0:0", "--allow-plaintext", "--config", configuration]
    ended = run_to_end(tmp_path / "data", arguments=arguments)
    assert ended.returncode == BAD_CONFIGURATION
    assert "in plaintext the service cannot identify callers" in ended.stderr
    assert not (tmp_path / "data").exists()


def test_plaintext_beyond_this_machine_is_served_where_that_is_granted(start):
    server = start(
        listen=["0.0.0.0:0"], arguments=["--allow-plaintext"], configuration={"callers": [entry("plaintext")]}
    )
    with refused(UNAUTHENTICATED, reason="CREDENTIALS_MISSING"):
        # From this machine, which is another caller.
        caller_with(server.channel(address=server.address.replace("0.0.0.0", "127.0.0.1")), "shop").get_settings("a")


# Audit


def test_events_of_all_applications_need_all_applications(guarded, shop_key, audit_key):
    shop = caller_with(guarded.channel(), "shop", shop_key)
    shop.set_secret("alice", passcode("2468"))
    assert [event.kind for event in events(guarded, audit_key, kinds=())] == ["log.signed", "secret.set"]
    with refused(PERMISSION_DENIED, reason="APPLICATION_NOT_GRANTED"):
        shop.administration.ListEvents(administration_pb2.ListEventsRequest())
    assert events(guarded, shop_key, "shop") == []


# Reloading


def test_keys_and_grants_are_reloaded_under_load_and_no_call_fails_that_may(start, shop_key):
    """A key is replaced while its callers call: first both serve, then the new one alone."""
    new = Key()
    server = start(configuration={"callers": [entry("shop", shop_key)]})
    keys = {"current": shop_key}

    def call_on(channel):
        return lambda: caller_with(channel, "shop", keys["current"]).get_settings("alice")

    with Load(*(call_on(server.channel()) for _ in range(4))) as load:
        load.wait_for_rounds(1)
        server.reload({"callers": [entry("shop", shop_key, new)]})
        for _ in range(5):
            server.reload()
        keys["current"] = new
        load.wait_for_rounds(25)

    channel = server.channel()
    assert caller_with(channel, "shop", shop_key).get_settings("alice")
    server.reload({"callers": [entry("shop", new)]})
    with refused(UNAUTHENTICATED, reason="KEY_UNKNOWN"):
        caller_with(channel, "shop", shop_key).get_settings("alice")
    assert caller_with(channel, "shop", new).get_settings("alice")
    server.reload({"callers": [entry("shop", new, methods=["TokenService/*"])]})
    with refused(PERMISSION_DENIED, reason="METHOD_NOT_GRANTED"):
        caller_with(channel, "shop", new).get_settings("alice")
