"""The console over HTTP: sign-ins, what each role may do, and how attempts to get in end."""

import csv
import html
import http.client
import json
import re
import time
import urllib.parse

import pytest
from google.protobuf.json_format import MessageToDict

from support.caller import gesture, new_caller, new_profile_id, passcode
from support.certificates import Authority
from support.configuration import BAD_CONFIGURATION
from support.console import PASSWORD, Visitor, operators, password_hash, signed_in
from support.event_log import lengthen
from support.http import PATIENCE_SECONDS, request
from support.phone import Phone
from support.server import Server, run, run_to_end
from support.stubs import administration_pb2

CONSOLE = ["--http", "127.0.0.1:0"]
SESSION = "touchstone-console"
BROWSER = "touchstone-console-browser"

#: The bounds of the service: an operator's refusals that are events, for one name and for all, and the time until one
#: more is.
OPERATOR_EVENTS_FOR_ONE_NAME = 10
OPERATOR_EVENTS = 128
OPERATOR_EVENT_SECONDS = 10
#: The searches that an operator may make at once, and the time until one more.
SEARCHES = 60


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with a console, which these tests share if they do not change it. Each has an application of its own."""
    section = operators(
        reader="read",
        anna="support",
        root="admin",
        victim="read",
        other="admin",
        noisy="read",
        shop=("support", ["shop"]),
        searcher="support",
        halfway="support",
    )
    server = Server(
        tmp_path_factory.mktemp("console") / "data", configuration={"operators": section}, arguments=CONSOLE, http=1
    )
    yield server
    server.close()


@pytest.fixture
def caller(shop):
    return shop


def lock(shop, phone):
    """Five wrong attempts: the device's biometrics are locked."""
    for count in (3, 2):
        opened = shop.begin(phone)
        for _ in range(count):
            shop.submit_wrong(phone, opened)


def events(shop, *kinds, application_id=None):
    """Of the caller's application; of all and of none, if it is empty."""
    application_id = shop.application_id if application_id is None else application_id
    return [
        event
        for event in shop.administration.ListEvents(
            administration_pb2.ListEventsRequest(
                filter=administration_pb2.EventFilter(application_id=application_id, kinds=kinds), page_size=1000
            )
        ).events
    ]


class Mark:
    """A place in the audit log. Refusals are in it soon after their answer, and so are awaited."""

    def __init__(self, shop):
        self.shop = shop
        self.sequence = max((event.sequence for event in events(shop, application_id="")), default=0)

    def refusals(self, reason, count):
        """The next events of refused callers, for that reason."""
        found = []
        filter = administration_pb2.EventFilter(kinds=["call.refused"])
        request = administration_pb2.WatchEventsRequest(filter=filter, after_sequence=self.sequence)
        watch = self.shop.administration.WatchEvents(request, timeout=PATIENCE_SECONDS)
        for answer in watch:
            if answer.event.details["reason"] == reason:
                found.append(answer.event)
            if len(found) == count:
                watch.cancel()
                return found
        raise AssertionError(f"the watch ended with {found}")


def profile_page(visitor, shop, phone, **more):
    return visitor.profile(shop.application_id, phone.binding.profile_id, **more)


# Getting in


def test_without_operators_there_is_no_console(start):
    server = start(arguments=CONSOLE, http=1)
    for path in ("/console", "/console/sign-in", "/console/profile"):
        assert request(server.urls[0], path).status == 404, path


def test_it_is_for_the_operators_address_alone(start):
    configuration = {
        "http": {"public": "127.0.0.1:0", "operators": "127.0.0.1:0"},
        "operators": operators(anna="support"),
    }
    public, private = start(configuration=configuration, http=2).urls
    assert request(public, "/console").status == 404
    assert request(private, "/console").status == 403


def test_every_page_needs_a_session(url):
    stranger = Visitor(url)
    for path in ("", "/profile?application=a&profile=b", "/action?action=revoke", "/events", "/policies", "/explain", "/health"):
        page = stranger.open(f"/console{path}")
        assert page.status == 403, path
        assert [form.action for form in page.forms] == ["/console/sign-in", "/console/offset"], path
    assert stranger.send("/console/action", "POST", form={"action": "revoke"}).status == 403
    assert stranger.send("/console/nothing").status == 403
    assert stranger.send("/console/console.css").status == 200


