"""A person in a browser: signs up, adds a passkey, logs in by it, pays, loses everything and recovers."""

import json
import os
import subprocess
import sys
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "Tests/Acceptance"))
from support.browser import Browser  # noqa: E402

SHOP = Path(__file__).parents[1]
EMAIL, PASSWORD = "ada@example.org", "correct horse"


class Shop:
    """As `make example` starts it."""

    def __init__(self, directory):
        self._log = open(directory / "shop.log", "w+")
        command = [sys.executable, SHOP / "start", os.environ["SHOP_TOUCHSTONE"], os.environ["SHOP_KIT"], "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        line = self._process.stdout.readline()
        assert line.startswith("shop: "), self.log
        self.url = line.removeprefix("shop: ").strip()

    @property
    def log(self):
        return Path(self._log.name).read_text()

    def close(self):
        self._process.terminate()
        assert self._process.wait(30) == 0, self.log
        self._log.close()


@pytest.fixture
def shop(tmp_path):
    shop = Shop(tmp_path)
    yield shop
    shop.close()


class Page:
    """The browser, as a person uses it."""

    def __init__(self, directory, shop):
        self.browser, self._shop = Browser(directory), shop
        self._authenticator = self.browser.add_authenticator()

    def touch(self, is_touched):
        """Whether the person touches the authenticator when it asks."""
        named = {"authenticatorId": self._authenticator, "enabled": is_touched}
        self.browser.call("WebAuthn.setAutomaticPresenceSimulation", **named)

    def open(self, path):
        self.browser.open(self._shop.url + path)

    def go(self, path):
        """Does not wait for the page."""
        self.browser.call("Page.navigate", url=self._shop.url + path)

    def fill(self, **fields):
        """Sends the page's form."""
        for name, value in fields.items():
            self.browser.run(f"document.querySelector('main [name={name}]').value = {value!r}")
        self.browser.load(lambda: self.browser.run("document.querySelector('main form button').click()"))

    def press(self, selector):
        """Presses what leads to another page."""
        self.browser.load(lambda: self.browser.run(f"document.querySelector({selector!r}).click()"))

    def press_and_read(self, selector):
        """Presses what stays on the page, and returns what the page says then."""
        watch = "new Promise(told => new MutationObserver(() => told(status.textContent)).observe(status, {childList: true}))"
        return self.browser.run(
            f"(() => {{ const status = document.querySelector('#status'); const told = {watch};"
            f" document.querySelector({selector!r}).click(); return told }})()"
        )

    def call(self, method, body):
        """As a script of the page that is not the kit's."""
        options = {"method": "POST", "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
        return self.browser.run(f"fetch('/touchstone/{method}', {json.dumps(options)}).then(answer => answer.json())")

    @property
    def text(self):
        return self.browser.run("document.querySelector('main').innerText")


@pytest.fixture
def page(tmp_path, shop):
    page = Page(tmp_path / "chromium", shop)
    yield page
    page.browser.close()


def sign_up(page):
    page.open("/signup")
    page.fill(email=EMAIL, password=PASSWORD)
    assert "your password alone" in page.text
    page.press("[data-action=register]")
    assert "Browser (passkey)" in page.text


def log_out(page):
    page.press("header form button")
    assert "Log in to buy" in page.text


def test_a_passkey_logs_in_and_pays(page):
    sign_up(page)
    log_out(page)
    page.touch(False)  # so that autofill waits
    page.open("/login")
    page.browser.run("document.querySelector('[data-action=login]').click()")
    page.browser.load(lambda: page.touch(True))
    page.press("[value=coffee]")
    assert "3.20 EUR to Coffee Bar" in page.text
    page.press("[data-action=pay]")
    assert "Paid (pop" in page.text
    # A person who came by a passkey adds no other, because a thief of the phone could.
    page.open("/devices")
    assert "log in by your password" in page.text


def test_autofill_logs_in(page):
    sign_up(page)
    log_out(page)
    loads = page.browser.loads
    # The authenticator touches itself as soon as the page asks: the page may lead on before it has been drawn.
    page.go("/login")
    while page.browser.loads < loads + 2:
        page.browser.next(lambda message: message.get("method") == "Page.loadEventFired")
    assert "Your orders" in page.text


def test_a_second_passkey_of_this_browser_is_none(page):
    sign_up(page)
    assert page.press_and_read("[data-action=register]") == "There is a passkey already."


def test_a_removed_passkey_logs_nobody_in(page):
    sign_up(page)
    page.press("[data-action=revoke]")
    assert "your password alone" in page.text
    log_out(page)
    page.open("/login")
    assert page.press_and_read("[data-action=login]") != ""
    page.open("/devices")
    assert "Forgot the password" in page.text


def test_a_page_vouches_for_nothing(page):
    """Fields that are the shop's to say are dropped, by either of their names."""
    sign_up(page)
    primary = {"method": "password", "authenticatedAt": "2100-01-01T00:00:00Z"}
    begun = page.call("BeginEvaluation", {"policy": "login", "profile_id": "someone-else", "profileId": "someone-else"})
    assert begun["passkeyOptions"]
    attempt = page.call("SubmitAttempt", {"evaluation": begun["evaluation"], "primary": primary})
    assert attempt["code"] == "invalid_argument", attempt
    forged = {"reference": "order-of-nobody", "amount": "0.01", "currency": "EUR", "payee": "Coffee Bar"}
    assert page.call("BeginEvaluation", {"policy": "payment", "transaction": forged})["code"] == "not_found"


def test_recovery_ends_what_logged_in_before(page, shop):
    sign_up(page)
    log_out(page)
    page.open("/forgot")
    page.fill(email=EMAIL)
    code = shop.log.rpartition(f"Code for {EMAIL}: ")[2][:8]
    page.fill(email=EMAIL, code="00000000" if code != "00000000" else "1", password="battery staple")
    assert "That is wrong" in page.browser.run("document.body.innerText")
    page.open("/forgot")
    page.fill(email=EMAIL)
    code = shop.log.rpartition(f"Code for {EMAIL}: ")[2][:8]
    page.fill(email=EMAIL, code=code, password="battery staple")
    assert "your password alone" in page.text
    log_out(page)
    page.open("/login")
    assert page.press_and_read("[data-action=login]") != ""
    page.fill(email=EMAIL, password=PASSWORD)
    assert "That is wrong" in page.text
    page.fill(email=EMAIL, password="battery staple")
    assert "your password alone" in page.text
    # The owner goes on as before, with a new passkey.
    page.press("[data-action=register]")
    assert page.text.count("Browser (passkey)") == 1
    log_out(page)
    page.touch(False)
    page.open("/login")
    page.browser.run("document.querySelector('[data-action=login]').click()")
    page.browser.load(lambda: page.touch(True))
    page.press("[value=coffee]")
    page.press("[data-action=pay]")
    assert "Paid (pop" in page.text


def test_the_app_enables_logs_in_pays_and_changes_a_finger(page, shop):
    sign_up(page)
    phone = [os.environ["SHOP_PHONE"], shop.url, EMAIL, PASSWORD]
    told = subprocess.run(phone, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stdout + told.stderr
    page.open("/")
    assert "3.20 EUR to Coffee Bar: paid (" in page.text
    page.open("/devices")
    assert page.text.count("Simulated iPhone (phone)") == 1


class Session:
    """A program with a cookie of its own, such as a thief's."""

    def __init__(self, shop):
        self._url = shop.url
        self.cookies = CookieJar()
        self._opener = build_opener(HTTPCookieProcessor(self.cookies))

    def post(self, path, body, kind="application/x-www-form-urlencoded", **headers):
        """Returns the status and the text of the answer."""
        request = Request(self._url + path, body.encode(), {"content-type": kind, **headers})
        try:
            with self._opener.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def form(self, path, **fields):
        return self.post(path, urlencode(fields))

    def call(self, method, body):
        status, answer = self.post(f"/touchstone/{method}", json.dumps(body), "application/json")
        return status, json.loads(answer)

    def register(self):
        """Begins a passkey."""
        return self.call("BeginBinding", {"passkey": {}})


def recover(shop, email):
    owner = Session(shop)
    owner.form("/forgot", email=email)
    code = shop.log.rpartition(f"Code for {email}: ")[2][:8]
    assert owner.form("/recover", email=email, code=code, password="battery staple")[0] == 200
    return owner


@pytest.fixture
def thief(shop):
    """A thief who knows the password."""
    thief = Session(shop)
    assert thief.form("/signup", email=EMAIL, password=PASSWORD)[0] == 200
    return thief


def test_a_recovery_ends_the_sessions_and_tickets_of_before(shop, thief):
    _, begun = thief.register()
    recover(shop, EMAIL)
    assert thief.register()[1]["details"][0]["debug"]["reason"] == "NOT_LOGGED_IN"
    assert thief.call("CompleteBinding", {"ticket": begun["ticket"]})[0] == 403


def test_a_ticket_serves_its_own_session_alone(shop, thief):
    _, begun = thief.register()
    other = Session(shop)
    other.form("/signup", email="mallory@example.org", password=PASSWORD)
    assert other.call("CompleteBinding", {"ticket": begun["ticket"]})[0] == 403
    # The thief's own is taken, and refused for what it lacks.
    assert thief.call("CompleteBinding", {"ticket": begun["ticket"]})[0] == 400


def test_a_logout_ends_a_copied_cookie(shop, thief):
    copied = "; ".join(f"{cookie.name}={cookie.value}" for cookie in thief.cookies)
    thief.form("/logout")
    other = Session(shop)
    status, answer = other.post("/touchstone/BeginBinding", '{"passkey": {}}', "application/json", cookie=copied)
    assert (status, json.loads(answer)["details"][0]["debug"]["reason"]) == (401, "NOT_LOGGED_IN")


@pytest.mark.parametrize(
    "body",
    [
        {"policy": []},
        {"policy": "close_account"},
        {"policy": "payment", "transaction": "x"},
        {"policy": "payment", "transaction": {"reference": []}},
        {"policy": "payment"},
        [],
    ],
)
def test_malformed_requests_are_refused(thief, body):
    assert thief.call("BeginEvaluation", body)[0] == 400
