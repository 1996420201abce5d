"""The shop's backend alone, with a Touchstone that answers what a test says."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import create_app  # noqa: E402
from shop.touchstone import Touchstone  # noqa: E402

EMAIL, PASSWORD, NEW_PASSWORD = "ada@example.org", "correct horse", "battery staple"


class Scripted(Touchstone):
    def __init__(self):
        self.is_down, self.called, self.languages = False, [], None
        self.profile = None
        #: What happens while Touchstone answers, by method.
        self.meanwhile = {}

    def post(self, service, method, body, languages=None):
        if self.is_down:
            return 503, {"code": "unavailable"}
        self.called.append((method, body))
        if act := self.meanwhile.pop(method, None):
            act()
        self.languages = languages
        answers = {
            "ListBindings": {"bindings": [{"bindingId": "b_1"}]},
            "BeginBinding": {"ticket": "dA=="},
            "CompleteBinding": {"binding": {"bindingId": "b_2"}},
            "BeginEvaluation": {"evaluation": "ZQ=="},
            "SubmitAttempt": {"outcome": "OUTCOME_SUCCEEDED", "profileId": self.profile, "token": "token"},
            "ConsumeToken": {"consumed": True, "claims": {"profileId": self.profile, "methods": ["hwk"]}},
        }
        return 200, answers.get(method, {})

    def count(self, method):
        return [called for called, _ in self.called].count(method)


@pytest.fixture
def touchstone():
    return Scripted()


@pytest.fixture
def app(tmp_path, touchstone):
    return create_app(tmp_path, touchstone, tmp_path / "kit.js", b"key")


def person(app, path):
    client = app.test_client()
    assert client.post(path, data={"email": EMAIL, "password": PASSWORD}).status_code == 302
    return client


@pytest.fixture
def recovery(app, capfd):
    """The owner of an account that was signed up, and the form that recovers it."""
    owner = app.test_client()

    def begin():
        owner.post("/forgot", data={"email": EMAIL})
        return owner, {"email": EMAIL, "code": re.search(r": (\d{8})", capfd.readouterr().err)[1], "password": NEW_PASSWORD}

    return begin


def test_a_code_still_serves_if_touchstone_did_not_answer(app, touchstone, recovery):
    thief = person(app, "/signup")
    owner, form = recovery()
    touchstone.is_down = True
    assert owner.post("/recover", data=form).status_code == 503
    touchstone.is_down = False
    assert thief.post("/touchstone/BeginBinding", json={}).status_code == 401, "the sessions have ended"
    assert owner.post("/recover", data=form).location == "/devices"
    assert touchstone.count("RevokeBinding") == 1
    assert owner.post("/recover", data=form).location == "/forgot", "a code serves once"


def test_no_device_is_added_while_a_recovery_revokes_the_others(app, touchstone, recovery):
    thief = person(app, "/signup")
    owner, form = recovery()
    answers = []

    def add_device():
        with app.test_client() as again:
            login = again.post("/login", data={"email": EMAIL, "password": PASSWORD})
            answers.append(login.location)
        answers.extend(thief.post(f"/touchstone/{method}", json={"ticket": "dA=="}).status_code for method in ("BeginBinding", "CompleteBinding"))

    thief.post("/touchstone/BeginBinding", json={})
    touchstone.meanwhile["RevokeBinding"] = add_device
    assert owner.post("/recover", data=form).location == "/devices"
    assert answers == ["/login", 401, 403]
    assert touchstone.count("CompleteBinding") == 0


def test_a_device_that_is_added_as_a_recovery_ends_is_revoked(app, touchstone, recovery):
    thief = person(app, "/signup")
    owner, form = recovery()
    thief.post("/touchstone/BeginBinding", json={})
    touchstone.meanwhile["CompleteBinding"] = lambda: owner.post("/recover", data=form)
    assert thief.post("/touchstone/CompleteBinding", json={"ticket": "dA=="}).status_code == 403
    assert [body["bindingId"] for method, body in touchstone.called if method == "RevokeBinding"] == ["b_1", "b_2"]


def test_an_order_is_paid_once(app, touchstone):
    first = person(app, "/signup")
    order = first.post("/orders", data={"article": "bicycle"}, headers={"accept": "application/json"}).get_json()
    second = person(app, "/login")
    for client in (first, second):
        begun = client.post("/touchstone/BeginEvaluation", json={"policy": "payment", "transaction": order})
        assert begun.status_code == 200
    touchstone.profile = touchstone.called[-1][1]["profileId"]
    answers = [client.post("/touchstone/SubmitAttempt", json={"evaluation": "ZQ=="}).status_code for client in (first, second)]
    assert answers == [200, 409]
    again = first.post("/touchstone/BeginEvaluation", json={"policy": "payment", "transaction": order})
    assert again.status_code == 409


def test_the_shop_says_what_is_to_be_paid(app, touchstone):
    client = person(app, "/signup")
    order = client.post("/orders", data={"article": "bicycle"}, headers={"accept": "application/json"}).get_json()
    cheaper = order | {"amount": "0.01"}
    client.post("/touchstone/BeginEvaluation", json={"policy": "payment", "transaction": cheaper})
    assert touchstone.called[-1][1]["transaction"] == order


def test_the_persons_languages_reach_touchstone(app, touchstone):
    app.test_client().post("/touchstone/BeginEvaluation", json={"policy": "login"}, headers={"accept-language": "zh-CN, en"})
    assert touchstone.languages == "zh-CN, en"


def test_other_sites_post_nothing(app):
    form = {"email": EMAIL, "password": PASSWORD}
    for origin in ("https://evil.example", "null"):
        assert app.test_client().post("/signup", data=form, headers={"origin": origin}).status_code == 403