def test_every_page_is_kept_from_other_sites(url):
    visitor = signed_in(url, "anna")
    for path in ("/console", "/console/health", "/console/sign-in", "/console/console.css"):
        headers = visitor.send(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';"), path
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy and "script" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        # In plaintext, and on loopback, nothing forces TLS.
        assert "strict-transport-security" not in headers
        assert headers["cache-control"] == ("no-cache" if path.endswith(".css") else "no-store")
    page = visitor.open("/console/health")
    assert "<script" not in page.html and "style=" not in page.html and "onclick" not in page.html


def test_a_session_is_a_cookie_that_no_script_and_no_other_site_has(url):
    visitor = Visitor(url)
    form = visitor.open("/console/sign-in").form("/console/sign-in")
    answer = visitor.send("/console/sign-in", "POST", form=form.fields | {"name": "anna", "password": PASSWORD})
    assert (answer.status, answer.headers["location"]) == (303, "/console")
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(rf"{SESSION}=[A-Za-z0-9_-]{{200,600}}; Path=/; HttpOnly; SameSite=Strict", cookie)


def test_after_the_sign_in_comes_the_page_that_was_wanted(url, shop, phone):
    visitor = Visitor(url)
    page = profile_page(visitor, shop, phone)
    assert page.status == 403
    page = visitor.post(page.form("/console/sign-in"), name="anna", password=PASSWORD)
    assert page.status == 200
    assert phone.binding.profile_id in page.text
    # And no other one.
    form = {"name": "anna", "password": PASSWORD, "page": "https://evil.example/"}
    assert Visitor(url).send("/console/sign-in", "POST", form=form).headers["location"] == "/console"


def test_a_wrong_password_and_an_unknown_name_are_answered_alike(url, shop):
    mark = Mark(shop)
    pages = []
    for name in ("victim", "nobody-of-that-name"):
        page = Visitor(url).sign_in(name, "wrong password")
        assert page.status == 403
        assert "The sign-in failed" in page.text
        assert name not in page.html and "wrong password" not in page.html
        # A page ends with its time.
        pages.append(re.sub("<time.*?</time>", "", page.html))
    assert pages[0] == pages[1]
    written = mark.refusals("OPERATOR_PASSWORD_WRONG", 2)
    assert [event.caller for event in written] == ["unknown", "unknown"]
    # An unknown name may be a password in the wrong field.
    assert sorted(event.details.get("operator", "") for event in written) == ["", "victim"]
    assert all("nobody" not in str(event) for event in written)


def test_five_wrong_passwords_lock_a_name_also_for_the_right_one(start):
    server = start(configuration={"operators": operators(anna="read", otto="read")}, arguments=CONSOLE, http=1)
    url = server.urls[0]
    mark = Mark(new_caller(server))
    for name in ("anna", "nobody"):
        for _ in range(5):
            assert Visitor(url).sign_in(name, "wrong").status == 403
        page = Visitor(url).sign_in(name)
        assert page.status == 429, name
        assert "Try again in 1 minute." in page.text
    assert Visitor(url).sign_in("otto").status == 200
    assert [event.details.get("operator", "") for event in mark.refusals("OPERATOR_LOCKED", 2)] == ["anna", ""]


def test_a_new_password_ends_what_made_browsers_familiar(start):
    """With the former one a thief may have signed in."""
    server = start(configuration={"operators": operators(anna="read", otto="read")}, arguments=CONSOLE, http=1)
    url = server.urls[0]
    anna = signed_in(url, "anna")
    anna.post(anna.open("/console").form("/console/sign-out"))
    stolen = dict(anna.cookies)
    for _ in range(5):
        Visitor(url).sign_in("anna", "wrong")
    assert anna.sign_in("anna").status == 200
    changed = operators(anna="read", otto="read")
    changed["anna"]["password"] = password_hash("another password")
    server.reload({"operators": changed})
    thief = Visitor(url)
    thief.cookies = stolen
    assert thief.sign_in("anna", "another password").status == 429


def test_a_forged_session_is_refused_and_an_event(url, shop):
    mark = Mark(shop)
    visitor = Visitor(url)
    visitor.cookies[SESSION] = "A" * 86
    page = visitor.open("/console/health")
    assert page.status == 403
    assert "The session has ended" in page.text
    (event,) = mark.refusals("OPERATOR_SESSION_FORGED", 1)
    assert (event.caller, event.details["peer"]) == ("unknown", "loopback")


def test_a_session_that_was_signed_out_is_over_and_no_event(url, shop):
    visitor = signed_in(url, "anna")
    cookies = dict(visitor.cookies)
    page = visitor.post(visitor.open("/console").form("/console/sign-out"))
    assert "You are signed out." in page.text
    assert SESSION not in visitor.cookies
    mark = Mark(shop)
    visitor.cookies = cookies
    assert visitor.open("/console").status == 403
    visitor.cookies = {SESSION: "A" * 85}
    assert visitor.open("/console").status == 403
    (event,) = mark.refusals("OPERATOR_SESSION_FORGED", 1)
    between = [event.kind for event in events(shop, application_id="") if event.sequence > mark.sequence]
    assert between.count("call.refused") == 1
    kinds = [event.kind for event in events(shop, "operator.", application_id="") if event.caller == "operator:anna"]
    assert kinds[-2:] == ["operator.signed_in", "operator.signed_out"]


def test_a_stolen_session_ends_at_another_address(start):
    """From another loopback address, which is another client."""
    server = start(configuration={"operators": operators(anna="read")}, arguments=CONSOLE, http=1)
    visitor = signed_in(server.urls[0], "anna")
    mark = Mark(new_caller(server))
    host, port = server.urls[0].removeprefix("http://").split(":")
    thief = http.client.HTTPConnection(host, int(port), source_address=("127.0.0.2", 0), timeout=30)
    thief.request("GET", "/console", headers={"Cookie": f"{SESSION}={visitor.cookies[SESSION]}"})
    assert thief.getresponse().status == 403
    thief.close()
    page = visitor.open("/console")
    assert page.status == 403
    (event,) = mark.refusals("OPERATOR_SESSION_MOVED", 1)
    assert event.details["operator"] == "anna"


def test_a_form_of_another_site_is_refused_and_an_event(url, shop, phone):
    visitor = signed_in(url, "anna")
    mark = Mark(shop)
    page = profile_page(visitor, shop, phone)
    form = visitor.open(page.link("action=revoke")).form("/console/action")
    right = form.fields | {"reason": "lost"}
    wrong_token = right | {"token": "A" * 43}
    no_token = {name: value for name, value in right.items() if name != "token"}
    tries = [
        (right, {"Origin": "https://evil.example"}),
        (right, {"Origin": None}),
        (right, {"Origin": "null"}),
        (right, {"Sec-Fetch-Site": "cross-site"}),
        (wrong_token, {}),
        (no_token, {}),
        (right | {"token": signed_in(url, "anna").open("/console").form("/console/sign-out").fields["token"]}, {}),
    ]
    for fields, headers in tries:
        answer = visitor.open("/console/action", "POST", form=fields, headers=headers)
        assert answer.status == 403, (headers, fields)
        assert "Nothing was changed" in answer.text
    assert shop.get_binding(phone.binding.binding_id).state == phone.binding.state
    written = mark.refusals("OPERATOR_REQUEST_FORGED", len(tries))
    assert {event.caller for event in written} == {"operator:anna"}
    # A sign-in cannot be forged either: no operator is to work in an attacker's account.
    form = {"name": "anna", "password": PASSWORD, "page": "/console"}
    assert Visitor(url).open("/console/sign-in", "POST", form=form, headers={"Origin": "https://evil.example"}).status == 403


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("token=%", {}),
        ("token=a&token=b", {}),
        ("token=%FF", {}),
        ("a=1&" * 100, {}),
        ('{"token": "a"}', {"Content-Type": "application/json"}),
        ("token=a", {"Content-Type": None}),
    ],
)
def test_a_malformed_form_is_a_clear_page(url, body, headers):
    page = signed_in(url, "anna").open("/console/action", "POST", body=body, headers=headers)
    assert page.status == 400
    assert "The request is malformed. Nothing was changed." in page.text


