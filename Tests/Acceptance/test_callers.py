"""Who may call: keys, methods and applications, as a stock client meets them."""

import json

import grpc
import pytest

from support.caller import new_caller, passcode
from support.configuration import BAD_CONFIGURATION, check_complaints
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


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        (None, "CREDENTIALS_MISSING"),
        ("", "KEY_MALFORMED"),
        ("Bearer", "KEY_MALFORMED"),
        ("Bearer tsk_short", "KEY_MALFORMED"),
        ("Basic c2hvcDpzaG9w", "KEY_MALFORMED"),
        ("Bearer {key}", "KEY_UNKNOWN"),
        (" Bearer  {key} ", "KEY_UNKNOWN"),
        ("Bearer {key}, Bearer {key}", "KEY_MALFORMED"),
    ],
)
def test_who_shows_no_known_key_is_refused_whatever_they_ask_for(guarded, shop_key, authorization, reason):
    shown = authorization and authorization.format(key=Key().text)
    stranger = caller_with(guarded.channel(), "shop", authorization=shown)
    for application_id in ["shop", "nobody's"]:
        stranger.application_id = application_id
        with refused(UNAUTHENTICATED, reason=reason):
            stranger.get_profile("alice")
        with refused(UNAUTHENTICATED, reason=reason):
            stranger.can_evaluate(Phone())
    with refused(UNAUTHENTICATED, reason=reason):
        stranger.tokens.GetSigningKeys(tokens_pb2.GetSigningKeysRequest())
    assert caller_with(guarded.channel(), "shop", shop_key).get_settings("alice")


def test_two_keys_in_one_call_are_no_key(guarded, shop_key):
    fields = [("authorization", f"Bearer {shop_key.text}")] * 2
    caller = caller_with(guarded.channel(), "shop")
    with refused(UNAUTHENTICATED, reason="KEY_MALFORMED"):
        caller.evaluations.CanEvaluatePolicy(
            evaluation_pb2.CanEvaluatePolicyRequest(application_id="shop"), metadata=fields
        )


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


# What a configuration may not say

DIGEST, OTHER_DIGEST = Key().digest, Key().digest
SHOP = f"callers:\n  - name: shop\n    keys: [{DIGEST}]\n"
GRANTS = "    applications: [shop]\n    methods: [TokenService/*]\n"

