"""Operators' own accounts: sessions that hold on every replica, passwords and passkeys of their own."""

import os

import pytest

from support.caller import new_caller
from support.configuration import BAD_CONFIGURATION
from support.console import PASSWORD, Visitor, operators, password_hash, signed_in
from support.operator_passkeys import URL, add, console_of, enrolled, new_passkey, options_of, use, visitor_of
from support.passkeys import base64url
from support.phone import Phone
from support.replicas import Replicas
from support.server import run
from test_console import CONSOLE, SESSION, Mark, events, profile_page

NEW_PASSWORD = "staple battery horse correct"


TWO = {"operators": operators(anna="support", otto="admin")}


@pytest.fixture
def served(start):
    return start(configuration=TWO, arguments=CONSOLE, http=1)


@pytest.fixture
def url(served):
    return served.urls[0]


def kinds(server, name):
    return [event.kind for event in events(new_caller(server), "operator.", application_id="") if event.caller == f"operator:{name}"]


def change_password(visitor, new=NEW_PASSWORD, *, present=PASSWORD, repeated=None):
    form = visitor.open("/console/account").form("/console/account/password")
    return visitor.post(form, password=present, new=new, repeated=new if repeated is None else repeated)


def end_sessions(visitor):
    return visitor.post(visitor.open("/console/account").form("/console/account/end"))


# Sessions


@pytest.fixture
def replicas(tmp_path):
    """On PostgreSQL, as replicas are."""
    replicas = Replicas(tmp_path)
    yield replicas
    replicas.close()


ADDRESS = {"http": {"operators": "127.0.0.1:0"}}


def test_a_session_holds_on_every_replica_and_ends_on_all(replicas):
    first, second = (replicas.start(configuration=TWO | ADDRESS, http=1) for _ in range(2))
    visitor = signed_in(first.urls[0], "anna")
    elsewhere = Visitor(second.urls[0])
    elsewhere.cookies = visitor.cookies
    assert elsewhere.open("/console/health").status == 200
    stolen = dict(visitor.cookies)
    visitor.post(visitor.open("/console").form("/console/sign-out"))
    elsewhere.cookies = stolen
    page = elsewhere.open("/console")
    assert page.status == 403 and "The session has ended" in page.text
    # All sessions of the operator at once.
    sessions = [signed_in(server.urls[0], "anna") for server in (first, second)]
    end_sessions(sessions[0])
    assert sessions[1].open("/console").status == 403


def test_a_passkey_signs_in_at_every_replica(replicas):
    configuration = console_of("passkey", TWO["operators"]) | ADDRESS
    first, second = (replicas.start(configuration=configuration, http=1) for _ in range(2))
    _, passkey = enrolled(first.urls[0], "anna")
    visitor = visitor_of(second.urls[0])
    page = use(visitor, visitor.open("/console/sign-in"), passkey)
    assert page.status == 200 and "anna (support)" in page.text


def test_ending_all_sessions_ends_no_other_operators(served, url):
    anna, otto = [signed_in(url, "anna") for _ in range(2)], signed_in(url, "otto")
    page = end_sessions(anna[0])
    assert "You are signed out." in page.text
    assert [visitor.open("/console").status for visitor in (*anna, otto)] == [403, 403, 200]
    assert kinds(served, "anna")[-1] == "operator.changed"
    assert signed_in(url, "anna").open("/console").status == 200


def test_a_cookie_of_another_installation_opens_nothing(start, served, url):
    visitor = signed_in(url, "anna")
    other = start("other", configuration={"operators": operators(anna="admin")}, arguments=CONSOLE, http=1)
    stranger = Visitor(other.urls[0])
    stranger.cookies = dict(visitor.cookies)
    assert stranger.open("/console").status == 403
    # Nor does what else this installation seals.
    visitor.cookies[SESSION] = visitor.cookies[f"{SESSION}-browser"]
    assert visitor.open("/console").status == 403


def test_a_session_is_new_at_each_sign_in(url):
    """Session fixation: what was there before the sign-in, and the session that it replaces, open nothing."""
    visitor = signed_in(url, "anna")
    before = dict(visitor.cookies)
    visitor.cookies = dict(before)
    form = {"name": "otto", "password": PASSWORD, "page": "/console"}
    assert visitor.send("/console/sign-in", "POST", form=form).status == 303
    assert visitor.cookies[SESSION] != before[SESSION]
    assert "otto (admin)" in visitor.open("/console").text
    visitor.cookies = before
    assert visitor.open("/console").status == 403


def test_sessions_outlive_a_restart(start, served, url):
    visitor = signed_in(url, "anna")
    served.close()
    visitor.url = start(configuration=TWO, arguments=CONSOLE, http=1).urls[0]
    assert visitor.open("/console").status == 200