def test_a_form_that_is_too_large_is_not_read(url):
    visitor = signed_in(url, "anna")
    assert visitor.send("/console/action", "POST", body="a" * (17 << 10)).status == 413
    assert visitor.open("/console").status == 200


# What a reload changes


def test_a_reload_ends_the_sessions_of_those_who_are_gone_or_changed(start):
    section = operators(gone="read", changed="read", same="read", promoted="read")
    server = start(configuration={"operators": section}, arguments=CONSOLE, http=1)
    visitors = {name: signed_in(server.urls[0], name) for name in section}
    del section["gone"]
    section["changed"] = section["changed"] | {"password": password_hash("another long password")}
    section["promoted"] = section["promoted"] | {"role": "admin"}
    server.reload({"operators": section})
    assert {name: visitor.open("/console").status for name, visitor in visitors.items()} == {
        "gone": 403,
        "changed": 403,
        "same": 200,
        "promoted": 200,
    }
    assert "promoted (admin)" in visitors["promoted"].open("/console").text
    assert Visitor(server.urls[0]).sign_in("changed", "another long password").status == 200
    server.reload({"issuer": "touchstone"})
    assert request(server.urls[0], "/console").status == 404


# Looking


def test_support_finds_a_profile_and_reads_why_its_login_fails(url, shop, phone):
    lock(shop, phone)
    visitor = signed_in(url, "reader")
    form = visitor.open("/console").form("/console/profile")
    page = visitor.open(
        f"/console/profile?application={shop.application_id}&profile={phone.binding.profile_id}"
    )
    assert form.method == "get"
    assert page.status == 200
    assert "Biometrics: locked by the service, after wrong attempts or the device's own report of a lock." in page.text
    assert "The last attempt failed: the signature was wrong" in page.text
    assert "iPhone15,2" in page.text and "ios 17.4" in page.text
    assert "Locked out" in page.text and "Device bound" in page.text
    # No button of what the role may not do.
    assert not [link for link in page.links if "/console/action" in link]


def test_a_phone_that_can_log_in_and_one_that_is_revoked(url, shop, phone):
    visitor = signed_in(url, "reader")
    assert "A login can succeed now, by biometrics, if the device is as it reported at 20" in profile_page(visitor, shop, phone).text
    shop.revoke(phone.binding)
    page = profile_page(visitor, shop, phone)
    assert "No device is bound." in page.text
    assert "Revoked bindings (1)" in page.text


def test_a_profile_that_does_not_exist_is_a_clear_page_and_an_event(url, shop):
    page = signed_in(url, "reader").profile(shop.application_id, new_profile_id())
    assert page.status == 404
    assert "Nothing is known of this profile in this application" in page.text
    (event,) = events(shop, "profile.refused")
    assert event.caller == "operator:reader"


def test_an_operators_refusals_fill_no_disk(url, shop):
    visitor = signed_in(url, "noisy")
    unknown = new_profile_id()
    for _ in range(OPERATOR_EVENTS_FOR_ONE_NAME + 10):
        assert visitor.profile(shop.application_id, unknown).status == 404
    assert len(events(shop, "profile.refused")) == OPERATOR_EVENTS_FOR_ONE_NAME
    began = time.monotonic()
    for _ in range(OPERATOR_EVENTS + 30):
        assert visitor.profile(shop.application_id, new_profile_id()).status == 404
    room = OPERATOR_EVENTS + 1 + (time.monotonic() - began) // OPERATOR_EVENT_SECONDS
    assert OPERATOR_EVENTS_FOR_ONE_NAME < len(events(shop, "profile.refused")) <= room


@pytest.mark.parametrize(
    ("application", "profile", "word"), [("", "a", "application_id"), ("a", "", "profile_id"), ("a", "x" * 129, "profile_id")]
)
def test_wrong_identifiers_are_named(url, application, profile, word):
    page = signed_in(url, "reader").profile(application, profile)
    assert page.status == 400
    assert word in page.text


def test_an_operator_of_some_applications_sees_no_others(url, served, shop, phone):
    visitor = signed_in(url, "shop")
    mark = Mark(shop)
    assert profile_page(visitor, shop, phone).status == 403
    events_page = visitor.open("/console/events")
    assert events_page.status == 200
    assert shop.application_id not in events_page.html
    assert visitor.open(f"/console/events?application={shop.application_id}").status == 403
    refused = mark.refusals("APPLICATION_NOT_GRANTED", 2)
    assert {event.caller for event in refused} == {"operator:shop"}
    own = new_caller(served, "shop")
    own.bind(mine := Phone())
    assert profile_page(visitor, own, mine).status == 200


def test_markup_in_every_name_stays_text(url, served):
    evil = "\"><script>alert('x')</script>&amp;"
    shop = new_caller(served, f"{evil}{time.time_ns()}")
    phone = Phone()
    begun = shop.begin_binding(phone, evil)
    completion = shop.completion(phone, begun)
    completion.device_name = evil
    phone.binding = shop.bindings.CompleteBinding(completion).binding
    lock(shop, phone)
    visitor = signed_in(url, "root")
    pages = [profile_page(visitor, shop, phone)]
    for link in pages[0].links:
        if "/console/action" in link:
            pages.append(visitor.open(link))
    unlock = pages[0].link("unlock-device")
    pages.append(visitor.post(visitor.open(unlock).form("/console/action"), reason=evil))
    pages.append(visitor.open(pages[0].link("/console/events?")))
    for page in pages:
        assert page.status == 200
        assert "<script" not in page.html
        assert not [tag for tag, attributes in page.tags if tag == "script" or any(a.startswith("on") for a in attributes)]
    assert evil in pages[0].text


