"""Operators that an identity provider signs in: by the code flow, and what a provider that is down or lies gets."""

import concurrent.futures
import json
import socket
import threading
import urllib.parse

import oidc_provider_mock
import pytest
import werkzeug.serving
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from support.caller import new_caller
from support.certificates import Authority
from support.configuration import BAD_CONFIGURATION
from support.console import Visitor, operators, signed_in
from support.http import request
from support.provider import Provider
from support.server import run
from test_console import CONSOLE, SESSION, Mark, events

STATE = "touchstone-console-oidc"
BEGIN = "/console/sign-in/oidc"
FROM_ELSEWHERE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def provider(authority):
    provider = Provider(authority)
    yield provider
    provider.close()


def configuration(provider, directory, **settings):
    return {"console_url": "http://localhost:1/console", "console": {"oidc": provider.configuration(directory, **settings)}}


@pytest.fixture
def served(start, provider, tmp_path):
    return start(configuration=configuration(provider, tmp_path), arguments=CONSOLE, http=1)


@pytest.fixture
def url(served):
    return served.urls[0]


def begin(visitor, page=None):
    """The link of the sign-in page; leads to the provider."""
    answer = visitor.send(BEGIN + (f"?{urllib.parse.urlencode({'page': page})}" if page else ""))
    assert answer.status == 303, answer.text
    return answer.headers["location"]


def come_back(visitor, provider, location, **changes):
    redirect, fields = provider.authorize(location)
    assert redirect == "http://localhost:1/console/oidc"
    query = urllib.parse.urlencode({name: value for name, value in (fields | changes).items() if value is not None})
    return visitor.open(f"/console/oidc?{query}", headers=FROM_ELSEWHERE)


def sign_in(visitor, provider, **changes):
    return come_back(visitor, provider, begin(visitor), **changes)


def test_the_company_s_account_signs_an_operator_in(served, url, provider):
    visitor = Visitor(url)
    page = visitor.open("/console/events?kind=operator.")
    assert [link for link in page.links if link.startswith(BEGIN)]
    # Nobody has a password here.
    assert [form.action for form in page.forms] == ["/console/offset"]
    answer = visitor.send(page.link(BEGIN))
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{STATE}=") and cookie.endswith("; Path=/console/oidc; HttpOnly; SameSite=Lax; Max-Age=600")
    page = come_back(visitor, provider, answer.headers["location"])
    assert page.status == 200
    assert visitor.open("/console").text.count("oidc:anna-1 (support)") == 1
    assert STATE not in visitor.cookies
    (event,) = events(new_caller(served), "operator.signed_in", application_id="")
    assert (event.caller, event.details["method"], event.details["subject"]) == ("operator:oidc:anna-1", "openid", "anna-1")
    # The provider is asked for its keys once an hour.
    assert sign_in(Visitor(url), provider).status == 200
    assert provider.requests.count("/keys") == provider.requests.count("/.well-known/openid-configuration") == 1


def test_the_sign_in_leads_to_the_page_that_was_wanted(url, provider):
    visitor = Visitor(url)
    answer = visitor.send(f"{BEGIN}?page=/console/health")
    redirect, fields = provider.authorize(answer.headers["location"])
    query = urllib.parse.urlencode(fields)
    assert visitor.send(f"/console/oidc?{query}").headers["location"] == "/console/health"
    visitor = Visitor(url)
    answer = visitor.send(f"{BEGIN}?page=https://evil.example/")
    _, fields = provider.authorize(answer.headers["location"])
    assert visitor.send(f"/console/oidc?{urllib.parse.urlencode(fields)}").headers["location"] == "/console"


@pytest.mark.parametrize(
    ("groups", "role"),
    [(["readers"], "read"), (["admins", "readers"], "admin"), ("support-staff", "support"), (["x", "support-staff"], "support")],
)
def test_the_highest_group_gives_the_role(url, provider, groups, role):
    provider.claims["groups"] = groups
    visitor = Visitor(url)
    sign_in(visitor, provider)
    assert f"oidc:anna-1 ({role})" in visitor.open("/console").text


@pytest.mark.parametrize("groups", [None, [], ["Support-Staff"], ["support"], "", 7])
def test_without_a_group_nobody_gets_in(served, url, provider, groups):
    provider.claims["groups"] = groups
    mark = Mark(new_caller(served))
    visitor = Visitor(url)
    page = sign_in(visitor, provider)
    assert page.status == 403 and "in no group that may use this console" in page.text
    assert visitor.open("/console").status == 403
    (event,) = mark.refusals("OPERATOR_ROLE_MISSING", 1)
    assert event.details["operator"] == "oidc:anna-1"