def test_a_typed_reason_survives_the_end_of_the_session(served, url):
    shop, phone = new_caller(served), Phone()
    shop.bind(phone)
    visitor = signed_in(url, "anna")
    form = visitor.open(profile_page(visitor, shop, phone).link("action=revoke")).form("/console/action")
    end_sessions(visitor)
    page = visitor.post(form, reason="phone lost, ticket 4711 & more")
    assert page.status == 403 and "The session has ended" in page.text
    page = visitor.post(page.form("/console/sign-in"), name="anna", password=PASSWORD)
    form = page.form("/console/action")
    assert form.fields["reason"] == "phone lost, ticket 4711 & more"
    assert shop.get_binding(phone.binding.binding_id).state == phone.binding.state
    assert "The binding is revoked." in visitor.post(form).text
    (event,) = events(shop, "binding.revoked")
    assert event.details["stated_reason"] == "phone lost, ticket 4711 & more"


def test_no_link_makes_the_sign_in_lead_elsewhere(url):
    for page in ("https://evil.example/", "//evil.example/", "/console/../evil", "/console%2f..", "/evil", "/console\\evil"):
        form = {"name": "anna", "password": PASSWORD, "page": page}
        assert Visitor(url).send("/console/sign-in", "POST", form=form).headers["location"] == "/console", page


# Passwords


def test_an_operator_changes_the_password(start, served, url):
    visitor, other = signed_in(url, "anna"), signed_in(url, "anna")
    page = change_password(visitor)
    assert "The password was changed" in page.text
    # This session goes on, others have ended.
    assert visitor.open("/console").status == 200
    assert other.open("/console").status == 403
    assert Visitor(url).sign_in("anna").status == 403
    assert Visitor(url).sign_in("anna", NEW_PASSWORD).status == 200
    assert "operator.changed" in kinds(served, "anna")
    served.close()
    url = start(configuration=TWO, arguments=CONSOLE, http=1).urls[0]
    again = Visitor(url)
    assert again.sign_in("anna", NEW_PASSWORD).status == 200
    # And once more, from the own one.
    assert "The password was changed" in change_password(again, "a third long password", present=NEW_PASSWORD).text
    assert Visitor(url).sign_in("anna", NEW_PASSWORD).status == 403


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"new": "short"}, 400, "12 to 128 bytes"),
        ({"new": "a" * 129}, 400, "12 to 128 bytes"),
        ({"repeated": "another long password"}, 400, "differ"),
        ({"present": "wrong"}, 403, "present password is wrong"),
    ],
)
def test_a_change_that_is_wrong_changes_nothing(url, fields, status, words):
    visitor = signed_in(url, "anna")
    page = change_password(visitor, **fields)
    assert page.status == status and words in page.text
    assert visitor.open("/console").status == 200
    assert Visitor(url).sign_in("anna").status == 200


def test_a_thief_of_a_session_guesses_no_more_often_than_others(served, url):
    visitor = signed_in(url, "anna")
    mark = Mark(new_caller(served))
    statuses = [change_password(visitor, present="wrong").status for _ in range(6)]
    assert statuses == [403] * 5 + [429]
    written = mark.refusals("OPERATOR_PASSWORD_WRONG", 5)
    assert {event.caller for event in written} == {"operator:anna"}


def test_a_new_hash_in_the_configuration_takes_the_own_passwords_place(served, url):
    change_password(signed_in(url, "anna"))
    section = operators(anna="support", otto="admin")
    section["anna"]["password"] = password_hash("given by the admin")
    served.reload({"operators": section})
    assert Visitor(url).sign_in("anna", NEW_PASSWORD).status == 403
    assert Visitor(url).sign_in("anna", "given by the admin").status == 200
    # For good: the former hash brings nothing back.
    served.reload({"operators": operators(anna="support", otto="admin")})
    assert Visitor(url).sign_in("anna", NEW_PASSWORD).status == 403


def test_the_consoles_application_is_nobodys(served, tmp_path):
    signed_in(served.urls[0], "anna").open("/console/account")
    caller = new_caller(served, "touchstone.console")
    with pytest.raises(Exception, match="PERMISSION_DENIED|may not call"):
        caller.get_profile("anna")
    for text in (
        "vendors: {a: [touchstone.console]}",
        "applications: {touchstone.console: {attestation: none}}",
        "callers: [{name: local, applications: [touchstone.console], methods: '*'}]",
    ):
        file = tmp_path / "touchstone.yaml"
        file.write_text(text)
        file.chmod(0o600)
        ended = run("check-config", file)
        assert ended.returncode == BAD_CONFIGURATION and "which is the console's own" in ended.stderr, text


# Passkeys


@pytest.fixture
def strong(start):
    return start(configuration=console_of("password_and_passkey", operators(anna="support", otto="admin")), arguments=CONSOLE, http=1)