def test_events_are_found_by_application_profile_and_kind(url, shop, phone):
    lock(shop, phone)
    visitor = signed_in(url, "reader")
    page = visitor.open(f"/console/events?application={shop.application_id}")
    assert "Locked out" in page.text and "Device bound" in page.text
    page = visitor.open(f"/console/events?application={shop.application_id}&kind=binding.")
    assert "Locked out" not in page.text and "Device bound" in page.text
    page = visitor.open(f"/console/events?application={shop.application_id}&profile={new_profile_id()}")
    assert "There are no events." in page.text
    following = visitor.open(f"/console/events?application={shop.application_id}&follow=yes")
    assert ("meta", {"http-equiv": "refresh", "content": "5"}) in following.tags
    shop.revoke(phone.binding)
    assert "Binding revoked" in visitor.open(f"/console/events?application={shop.application_id}&follow=yes").text


def moment(seconds):
    """As a browser's field for dates has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def test_events_are_found_by_time_device_binding_caller_and_reason(url, shop, phone):
    shop.bind(other := Phone())
    lock(shop, phone)
    visitor = signed_in(url, "reader")

    def kinds(**fields):
        page = visitor.open("/console/events?" + urllib.parse.urlencode({"application": shop.application_id} | fields))
        assert page.status == 200, page.text
        return re.findall(r'<span class="hint">([a-z._]+)</span></div>', page.html)

    now = time.time()
    every = kinds()
    assert set(every) == {"binding.created", "evaluation.failed", "evaluation.locked_out"}
    assert kinds(since=moment(now - 3_600), until=moment(now + 60)) == every
    assert kinds(until=moment(now - 3_600)) == kinds(since=moment(now + 3_600)) == []
    assert kinds(device=other.device_id) == kinds(binding=other.binding.binding_id) == ["binding.created"]
    assert set(kinds(reason="SIGNATURE_INVALID")) == {"evaluation.failed", "evaluation.locked_out"}
    assert kinds(caller="operator:anna") == []
    assert kinds(kind="binding.created") == ["binding.created"] * 2


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("since", "2026-02-30T10:00", "From (UTC): is no time"),
        ("until", "yesterday", "Before (UTC): is no time"),
        ("kind", "evaluation.suceeded", 'did you mean "evaluation.succeeded"?'),
        ("device", "x" * 129, "Device id: "),
    ],
)
def test_a_wrong_search_for_events_keeps_the_form(url, shop, field, value, words):
    query = urllib.parse.urlencode({"application": shop.application_id, "reason": "REPORTED", field: value})
    page = signed_in(url, "reader").open(f"/console/events?{query}")
    assert page.status == 400
    assert words in page.text
    fields = page.form("/console/events").fields
    assert (fields["application"], fields["reason"]) == (shop.application_id, "REPORTED")
    if field != "kind":
        assert fields[field] == value


def test_an_end_that_is_not_after_the_beginning_is_told(url, shop):
    query = f"application={shop.application_id}&since=2026-01-02&until=2026-01-01"
    page = signed_in(url, "reader").open(f"/console/events?{query}")
    assert (page.status, "Before (UTC): must be after the beginning" in page.text) == (400, True)


def test_events_are_saved_as_files(url, shop, phone):
    lock(shop, phone)
    visitor = signed_in(url, "reader")
    page = visitor.open(f"/console/events?application={shop.application_id}&kind=evaluation.")
    table = visitor.send(page.link("form=csv"))
    assert table.headers["content-disposition"] == 'attachment; filename="events.csv"'
    rows = list(csv.DictReader(table.text.splitlines()))
    written = events(shop, "evaluation.")
    assert [int(row["sequence"]) for row in rows] == [event.sequence for event in written]
    assert {row["profile"] for row in rows} == {phone.binding.profile_id}
    assert {row["reason"] for row in rows} == {"SIGNATURE_INVALID"}
    lines = visitor.send(page.link("form=json")).text.splitlines()
    assert [json.loads(line) for line in lines] == [MessageToDict(event) for event in written]
    assert visitor.send("/console/events/export?application=nobodys&form=csv").text.count("\n") == 1
    assert visitor.open("/console/events/export?since=2026-02-30").status == 400


def test_more_events_than_a_file_has_are_not_saved_in_part(start):
    server = start(configuration={"operators": operators(anna="read")}, arguments=CONSOLE, http=1)
    server.terminate()
    lengthen(server, 10_001)
    server = start(configuration={"operators": operators(anna="read")}, arguments=CONSOLE, http=1)
    page = signed_in(server.urls[0], "anna").open("/console/events/export?form=csv")
    assert page.status == 413
    assert "One file has at most 10000 events" in page.text and "Nothing was saved." in page.text


# Finding a person


def search(visitor, shop, text, **more):
    fields = {"application": shop.application_id, "text": text} | more
    return visitor.open("/console/find?" + urllib.parse.urlencode(fields))


def test_support_finds_a_person_by_any_id_in_one_field(url, shop, phone):
    visitor = signed_in(url, "anna")
    page = visitor.open(f"/console?application={shop.application_id}")
    assert page.form("/console/find").fields == {"application": shop.application_id, "text": ""}
    profile = phone.binding.profile_id
    for text in [profile, phone.device_id, phone.binding.binding_id, f' "{profile}"\r\n', f"\u2068{phone.device_id}\u2069"]:
        page = search(visitor, shop, text)
        assert (page.status, "A login can succeed now" in page.text) == (200, True), text
        # The next search begins with the same application.
        assert page.link("/console?") == f"/console?application={shop.application_id}"
    found = events(shop, "profile.searched")
    assert [(event.caller, event.profile_id, event.details["found"]) for event in found] == [("operator:anna", profile, "1")] * 5


def test_ids_that_begin_so_are_listed_if_none_is_exactly_so(url, shop):
    name = new_profile_id()
    for number in range(22):
        shop.set_secret(f"{name}-{number:02}", passcode("2468"))
    visitor = signed_in(url, "root")
    page = search(visitor, shop, name)
    assert page.status == 404
    assert "Nothing in this application has exactly this id." in page.text
    listed = [link for link in page.links if "profile=" in link and name in link]
    assert len(listed) == 20
    assert "More profiles begin so: type more of the id." in page.text
    assert page.form("/console/find").fields["text"] == name
    assert f"{name}-00" in visitor.open(listed[0]).text
    page = search(visitor, shop, f"{name}-0", prefix="yes")
    assert (page.status, len([link for link in page.links if f"profile={name}" in link])) == (200, 10)


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("zz", 404, "Nothing in this application has exactly this id."),
        ("x" * 2_049, 400, "passkey id: is longer than 2048 bytes"),
        (" \u200b", 400, "passkey id: is empty"),
        ("a\tb", 400, "passkey id: contains a control character"),
    ],
)
def test_what_finds_nothing_keeps_what_was_typed_and_the_form(url, shop, text, status, words):
    page = search(signed_in(url, "anna"), shop, text)
    assert (page.status, words in page.text) == (status, True), page.text
    fields = page.form("/console/find").fields
    assert (fields["application"], fields["text"]) == (shop.application_id, text)


def test_a_reader_finds_whole_profile_ids_alone(url, shop, phone):
    visitor = signed_in(url, "reader")
    form = visitor.open("/console").form("/console/profile")
    assert sorted(form.fields) == ["application", "profile"]
    page = visitor.profile(shop.application_id, phone.device_id)
    assert (page.status, page.form("/console/profile").fields["profile"]) == (404, phone.device_id)
    mark = Mark(shop)
    assert search(visitor, shop, phone.device_id).status == 403
    mark.refusals("METHOD_NOT_GRANTED", 1)
    assert not [link for link in profile_page(visitor, shop, phone).links if "/console/device" in link]


def test_a_devices_page_lists_the_profiles_that_it_is_bound_to(url, served, shop, phone):
    other = new_caller(served, "shop")
    twin = Phone()
    twin.device_id = phone.device_id
    other.bind(twin)
    visitor = signed_in(url, "anna")
    page = visitor.open(profile_page(visitor, shop, phone).link("/console/device"))
    assert phone.binding.binding_id in page.text and "<" not in page.text
    assert phone.binding.profile_id in visitor.open(page.link("/console/profile?")).text
    page = visitor.open(f"/console/device?application={shop.application_id}&device=none")
    assert (page.status, "bound to no profile" in page.text) == (200, True)
    # An operator of one application sees its profile of the device.
    page = signed_in(url, "shop").open(f"/console/device?application=shop&device={twin.device_id}")
    assert twin.binding.profile_id in page.text and shop.application_id not in page.text


def search_until_refused(visitor, shop):
    """The pages of each search, of which the last one is the refusal. More are granted the longer it takes: one in five seconds."""
    pages = [search(visitor, shop, "abc", prefix="yes")]
    while pages[-1].status == 404 and len(pages) < 2 * SEARCHES:
        pages.append(search(visitor, shop, "abc", prefix="yes"))
    return pages


def test_too_many_searches_are_refused_for_a_while(url, shop):
    *found, page = search_until_refused(signed_in(url, "searcher"), shop)
    assert len(found) >= SEARCHES
    assert (page.status, "too many searches" in page.text) == (429, True)
    assert page.form("/console/find").fields["text"] == "abc"
    assert events(shop, "profile.refused")[0].details["reason"] == "TOO_MANY_SEARCHES"


def test_a_search_that_is_refused_before_it_looks_for_beginnings_is_no_search_that_found_nothing(url, shop):
    name = new_profile_id()
    shop.set_secret(f"{name}-1", passcode("2468"))
    visitor = signed_in(url, "halfway")
    search_until_refused(visitor, shop)
    # As soon as one more is granted: the search by the whole id.
    while events(shop, "profile.searched")[-1].details["by"] != "id":
        page = search(visitor, shop, name)
    assert (page.status, "too many searches" in page.text, "exactly this id." in page.text) == (429, True, False)


def test_older_events_are_a_page_away(url, shop, phone):
    for _ in range(60):
        shop.submit(phone, shop.begin(phone))
    visitor = signed_in(url, "reader")
    page = visitor.open(f"/console/events?application={shop.application_id}&profile={phone.binding.profile_id}")
    first = [int(number) for number in re.findall(r'data-label="No."><div>(\d+)<', page.html)]
    older = visitor.open(page.link("before="))
    second = [int(number) for number in re.findall(r'data-label="No."><div>(\d+)<', older.html)]
    assert len(first) == 50
    assert first == sorted(first, reverse=True) and second == sorted(second, reverse=True)
    assert first[-1] > second[0]
    written = [event.sequence for event in events(shop)]
    assert sorted(first + second)[-len(first + second) :] == written[-len(first + second) :]


def test_policies_and_what_they_would_answer(url, shop, phone):
    visitor = signed_in(url, "reader")
    page = visitor.open("/console/policies")
    assert "deviceOwnerAuthenticationWithBiometrics" in page.text and "lockout_after 5" in page.text
    form = visitor.open("/console/explain?policy=payment").form("/console/explain")
    assert form.fields["policy"] == "payment"
    query = f"/console/explain?application={shop.application_id}&policy=login&binding={phone.binding.binding_id}"
    page = visitor.open(query)
    assert "A login can succeed now, by biometrics, if the device is as it reported at 20" in page.text and "not passed" in page.text
    page = visitor.open(query + "&platform=ios&os=7.1&sensor=touch-id&working=yes&enrolled=yes&passcode=yes")
    assert "Biometrics: the device's system is too old for this." in page.text
    assert visitor.open(query + "&platform=ios&os=x").status == 400
    assert visitor.open(query.replace("binding=", "binding=x")).status == 404
    assert "A login can succeed now" in visitor.open(query.replace("=login", "=payment")).text


def test_health(served, url):
    page = signed_in(url, "reader").open("/console/health")
    assert page.status == 200
    assert "State serving" in page.text and "intact" in page.text
    if served.store is None:
        assert "SQLite" in page.text and "Replicas" not in page.text
    else:
        assert "PostgreSQL" in page.text
        # The machines that are connected to the database, as it sees them.
        assert re.search(r"Replicas connected to the database .*\d+ connections?, Started 20", page.text)


def test_the_language_is_the_browsers_or_the_one_that_was_chosen(url):
    chinese = Visitor(url, language="zh-CN,zh;q=0.9")
    page = chinese.open("/console/sign-in")
    assert ("html", {"lang": "zh-Hans"}) in page.tags
    assert "登录" in page.text
    page = chinese.open(page.link("to=en"))
    assert ("html", {"lang": "en"}) in page.tags
    assert ("html", {"lang": "en"}) in chinese.open("/console").tags
    assert chinese.open("/console/language?to=xx").status == 400
    answer = chinese.send("/console/language?to=en&page=https://evil.example/")
    assert answer.headers["location"] == "/console"


def test_a_page_that_is_none_has_the_menu(url):
    page = signed_in(url, "reader").open("/console/nothing?x=1")
    assert page.status == 404 and "no page with this address" in page.text
    assert "/console/events" in page.links


def test_times_are_shown_by_the_chosen_offset(url):
    visitor = signed_in(url, "reader")
    utc = visitor.open("/console/health")
    assert re.search(r"Now 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\b(?![+−])", utc.text)
    assert re.search(r"Started 20\S+ \S+ \((\d+ (s|min|h) ago)\)", utc.text)
    answer = visitor.send("/console/offset?to=345&page=/console/health")
    assert (answer.status, answer.headers["location"]) == (303, "/console/health")
    shifted = visitor.open("/console/health")
    assert "UTC+05:45" in shifted.text
    times = [re.search(r"Started 20\S+ (\d\d):(\d\d)", page.text) for page in (utc, shifted)]
    before, after = (int(hours) * 60 + int(minutes) for hours, minutes in (time.groups() for time in times))
    assert (after - before) % 1_440 == 345
    for wrong in ("7", "x", "", "99999999999999999999"):
        assert visitor.open(f"/console/offset?to={wrong}").status == 400


def test_sentences_have_the_chosen_offset_too(url, shop, phone):
    visitor = signed_in(url, "reader")
    application, binding = shop.application_id, phone.binding
    visitor.open("/console/offset?to=345&page=/console/health")
    for page in (
        f"/console/profile?application={application}&profile={binding.profile_id}",
        f"/console/explain?application={application}&policy=login&binding={binding.binding_id}",
    ):
        assert re.search(r"as it reported at 20\S+ \d\d:\d\d \+05:45", visitor.open(page).text), page


# Acting


def test_support_unlocks_a_device_with_a_reason(url, shop, phone):
    lock(shop, phone)
    visitor = signed_in(url, "anna")
    page = visitor.open(profile_page(visitor, shop, phone).link("unlock-device"))
    assert "Do this only when you know that the person has the phone" in page.text
    form = page.form("/console/action")
    for reason in ("", "x" * 257, " ", "\u3000", "a\nb", "a\x1b[2J"):
        page = visitor.post(form, reason=reason)
        assert page.status == 400, reason
        assert "An input is wrong: reason: " in page.text, reason
    assert not events(shop, "device.unlocked")
    page = visitor.post(form, reason="showed a passport")
    assert page.status == 200
    assert "The device is unlocked." in page.text and "A login can succeed now" in page.text
    (event,) = events(shop, "device.unlocked")
    assert (event.caller, event.details["stated_reason"]) == ("operator:anna", "showed a passport")
    assert event.profile_id == phone.binding.profile_id


def test_support_unlocks_a_passcode_and_not_one_that_is_disabled(url, shop, phone):
    profile = phone.binding.profile_id
    shop.set_secret(profile, passcode("1357"))
    for _ in range(2):
        opened = shop.begin(phone)
        for _ in range(3):
            shop.submit(phone, opened, secret=passcode("0000"))
    visitor = signed_in(url, "anna")
    page = profile_page(visitor, shop, phone)
    assert "Locked until" in page.text
    page = visitor.post(visitor.open(page.link("unlock-passcode")).form("/console/action"), reason="called back")
    assert "The passcode is unlocked." in page.text
    (event,) = events(shop, "secret.unlocked")
    assert event.caller == "operator:anna"


SWITCHES = "biometry", "passcode", "gesture"


def test_support_changes_switches_with_a_reason(url, shop, phone):
    profile = phone.binding.profile_id
    shop.set_secret(profile, passcode("1357"))
    visitor = signed_in(url, "anna")
    page = profile_page(visitor, shop, phone)
    assert [way for way in SWITCHES if any(f"switch-off-{way}" in link for link in page.links)] == ["biometry", "passcode"]
    form = visitor.open(page.link("action=prefer-passcode")).form("/console/action")
    assert "Offered first: the passcode." in visitor.post(form, reason="called back").text
    page = profile_page(visitor, shop, phone)
    form = visitor.open(page.link("action=switch-off-passcode")).form("/console/action")
    for reason in ("", " "):
        page = visitor.post(form, reason=reason)
        assert (page.status, "An input is wrong: reason: " in page.text) == (400, True)
    assert shop.get_settings(profile).passcode_enabled
    page = visitor.post(form, reason="passcode was seen by others")
    assert "Switched off: the passcode." in page.text
    settings = shop.get_settings(profile)
    # All others stay, and what is off is offered first no more.
    assert (settings.biometry_enabled, settings.passcode_enabled, settings.preferred) == (True, False, 0)
    assert visitor.post(form, reason="again").status == 409
    page = visitor.post(
        visitor.open(page.link("action=switch-on-passcode")).form("/console/action"), reason="set anew"
    )
    assert "Switched on: the passcode." in page.text
    assert shop.get_settings(profile).passcode_enabled
    written = events(shop, "settings.changed")
    assert [event.details["stated_reason"] for event in written] == [
        "called back",
        "passcode was seen by others",
        "set anew",
    ]
    assert {event.caller for event in written} == {"operator:anna"}


def test_switching_the_gesture_off_says_that_it_is_erased(url, shop, phone):
    profile = phone.binding.profile_id
    shop.set_secret(profile, gesture(0, 1, 2, 5))
    visitor = signed_in(url, "anna")
    page = visitor.open(profile_page(visitor, shop, phone).link("action=switch-off-gesture"))
    assert "The gesture is erased for good." in page.text
    page = visitor.post(page.form("/console/action"), reason="ticket 4711")
    assert "Switched off: the gesture." in page.text
    assert not shop.get_settings(profile).gesture_set
    # No switch of that name.
    fields = page.form("/console/sign-out").fields | {"action": "switch-on-passkey", "profile": profile}
    assert visitor.open("/console/action", "POST", form=fields).status == 400


def test_no_link_says_that_something_was_done(url, shop, phone):
    visitor = signed_in(url, "root")
    for path in ("/console?done=erase&through=7", "/console?done=unlock-device"):
        assert "notice" not in visitor.open(path).html
    assert "notice" not in profile_page(visitor, shop, phone, done="revoke").html
    page = visitor.open(profile_page(visitor, shop, phone).link("action=revoke"))
    assert "The binding is revoked." in visitor.post(page.form("/console/action"), reason="lost").text
    # Once: a page that is loaded again did nothing.
    assert "notice" not in profile_page(visitor, shop, phone).html


def test_support_revokes_a_binding_and_the_second_operator_is_told(url, shop, phone):
    anna, root = signed_in(url, "anna"), signed_in(url, "root")
    forms = [
        visitor.open(profile_page(visitor, shop, phone).link("action=revoke")).form("/console/action")
        for visitor in (anna, root)
    ]
    page = anna.post(forms[0], reason="phone lost")
    assert "The binding is revoked." in page.text
    page = root.post(forms[1], reason="phone stolen")
    assert page.status == 409
    assert "another operator or the person was faster" in page.text and "Nothing was changed." in page.text
    (event,) = events(shop, "binding.revoked")
    assert (event.caller, event.details["stated_reason"]) == ("operator:anna", "phone lost")


def test_an_admin_erases_a_profile_after_typing_its_id(url, shop, phone):
    visitor, second = signed_in(url, "root"), signed_in(url, "other")
    profile = phone.binding.profile_id
    form = visitor.open(profile_page(visitor, shop, phone).link("action=erase")).form("/console/action")
    late = second.open(profile_page(second, shop, phone).link("action=erase")).form("/console/action")
    page = visitor.post(form, reason="ticket 4711", confirmation="other")
    assert page.status == 400
    assert "The id that you typed differs. Nothing was erased." in page.text
    page = visitor.post(form, reason=f"for {profile}", confirmation=profile)
    assert page.status == 400
    assert "names the profile" in page.text
    assert profile_page(visitor, shop, phone).status == 200
    page = visitor.post(form, reason="ticket 4711", confirmation=profile)
    assert "The profile is erased." in page.text
    assert profile_page(visitor, shop, phone).status == 404
    page = second.post(late, reason="ticket 4712", confirmation=profile)
    assert page.status == 409
    (event,) = events(shop, "profile.erased")
    assert (event.caller, event.details["stated_reason"]) == ("operator:root", "ticket 4711")


@pytest.mark.parametrize(
    ("name", "action"),
    [("reader", "unlock-device"), ("reader", "switch-off-biometry"), ("reader", "revoke"), ("anna", "erase")],
)
def test_a_role_is_checked_at_each_action(url, shop, phone, name, action):
    """Also for a form that was made by hand: the service refuses it, and writes the event."""
    lock(shop, phone)
    visitor = signed_in(url, name)
    page = profile_page(visitor, shop, phone)
    assert not [link for link in page.links if f"action={action}" in link]
    target = phone.device_id if action == "unlock-device" else phone.binding.binding_id
    order = {
        "action": action,
        "application": shop.application_id,
        "profile": phone.binding.profile_id,
        "target": target,
        "reason": "because",
        "confirmation": phone.binding.profile_id,
        "token": page.form("/console/sign-out").fields["token"],
    }
    mark = Mark(shop)
    answer = visitor.open("/console/action", "POST", form=order)
    assert answer.status == 403
    assert "Your role does not allow this." in answer.text
    (event,) = mark.refusals("METHOD_NOT_GRANTED", 1)
    assert event.caller == f"operator:{name}"
    assert shop.get_binding(phone.binding.binding_id).state == phone.binding.state
    assert not events(shop, "device.unlocked", "settings.changed", "profile.erased")


def test_a_target_of_another_profile_is_not_touched(url, shop, phone):
    other = Phone()
    shop.bind(other)
    visitor = signed_in(url, "anna")
    form = visitor.open(profile_page(visitor, shop, phone).link("action=revoke")).form("/console/action")
    page = visitor.post(form, reason="lost", target=other.binding.binding_id)
    assert page.status == 409
    assert shop.get_binding(other.binding.binding_id).state == other.binding.state


# Over TLS, and the configuration


def test_over_tls_the_cookie_is_bound_to_it(start, tmp_path):
    authority = Authority(tmp_path)
    certificate = authority.issue_server()
    server = start(
        configuration={
            "tls": {"certificate": str(certificate.file), "key": str(certificate.key_file)},
            "callers": [{"name": "local", "applications": "*", "methods": "*"}],
            "http": {"operators": "0.0.0.0:0"},
            "operators": operators(anna="support"),
        },
        http=1,
    )
    url = server.urls[0]
    assert url.startswith("https://")
    visitor = Visitor(url, authority=authority)
    form = {"name": "anna", "password": PASSWORD, "page": "/console"}
    answer = visitor.send("/console/sign-in", "POST", form=form)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-touchstone-console=")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
    assert f"__Host-{BROWSER}" in visitor.cookies
    page = visitor.open("/console")
    assert page.status == 200
    assert page.headers["strict-transport-security"] == "max-age=31536000"
    plaintext = {"Origin": visitor.origin.replace("https", "http")}
    assert Visitor(url, authority=authority).send("/console/sign-in", "POST", form=form, headers=plaintext).status == 403


def test_behind_a_proxy_that_changes_host_and_path(start):
    """With `console_url` every link, form and redirection has the path that the browser needs."""
    configuration = {
        "operators": operators(anna="admin"),
        "console_url": "https://ops.example/touch/stone/console",
    }
    server = start(configuration=configuration, arguments=CONSOLE, http=1)
    url = server.urls[0]
    visitor = Visitor(url)
    visitor.origin = "https://ops.example"
    # The proxy leaves the path as it is, or takes the front off.
    for path in ("/touch/stone/console", "/console"):
        page = visitor.open(path)
        own = [f"/touch/stone/console/{name}" for name in ("sign-in", "offset")]
        assert [form.action for form in page.forms] == own, path
        assert all(link.startswith(("/touch/stone/console", "#")) for link in page.links), page.links
        assert 'href="/touch/stone/console/console.css"' in page.html
    form = page.form("/touch/stone/console/sign-in").fields | {"name": "anna", "password": PASSWORD}
    answer = visitor.send("/console/sign-in", "POST", form=form)
    assert (answer.status, answer.headers["location"]) == (303, "/touch/stone/console")
    assert answer.headers["strict-transport-security"].startswith("max-age=")
    assert sorted(visitor.cookies) == [f"__Host-{SESSION}", f"__Host-{BROWSER}"]
    for path in ("", "/events", "/events?follow=yes", "/policies", "/explain", "/health"):
        page = visitor.open(f"/touch/stone/console{path}")
        assert page.status == 200, path
        assert {action for action in (form.action for form in page.forms)} and all(
            target.startswith(("/touch/stone/console", "#"))
            for target in page.links + [form.action for form in page.forms]
        ), path
    answer = visitor.send("/touch/stone/console/language?to=zh-Hans&page=/console/health")
    assert answer.headers["location"] == "/touch/stone/console/health"
    assert "; Path=/touch/stone/console; " in answer.headers["set-cookie"]
    assert visitor.open("/touch/stone/consoles").status == 404
    missing = visitor.open("/touch/stone/console/nothing")
    assert missing.status == 404 and "/touch/stone/console/events" in missing.links


FROM_ELSEWHERE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_a_link_of_another_site_opens_the_page_as_the_operators_own(url, shop, phone):
    """Browsers leave a SameSite=Strict cookie out at first; the page asks for it from the console's own site, once."""
    visitor = signed_in(url, "anna")
    path = f"/console/profile?application={shop.application_id}&profile={phone.binding.profile_id}"
    stranger = Visitor(url)
    page = stranger.open(path, headers=FROM_ELSEWHERE)
    assert (page.status, [form.action for form in page.forms]) == (200, ["/console/offset"])
    again = html.unescape(re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.html)[1])
    assert again == f"{path}&repeated=yes"
    assert page.headers["x-frame-options"] == "DENY"
    # What the browser then sends has the cookie, and the page's own links do not repeat the mark.
    page = visitor.open(again, headers={"Sec-Fetch-Site": "same-origin"})
    assert phone.binding.profile_id in page.text
    assert "repeated" not in page.html
    # Who is not signed in gets the sign-in, also if the browser goes on calling it another site's link.
    page = stranger.open(again, headers=FROM_ELSEWHERE)
    assert page.status == 403
    assert page.form("/console/sign-in").fields["page"] == path
    # A form of another site is not repeated.
    assert stranger.send("/console/action", "POST", form={}, headers=FROM_ELSEWHERE).status == 403