def refused(visitor, page, mark):
    assert page.status in (403, 503), page.text
    assert visitor.open("/console").status == 403
    assert SESSION not in visitor.cookies
    assert mark.refusals("OPERATOR_PROVIDER_REFUSED", 1)


LIES = [
    {"iss": "https://evil.example"},
    {"iss": None},
    {"aud": "another"},
    {"aud": ["touchstone", "another"]},
    {"nonce": "another"},
    {"nonce": None},
    {"exp": 1},
    {"exp": None},
    {"iat": 32_503_680_000},
    {"sub": None},
    {"sub": "a\nb"},
    {"azp": "another"},
]


@pytest.mark.parametrize("claims", LIES, ids=str)
def test_a_token_that_does_not_hold_opens_nothing(served, url, provider, claims):
    provider.claims |= claims
    mark = Mark(new_caller(served))
    visitor = Visitor(url)
    refused(visitor, sign_in(visitor, provider), mark)


def test_another_algorithm_opens_nothing(served, url, provider):
    visitor, mark = Visitor(url), Mark(new_caller(served))
    public = provider.keys[0][2].public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for header, key in (
        ({"alg": "none", "kid": "1"}, ""),
        # The public key as a shared secret.
        ({"alg": "HS256", "kid": "1"}, public),
        ({"alg": "RS384", "kid": "1"}, provider.keys[0][2]),
        ({"alg": "PS256", "kid": "1"}, provider.keys[0][2]),
        ({"alg": "RS256", "kid": "1"}, rsa.generate_private_key(65537, 2048)),
        ({"alg": "RS256", "kid": "../1"}, provider.keys[0][2]),
    ):
        provider.signature = header, key
        assert sign_in(visitor, provider).status == 403, header
        assert visitor.open("/console").status == 403
    assert len(mark.refusals("OPERATOR_PROVIDER_REFUSED", 6)) == 6


@pytest.mark.parametrize("elliptic", [False, True])
def test_new_keys_of_the_provider_are_read(url, provider, elliptic):
    assert sign_in(Visitor(url), provider).status == 200
    provider.rotate(elliptic)
    # Not more often than each ten seconds: until then the token is of an unknown key.
    assert sign_in(Visitor(url), provider).status == 403
    assert provider.requests.count("/keys") == 1


def test_a_provider_with_elliptic_keys(url, provider):
    provider.rotate(elliptic=True)
    assert sign_in(Visitor(url), provider).status == 200


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "another"}, "did not begin in this browser"),
        ({"state": None}, "did not begin in this browser"),
        ({"code": None}, "was not accepted"),
        ({"code": "another"}, "was not accepted"),
        ({"iss": "https://evil.example"}, "was not accepted"),
        ({"error": "access_denied"}, "was not accepted"),
    ],
    ids=str,
)
def test_an_answer_that_is_another_s_opens_nothing(served, url, provider, changes, words):
    visitor, mark = Visitor(url), Mark(new_caller(served))
    page = sign_in(visitor, provider, **changes)
    assert words in page.text
    refused(visitor, page, mark)


def test_an_answer_serves_one_browser_and_once(served, url, provider):
    victim, attacker = Visitor(url), Visitor(url)
    # Login CSRF: the attacker's answer in the victim's browser, without and with a sign-in of its own.
    _, fields = provider.authorize(begin(attacker))
    path = f"/console/oidc?{urllib.parse.urlencode(fields)}"
    assert victim.open(path).status == 403
    begin(victim)
    assert victim.open(path).status == 403
    # A nonce of another sign-in: the code is the attacker's, the state the victim's.
    location = begin(victim)
    _, own = provider.authorize(location)
    assert victim.open(f"/console/oidc?{urllib.parse.urlencode(own | {'code': fields['code']})}").status == 403
    # Replay, also where the provider takes a code twice.
    visitor = Visitor(url)
    location = begin(visitor)
    cookies = dict(visitor.cookies)
    _, fields = provider.authorize(location)
    path = f"/console/oidc?{urllib.parse.urlencode(fields)}"
    assert visitor.open(path).status == 200
    provider._codes[fields["code"]] = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location).query))
    thief = Visitor(url)
    thief.cookies = cookies
    assert thief.open(path).status == 403
    assert SESSION not in thief.cookies


def test_a_flood_of_codes_is_not_passed_on(served, url, provider):
    mark = Mark(new_caller(served))
    visitor = Visitor(url)
    statuses = [sign_in(visitor, provider, code="made up").status for _ in range(25)]
    assert statuses == [403] * 20 + [429] * 5
    assert provider.requests.count("/token") == 20
    assert mark.refusals("OPERATOR_LOCKED", 5)