WRONG = {
    "no list": ("callers: ‸shop", "callers must be a list"),
    "nobody": ("callers: ‸[]", "callers must name a caller"),
    "no name": (f"callers:\n  - ‸keys: [{DIGEST}]\n{GRANTS}", "a caller needs a name"),
    "a name of other letters": (f"callers:\n  - name: ‸the shop\n    keys: [{DIGEST}]\n{GRANTS}", "name must be 1 to 64"),
    "the unknown": (f"callers:\n  - name: ‸unknown\n    keys: [{DIGEST}]\n{GRANTS}", "the audit log"),
    "the unknown in capitals": (f"callers:\n  - name: ‸Unknown\n    keys: [{DIGEST}]\n{GRANTS}", "the audit log"),
    "the operator": (f"callers:\n  - name: ‸operator\n    keys: [{DIGEST}]\n{GRANTS}", "the audit log"),
    "the operator in capitals": (f"callers:\n  - name: ‸OPERATOR\n    keys: [{DIGEST}]\n{GRANTS}", "the audit log"),
    "local in capitals": (f"callers:\n  - name: ‸Local\n    keys: [{DIGEST}]\n{GRANTS}", "name must be local"),
    "plaintext in capitals": (f"callers:\n  - name: ‸PlainText\n    keys: [{DIGEST}]\n{GRANTS}", "name must be plaintext"),
    "two of a name": (
        f"{SHOP}{GRANTS}  - name: ‸shop\n    keys: [{OTHER_DIGEST}]\n{GRANTS}",
        'there are two callers "shop"',
    ),
    "a key of two": (f"{SHOP}{GRANTS}  - name: bank\n    keys: [‸{DIGEST}]\n{GRANTS}", "this key appears twice"),
    "a key twice": (f"callers:\n  - name: shop\n    keys: [{DIGEST}, ‸{DIGEST}]\n{GRANTS}", "this key appears twice"),
    "no identity": (f"callers:\n  - ‸name: shop\n{GRANTS}", "needs one of spiffe, dns, common_name, or keys"),
    "no keys": (f"callers:\n  - name: shop\n    keys: ‸[]\n{GRANTS}", "keys must be a list of 1 to 8"),
    "the key itself": (f"callers:\n  - name: shop\n    keys: [‸{Key().text}]\n{GRANTS}", "a key must be sha256:"),
    "local with a key": (
        f"callers:\n  - name: local\n    ‸keys: [{DIGEST}]\n{GRANTS}",
        "local is the caller in plaintext from this machine",
    ),
    "plaintext with a certificate": (
        f"callers:\n  - name: plaintext\n    ‸dns: shop.example.org\n{GRANTS}",
        "plaintext is the caller in plaintext from beyond this machine",
    ),
    "no methods": (f"callers:\n  - ‸name: shop\n    keys: [{DIGEST}]\n    applications: [shop]\n", "needs methods"),
    "empty methods": (f"{SHOP}    applications: [shop]\n    methods: ‸[]\n", "methods must be a list of 1 to"),
    "a method that is not": (
        f"{SHOP}    applications: [shop]\n    methods: [‸TokenService/IntrospectTokens]\n",
        'did you mean "TokenService/IntrospectToken"?',
    ),
    "a service that is not": (f"{SHOP}    applications: [shop]\n    methods: [‸Tokens/*]\n", 'no method "Tokens/*"'),
    "a method twice": (
        f"{SHOP}    applications: [shop]\n    methods: [TokenService/*, ‸TokenService/*]\n",
        "appears twice",
    ),
    "no applications": (f"callers:\n  - ‸name: shop\n    keys: [{DIGEST}]\n    methods: [TokenService/*]\n", "needs applications"),
    "empty applications": (f"{SHOP}    applications: ‸[]\n    methods: [TokenService/*]\n", "applications must be a list"),
    "one application": (f"{SHOP}    applications: ‸shop\n    methods: [TokenService/*]\n", "applications must be a list"),
    "all among others": (
        f'{SHOP}    applications: [shop, ‸"*"]\n    methods: [TokenService/*]\n',
        "must be the only one",
    ),
    "an application twice": (
        f"{SHOP}    applications: [shop, ‸shop]\n    methods: [TokenService/*]\n",
        "appears twice",
    ),
    "applications for nothing": (
        f"{SHOP}    applications: ‸[shop]\n    methods: [TokenService/GetSigningKeys]\n",
        "applications have no effect",
    ),
    "an unknown setting": (f"{SHOP}    ‸aplications: [shop]\n{GRANTS}", 'did you mean "applications"?'),
    "a certificate that nobody asks for": (
        f"callers:\n  - name: shop\n    ‸spiffe: spiffe://example.org/shop\n{GRANTS}",
        "a certificate needs tls.client_authorities",
    ),
    "two certificates": (
        "tls: {certificate: a, key: b, client_authorities: c}\n"
        f"callers:\n  - name: shop\n    dns: shop.example.org\n    ‸common_name: shop\n{GRANTS}",
        "known by one of spiffe, dns, common_name",
    ),
    "a certificate of two": (
        "tls: {certificate: a, key: b, client_authorities: c}\n"
        f"callers:\n  - name: shop\n    dns: shop.example.org\n{GRANTS}"
        f"  - name: bank\n    dns: ‸shop.example.org\n{GRANTS}",
        'is "shop"\'s: a certificate names one caller',
    ),
    "a wildcard": (
        "tls: {certificate: a, key: b, client_authorities: c}\n"
        f'callers:\n  - name: shop\n    dns: ‸"*.example.org"\n{GRANTS}',
        "without wildcards",
    ),
    "no SPIFFE ID": (
        "tls: {certificate: a, key: b, client_authorities: c}\n"
        f"callers:\n  - name: shop\n    spiffe: ‸https://example.org/shop\n{GRANTS}",
        "must be spiffe://",
    ),
    "a key where certificates are required": (
        "tls: {certificate: a, key: b, client_authorities: c, client_certificates: required}\n"
        f"callers:\n  - name: shop\n    ‸keys: [{DIGEST}]\n{GRANTS}",
        "a caller without a certificate cannot call",
    ),
    "TLS for nobody": ("‸tls: {certificate: a, key: b}", "tls needs callers"),
    "TLS without a key": (f"tls:\n  ‸certificate: a\n{SHOP}{GRANTS}", "tls needs key, a PEM file"),
    "certificates that nobody vouches for": (
        f"tls: {{certificate: a, key: b, ‸client_certificates: optional}}\n{SHOP}{GRANTS}",
        "needs tls.client_authorities",
    ),
    "a word for certificates": (
        f"tls: {{certificate: a, key: b, client_authorities: c, client_certificates: ‸always}}\n{SHOP}{GRANTS}",
        "must be one of required, optional",
    ),
    "no addresses": ("listen: ‸[]", "listen must be 1 to 16"),
    "an address that is none": ("listen: [127.0.0.1:0, ‸nowhere]", "listen must be HOST:PORT or unix:PATH"),
    "a socket without a path": ('listen: ‸"unix:"', "listen must be HOST:PORT or unix:PATH"),
    "reflection by another word": ("reflection: ‸off", "reflection must be one of true, false"),
    "no connections": ("limits: {connections: ‸0}", "limits.connections must be 1 to"),
    "an age of no time": ("limits: {connection_age: ‸0s}", "limits.connection_age must be 1s to 720h"),
    "a grace for nothing": ("limits: {‸connection_age_grace: 1m}", "no effect without limits.connection_age"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, case):
    check_complaints(tmp_path / "touchstone.yaml", *case)