HASH = "$argon2id$v=19$m=65536,t=3,p=1$c2FsdHNhbHRzYWx0c2FsdA$" + "A" * 43


def test_what_stands_in_a_hashs_place_may_be_the_password_and_is_not_printed(tmp_path):
    file = tmp_path / "touchstone.yaml"
    file.write_text("operators: {anna: {password: hunter2hunter2, role: read, applications: '*'}}\n")
    file.chmod(0o600)
    ended = run_to_end(tmp_path / "data", arguments=["--config", file])
    assert ended.returncode == BAD_CONFIGURATION
    assert "operators.anna.password must be a hash" in ended.stderr
    assert "hunter2" not in ended.stderr


def test_a_file_that_others_can_read_holds_no_hashes(tmp_path):
    file = tmp_path / "touchstone.yaml"
    file.write_text(f"operators: {{anna: {{password: '{HASH}', role: read, applications: '*'}}}}\n")
    file.chmod(0o644)
    ended = run_to_end(tmp_path / "data", arguments=["--config", file])
    assert ended.returncode == BAD_CONFIGURATION
    assert "other users can read this file, and operators holds a secret" in ended.stderr


def test_what_is_in_force_is_printed_without_the_hashes(tmp_path):
    file = tmp_path / "touchstone.yaml"
    file.write_text(f"operators: {{anna: {{password: '{HASH}', role: read, applications: '*'}}}}\n")
    file.chmod(0o600)
    printed = run("config", "print", "--config", file)
    assert printed.returncode == 0, printed.stderr
    assert "anna" in printed.stdout and "role: read" in printed.stdout
    assert "argon2id" not in printed.stdout