def test_another_site_begins_no_sign_in(url, provider):
    answer = Visitor(url).send(BEGIN, headers=FROM_ELSEWHERE)
    assert answer.status == 200 and "location" not in answer.headers


@pytest.mark.parametrize(
    ("path", "answer", "headers"),
    [
        ("/.well-known/openid-configuration", (500, {}), {}),
        ("/.well-known/openid-configuration", (302, {}), {"Location": "https://evil.example/"}),
        ("/.well-known/openid-configuration", (200, {"issuer": "https://evil.example"}), {}),
        ("/.well-known/openid-configuration", (200, b"[" * 1000), {}),
        ("/.well-known/openid-configuration", (200, b" " * (300 << 10)), {}),
        ("/.well-known/openid-configuration", (200, b"{}"), {"Content-Encoding": "gzip"}),
    ],
    ids=["failing", "redirecting", "another issuer", "nested", "huge", "compressed"],
)
def test_a_description_that_does_not_hold(served, url, provider, path, answer, headers):
    provider.answers[path], provider.headers[path] = answer, headers
    visitor = Visitor(url)
    page = visitor.open(BEGIN)
    assert page.status in (403, 503), page.text
    assert "evil" not in page.html
    # For ten seconds the provider is not called again.
    assert visitor.open(BEGIN).status == 503
    assert provider.requests == [path]


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/keys", (500, {})),
        ("/keys", (200, {"keys": [{"kty": "oct", "kid": "1", "k": "AAAA"}]})),
        ("/keys", (200, {"keys": [{"kty": "oct"}] * 33})),
        ("/token", (200, {"access_token": "a"})),
        ("/token", (200, b"id_token=a")),
        ("/token", (200, {"id_token": "a" * 100_000})),
        ("/token", (401, {"error": "invalid_client"})),
    ],
    ids=["no keys", "secret keys", "too many keys", "no token", "no JSON", "a huge token", "a refusal"],
)
def test_keys_and_codes_that_do_not_hold(served, url, provider, path, answer):
    provider.answers[path] = answer
    visitor = Visitor(url)
    assert sign_in(visitor, provider).status in (403, 503)
    assert visitor.open("/console").status == 403


def test_a_provider_that_is_down_is_told(served, url, provider):
    mark = Mark(new_caller(served))
    provider.close()
    page = Visitor(url).open(BEGIN)
    provider.close = lambda: None
    assert page.status == 503 and "cannot be reached" in page.text
    assert mark.refusals("OPERATOR_PROVIDER_UNREACHABLE", 1)