@pytest.fixture
def alone(start):
    return start(configuration=console_of("passkey", operators(anna="support", otto="admin")), arguments=CONSOLE, http=1)


def test_before_the_first_passkey_the_account_is_all_there_is(strong):
    url = strong.urls[0]
    visitor = visitor_of(url)
    page = visitor.sign_in("anna")
    assert "Add a passkey first." in page.text
    for path in ("/console", "/console/events", "/console/profile?application=a&profile=b"):
        assert visitor.send(path).headers["location"] == "/console/account", path
    page = add(visitor, new_passkey())
    assert page.status == 200 and "Add a passkey first." not in page.text
    assert visitor.open("/console/events").status == 200


def test_password_and_passkey_sign_in_together(strong):
    url = strong.urls[0]
    _, passkey = enrolled(url, "anna")
    visitor = visitor_of(url)
    page = visitor.sign_in("anna")
    assert SESSION not in visitor.cookies and f"__Host-{SESSION}" not in visitor.cookies
    page = use(visitor, page, passkey)
    assert page.status == 200 and "anna (support)" in page.text
    caller = new_caller(strong)
    signed = [event for event in events(caller, "operator.signed_in", application_id="") if event.caller == "operator:anna"]
    assert [event.details["method"] for event in signed] == ["password", "password_and_passkey"]
    # A wrong password leads to no passkey.
    assert visitor_of(url).sign_in("anna", "wrong").status == 403


def test_a_passkey_alone_signs_in_and_names_its_owner(alone):
    url = alone.urls[0]
    _, passkey = enrolled(url, "anna")
    visitor = visitor_of(url)
    page = use(visitor, visitor.open("/console/sign-in"), passkey)
    assert page.status == 200 and "anna (support)" in page.text
    # The password no longer serves.
    page = visitor_of(url).sign_in("anna")
    assert page.status == 403 and "signs in with its passkey" in page.text


def test_two_sign_in_pages_tell_nothing_of_who_has_passkeys(alone):
    url = alone.urls[0]
    enrolled(url, "anna")
    options = options_of(visitor_of(url).open("/console/sign-in"), "/console/sign-in/passkey")
    assert '"allowCredentials":[]' in options and "anna" not in options


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "https://evil.example"},
        {"challenge": "AAAA"},
        {"rp_id": "evil.example"},
        {"flags": 0x01},
        {"signed": b"other bytes"},
        {"sign_count": 0},
        {"fields": {"handle": "AAAA"}},
        {"fields": {"credential": "AAAA"}},
    ],
    ids=str,
)
def test_a_wrong_passkey_is_refused_and_an_event(alone, changes):
    url = alone.urls[0]
    _, passkey = enrolled(url, "anna")
    mark = Mark(new_caller(alone))
    visitor = visitor_of(url)
    page = use(visitor, visitor.open("/console/sign-in"), passkey, **changes)
    assert page.status == 403 and "was not accepted" in page.text
    assert visitor.open("/console").status == 403
    (event,) = mark.refusals("OPERATOR_PASSKEY_WRONG", 1)
    assert event.caller == "unknown"


def test_an_answer_of_a_passkey_serves_once(alone):
    url = alone.urls[0]
    _, passkey = enrolled(url, "anna")
    page = visitor_of(url).open("/console/sign-in")
    visitor = visitor_of(url)
    sent = {}
    post = visitor.post
    visitor.post = lambda form, **fields: sent.update(form=form, fields=fields) or post(form, **fields)
    assert use(visitor, page, passkey).status == 200
    assert visitor_of(url).post(sent["form"], **sent["fields"]).status == 403


def test_the_passkey_of_another_operator_completes_no_sign_in(strong):
    url = strong.urls[0]
    _, annas = enrolled(url, "anna")
    otto, ottos = enrolled(url, "otto")
    visitor = visitor_of(url)
    assert use(visitor, visitor.sign_in("anna"), ottos).status == 403
    # Nor does a step without a password, or what was sealed for something else.
    right = visitor_of(url).sign_in("anna").form("/console/sign-in/passkey").fields["proof"]
    for proof in ("", "AAAA", otto.cookies[f"__Host-{SESSION}"], right):
        visitor = visitor_of(url)
        assert use(visitor, visitor.sign_in("otto"), ottos, fields={"proof": proof}).status == 403, proof
    # A step serves once.
    for status in (200, 403):
        visitor = visitor_of(url)
        page = visitor.sign_in("anna")
        assert use(visitor, page, annas, fields={"proof": right}).status == status