def test_the_command_takes_passwords_of_twelve_bytes_and_more():
    assert run("operators", "hash", stdin="a" * 12).stdout.startswith('"$argon2id$v=19$m=65536,t=3,p=1$')
    for password in ("a" * 11, "a" * 129, ""):
        ended = run("operators", "hash", stdin=password)
        assert ended.returncode != 0
        assert ended.stdout == ""
        assert ended.stderr.strip()
    # Each with a salt of its own.
    assert password_hash(PASSWORD) != password_hash(PASSWORD)


def test_a_printed_hash_fits_into_the_variable(tmp_path):
    """In one line. Without the quotes, YAML ends the hash at its first comma."""
    printed = run("operators", "hash", stdin=PASSWORD).stdout.strip()

    def checked(text):
        value = f"{{anna: {{password: {text}, role: read, applications: '*'}}}}"
        return run("config", "check", environment={"TOUCHSTONE_OPERATORS": value, "TOUCHSTONE_HTTP": "127.0.0.1:0"})

    right = checked(printed)
    assert right.returncode == 0, right.stderr
    wrong = checked(printed.strip('"'))
    assert wrong.returncode == BAD_CONFIGURATION
    (line,) = wrong.stderr.splitlines()
    assert line.startswith("TOUCHSTONE_OPERATORS:1:") and "put the hash into quotes" in line
    assert printed[-20:-1] not in line


def test_no_cell_of_a_table_of_events_begins_a_formula(start):
    server = start(configuration={"operators": operators(otto="admin")}, arguments=CONSOLE, http=1)
    new_caller(server).bind(Phone(), profile_id="a;=1+1;\uff1d1")
    table = signed_in(server.urls[0], "otto").send("/console/events/export?form=csv").text
    assert ";=" not in table and ";\uff1d" not in table and "a;'=1+1;'\uff1d1" in table