def test_a_silent_provider_keeps_nobody_longer_than_one_answer(start, provider, tmp_path):
    """Ten seconds, however many wait."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = {"issuer": f"https://127.0.0.1:{silent.getsockname()[1]}"}
        section = configuration(provider, tmp_path, **settings) | {"operators": operators(anna="read")}
        url = start(configuration=section, arguments=CONSOLE, http=1).urls[0]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            pages = [pool.submit(lambda: Visitor(url).open(BEGIN)) for _ in range(8)]
            assert Visitor(url).sign_in("anna").status == 200
            # One after the other on two threads, they would take 40 seconds, and a request has 30.
            assert [page.result().status for page in pages] == [503] * 8


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"private_addresses": ["10.0.0.0/8"]}, "no address that is global or listed"), ({"authorities": None}, "certificate")],
)
def test_only_the_provider_is_called(start, provider, tmp_path, settings, reason):
    section = configuration(provider, tmp_path, **settings)
    section["console"]["oidc"] = {name: value for name, value in section["console"]["oidc"].items() if value is not None}
    server = start(configuration=section, arguments=CONSOLE, http=1)
    assert Visitor(server.urls[0]).open(BEGIN).status == 503
    assert provider.requests == []
    assert "sign-in by the identity provider failed" in server.next_error(reason)


def test_both_kinds_of_operators_are_told_apart(start, provider, tmp_path):
    section = configuration(provider, tmp_path, name_claim="preferred_username") | {"operators": operators(anna="admin")}
    server = start(configuration=section, arguments=CONSOLE, http=1)
    provider.claims["preferred_username"] = "anna"
    visitor = Visitor(server.urls[0])
    sign_in(visitor, provider)
    assert "oidc:anna (support)" in visitor.open("/console").text
    own = signed_in(server.urls[0], "anna")
    assert "anna (admin)" in own.open("/console").text
    # Ending the sessions of one ends none of the other.
    visitor.post(visitor.open("/console/account").form("/console/account/end"))
    assert (visitor.open("/console").status, own.open("/console").status) == (403, 200)


def test_an_email_must_be_verified(start, provider, tmp_path):
    server = start(configuration=configuration(provider, tmp_path, name_claim="email"), arguments=CONSOLE, http=1)
    provider.claims |= {"email": "anna@example.org", "email_verified": False}
    assert sign_in(Visitor(server.urls[0]), provider).status == 403
    provider.claims["email_verified"] = True
    visitor = Visitor(server.urls[0])
    sign_in(visitor, provider)
    assert "oidc:anna@example.org (support)" in visitor.open("/console").text


def test_another_mapping_of_groups_ends_the_sessions(start, served, url, provider, tmp_path):
    visitor = Visitor(url)
    sign_in(visitor, provider)
    section = configuration(provider, tmp_path, roles={"read": ["support-staff"]})
    served.close()
    visitor.url = start(configuration=section, arguments=CONSOLE, http=1).urls[0]
    assert visitor.open("/console").status == 403
    sign_in(visitor, provider)
    assert "oidc:anna-1 (read)" in visitor.open("/console").text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"issuer": "http://sso.example"}, "must be an https URL"),
        ({"roles": {}}, "needs a group"),
        ({"private_addresses": ["10.0.0.0/33"]}, "must be a network"),
        ({"client_secret_file": "/nowhere"}, "client_secret_file"),
        ({"applications": ["touchstone.console"]}, "which is the console's own"),
        ({"name_claim": "name"}, "name_claim"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_named(provider, tmp_path, change, words):


    file = tmp_path / "touchstone.json"
    section = configuration(provider, tmp_path)
    section["console"]["oidc"] |= change
    file.write_text(json.dumps(section))
    file.chmod(0o600)
    ended = run("check-config", file)
    assert ended.returncode == BAD_CONFIGURATION and words in ended.stderr, ended.stderr


def test_a_provider_needs_to_know_where_to_send_browsers(provider, tmp_path):
    file = tmp_path / "touchstone.json"
    section = configuration(provider, tmp_path)
    file.write_text(json.dumps(section))
    assert run("check-config", file).returncode == 0
    del section["console_url"]
    file.write_text(json.dumps(section))
    assert "console.oidc needs console_url" in run("check-config", file).stderr


def test_a_secret_that_others_can_read_is_refused(provider, tmp_path):


    file = tmp_path / "touchstone.json"
    section = configuration(provider, tmp_path)
    (tmp_path / "client-secret").chmod(0o644)
    file.write_text(json.dumps(section))
    ended = run("check-config", file)
    assert ended.returncode == BAD_CONFIGURATION and "can be read by other users" in ended.stderr


# Another implementation of the provider's side


@pytest.fixture
def stock_provider(authority):
    """PyPI's oidc-provider-mock, which rests on Authlib, over TLS."""
    certificate = authority.issue_server("stock")
    handler = type("Handler", (werkzeug.serving.WSGIRequestHandler,), {"protocol_version": "HTTP/1.1", "log": lambda *_: None})
    server = werkzeug.serving.make_server(
        "localhost",
        0,
        oidc_provider_mock.app(user_claims=[oidc_provider_mock.User(sub="otto", claims={"groups": ["admins"]})]),
        threaded=True,
        ssl_context=(str(certificate.file), str(certificate.key_file)),
        request_handler=handler,
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_stock_provider_signs_an_operator_in(start, provider, stock_provider, authority, tmp_path):
    section = configuration(provider, tmp_path, issuer=stock_provider)
    server = start(configuration=section, arguments=CONSOLE, http=1)
    visitor = Visitor(server.urls[0])
    location = begin(visitor).removeprefix(stock_provider)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    back = request(stock_provider, location, "POST", headers=headers, body="sub=otto", authority=authority)
    answer = urllib.parse.urlsplit(back.headers["location"])
    assert (back.status, answer.path) == (302, "/console/oidc")
    assert visitor.open(f"{answer.path}?{answer.query}", headers=FROM_ELSEWHERE).status == 200
    assert "oidc:otto (admin)" in visitor.open("/console").text


def test_made_up_codes_keep_nobody_out_of_a_familiar_browser(url, provider):
    familiar = Visitor(url)
    assert sign_in(familiar, provider).status == 200
    familiar.cookies = {name: value for name, value in familiar.cookies.items() if "browser" in name}
    for _ in range(25):
        sign_in(Visitor(url), provider, code="made up")
    assert sign_in(familiar, provider).status == 200