def test_an_operator_adds_and_removes_passkeys(strong):
    url = strong.urls[0]
    visitor, first = enrolled(url, "anna")
    second = new_passkey()
    page = add(visitor, second, "Spare <key>")
    assert "Spare <key>" in page.text
    other = visitor_of(url)
    use(other, other.sign_in("anna"), second)
    page = visitor.open("/console/account")
    removals = [form for form in page.forms if form.action == "/console/account/passkeys/remove"]
    assert len(removals) == 2
    page = visitor.post(removals[0])
    assert "The passkey was removed" in page.text
    # One of both is left; other sessions have ended, and this one goes on.
    assert other.open("/console").status == 403
    assert visitor.open("/console").status == 200
    results = []
    for passkey in (first, second):
        again = visitor_of(url)
        results.append(use(again, again.sign_in("anna"), passkey).status)
    assert sorted(results) == [200, 403]


def test_a_lost_passkey_goes_with_the_hash_in_the_configuration(strong):
    url = strong.urls[0]
    visitor, lost = enrolled(url, "anna")
    section = operators(anna="support", otto="admin")
    section["anna"]["password"] = password_hash(NEW_PASSWORD)
    strong.reload(console_of("password_and_passkey", section))
    assert visitor.open("/console").status == 403
    # The next sign-in by the new password makes the account anew.
    again = visitor_of(url)
    assert "Add a passkey first." in again.sign_in("anna", NEW_PASSWORD).text
    found = new_passkey()
    add(again, found)
    for passkey, status in ((lost, 403), (found, 200)):
        third = visitor_of(url)
        assert use(third, third.sign_in("anna", NEW_PASSWORD), passkey).status == status
    changed = [event for event in events(new_caller(strong), "operator.changed", application_id="")]
    assert [event.details["change"] for event in changed if event.caller == "operator:anna"][-1] == "reset"


def test_the_passkey_of_a_removed_operator_opens_nothing(alone):
    url = alone.urls[0]
    _, passkey = enrolled(url, "anna")
    alone.reload(console_of("passkey", operators(otto="admin")))
    visitor = visitor_of(url)
    assert use(visitor, visitor.open("/console/sign-in"), passkey).status == 403
    # Nor does it open the account of the next person with that name.
    section = operators(anna="admin", otto="admin")
    section["anna"]["password"] = password_hash(NEW_PASSWORD)
    alone.reload(console_of("passkey", section))
    assert use(visitor, visitor.open("/console/sign-in"), passkey).status == 403


def test_only_the_pages_that_ask_for_a_passkey_have_a_script(alone):
    url = alone.urls[0]
    visitor, _ = enrolled(url, "anna")
    for path, has_script in (("/console", False), ("/console/events", False), ("/console/account", True)):
        page = visitor.open(path)
        assert ("script-src 'self'" in page.headers["content-security-policy"]) == has_script, path
        assert ("<script" in page.html) == has_script, path
        assert "unsafe" not in page.headers["content-security-policy"]
    script = visitor.send("/console/passkey.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("settings", [{}, {"console_url": "http://127.0.0.1:9090/console"}])
def test_passkeys_need_a_name(tmp_path, settings):
    file = tmp_path / "touchstone.yaml"
    lines = [f"{name}: {value}" for name, value in settings.items()]
    file.write_text("\n".join([*lines, "console: {sign_in: passkey}"]))
    ended = run("check-config", file)
    assert ended.returncode == BAD_CONFIGURATION
    assert "console.sign_in passkey needs console_url" in ended.stderr
    file.write_text(f"console_url: {URL}\nconsole: {{sign_in: passkey}}")
    assert run("check-config", file).returncode == 0


def test_a_passkey_that_is_not_there_ends_no_session(start):
    server = start(configuration=console_of("passkey", operators(anna="support", otto="admin")), arguments=CONSOLE, http=1)
    visitor, passkey = enrolled(server.urls[0], "anna")
    elsewhere = visitor_of(server.urls[0])
    use(elsewhere, elsewhere.open("/console/sign-in"), passkey)
    visitor.post(visitor.open("/console/account").form("/console/account/passkeys/remove"), target="another")
    assert elsewhere.open("/console").status == 200
    changes = [event.details["change"] for event in events(new_caller(server), "operator.changed", application_id="")]
    assert changes[0] == "first_sign_in" and "passkey_removed" not in changes


def test_passkeys_of_strangers_are_bounded_and_keep_no_operator_out(start):
    server = start(configuration=console_of("passkey", operators(anna="support", otto="admin")), arguments=CONSOLE, http=1)
    _, passkey = enrolled(server.urls[0], "anna")
    familiar = visitor_of(server.urls[0])
    use(familiar, familiar.open("/console/sign-in"), passkey)
    del familiar.cookies["__Host-touchstone-console"]
    statuses = []
    for _ in range(25):
        stranger = visitor_of(server.urls[0])
        page = use(stranger, stranger.open("/console/sign-in"), passkey, fields={"credential": base64url(os.urandom(16))})
        statuses.append(page.status)
    assert statuses.count(429) >= 4
    assert use(familiar, familiar.open("/console/sign-in"), passkey).status == 200
