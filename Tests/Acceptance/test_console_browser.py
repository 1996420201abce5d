"""The console in Chromium, as people use it: by keyboard, on a phone's screen, in both languages, in the light and in the dark."""

import importlib.util
import itertools
import json
import os
from pathlib import Path

import pytest

from support.addresses import own_host
from support.browser import CHROMIUM, Browser
from support.caller import new_caller, new_profile_id, passcode
from support.console import PASSWORD, operators
from support.phone import Phone
from support.proxy import Proxy
from support.server import Server
from support.stubs import administration_pb2

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

#: Where the screenshots go; nowhere without it.
SCREENSHOTS = os.environ.get("CONSOLE_SCREENSHOTS")
#: More places than any page has that the Tab key goes to.
MAXIMUM_TABS = 80
BROWSER_SECONDS = 900
#: Two rows of a menu, in pixels.
MAXIMUM_HEADER = 100

LANGUAGES = "en", "zh-Hans"
WIDTHS = 360, 1280
#: Language, width, and whether it is dark: each with each of the others, or, for screenshots, all eight.
PAIRS = [("en", 360, False), ("en", 1280, True), ("zh-Hans", 360, True), ("zh-Hans", 1280, False)]
LOOKS = list(itertools.product(LANGUAGES, WIDTHS, (False, True))) if SCREENSHOTS else PAIRS


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(
        tmp_path_factory.mktemp("console") / "data",
        configuration={"operators": operators(anna="support", root="admin")},
        arguments=["--http", "127.0.0.1:0"],
        http=1,
    )
    yield server
    server.close()


@pytest.fixture
def browser(tmp_path):
    browser = Browser(tmp_path / "chromium", lifetime_seconds=BROWSER_SECONDS)
    yield browser
    browser.close()


@pytest.fixture
def shop(served):
    return new_caller(served, f"shop-{new_profile_id()[-4:]}")


@pytest.fixture
def phone(shop):
    phone = Phone()
    shop.bind(phone, "anna.li@example.org" + new_profile_id()[-6:])
    return phone


def lock(shop, phone):
    for count in (3, 2):
        opened = shop.begin(phone)
        for _ in range(count):
            shop.submit_wrong(phone, opened)


class Keyboard:
    """A person without a mouse."""

    def __init__(self, browser):
        self.browser = browser

    @property
    def focus(self):
        """What has the focus, as a screen reader calls it."""
        return self.browser.run(
            "(e => e == document.body ? '' : e.labels?.length ? e.labels[0].innerText : e.innerText)(document.activeElement)"
            "?.replace(/\\s+/g, ' ')"
        )

    def go_to(self, name):
        """By the Tab key. The focus must be visible."""
        for _ in range(MAXIMUM_TABS):
            if name in self.focus:
                assert self.browser.run("document.activeElement.matches(':focus-visible')"), name
                return
            self.browser.press("Tab")
        raise AssertionError(f"the Tab key does not come to {name!r}")

    def write(self, field, text):
        self.go_to(field)
        self.browser.run("document.activeElement.select?.()")
        self.browser.type(text)

    def enter(self, name=None):
        if name is not None:
            self.go_to(name)
        self.browser.load(lambda: self.browser.press("Enter"))

    @property
    def page(self):
        return self.browser.run("document.querySelector('main').innerText")


def sign_in(browser, url, name):
    browser.open(f"{url}/console")
    keyboard = Keyboard(browser)
    # The first field has the focus already.
    assert keyboard.focus == "Name"
    browser.type(name)
    keyboard.write("Password", PASSWORD)
    keyboard.enter()
    return keyboard


def of_kind(shop, kind):
    filter = administration_pb2.EventFilter(application_id=shop.application_id, kinds=[kind])
    return shop.administration.ListEvents(administration_pb2.ListEventsRequest(filter=filter)).events


def test_a_support_person_unlocks_and_revokes_by_keyboard_alone(served, browser, shop, phone):
    lock(shop, phone)
    keyboard = sign_in(browser, served.urls[0], "anna")
    keyboard.write("Application", shop.application_id)
    keyboard.write("Profile", phone.binding.profile_id)
    keyboard.enter()
    assert "Biometrics: locked by the service" in keyboard.page
    keyboard.enter("Unlock…")
    # The reason has the focus.
    browser.type("showed a passport")
    keyboard.enter()
    assert "The device is unlocked." in keyboard.page
    assert "A login can succeed now" in keyboard.page
    keyboard.enter("Revoke…")
    keyboard.enter("Cancel")
    assert "A login can succeed now" in keyboard.page
    keyboard.enter("Revoke…")
    browser.type("phone lost")
    keyboard.enter("Revoke")
    assert "The binding is revoked." in keyboard.page
    assert "No device is bound." in keyboard.page
    assert of_kind(shop, "device.unlocked")[0].details["stated_reason"] == "showed a passport"
    assert of_kind(shop, "binding.revoked")[0].caller == "operator:anna"
    assert "Erase" not in keyboard.page
    keyboard.enter("Sign out")
    assert "You are signed out." in keyboard.page


def test_a_support_person_changes_a_switch_by_keyboard_alone(served, browser, shop, phone):
    keyboard = sign_in(browser, served.urls[0], "anna")
    keyboard.write("Application", shop.application_id)
    keyboard.write("Profile", phone.binding.profile_id)
    keyboard.enter()
    # By what a screen reader reads out: the switch is a part of the link's name.
    keyboard.enter("Switch off… Biometrics")
    assert "Nothing that biometrics unlock serves" in keyboard.page
    browser.type("phone is shared")
    keyboard.enter("Switch off")
    assert "Switched off: biometrics." in keyboard.page
    assert "A login can succeed now" not in keyboard.page
    keyboard.enter("Switch on… Biometrics")
    browser.type("has a phone of her own")
    keyboard.enter("Switch on")
    assert "A login can succeed now" in keyboard.page
    assert [event.caller for event in of_kind(shop, "settings.changed")] == ["operator:anna"] * 2


def test_an_admin_erases_by_keyboard_alone(served, browser, shop, phone):
    keyboard = sign_in(browser, served.urls[0], "root")
    keyboard.write("Application", shop.application_id)
    keyboard.write("Profile", phone.binding.profile_id)
    keyboard.enter()
    keyboard.enter("Erase this profile…")
    browser.type("ticket 4711")
    keyboard.write("Type the profile's id to confirm", phone.binding.profile_id)
    keyboard.enter("Erase for good")
    assert "The profile is erased." in keyboard.page
    assert of_kind(shop, "profile.erased")[0].caller == "operator:root"


def test_the_first_stop_skips_the_menu(served, browser):
    keyboard = sign_in(browser, served.urls[0], "anna")
    browser.open(f"{served.urls[0]}/console/health")
    browser.press("Tab")
    assert keyboard.focus == "Skip to the content"
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "main"


@pytest.fixture
def keyring(tmp_path):
    """A console that takes passkeys alone, by the name and port of a way to it."""
    host, port = own_host(), 9090
    proxy = Proxy(host, port)
    url = f"http://localhost:{proxy.port}/console"
    configuration = {"operators": operators(anna="support"), "console_url": url, "console": {"sign_in": "passkey"}}
    server = Server(tmp_path / "data", configuration=configuration, arguments=["--http", f"{host}:{port}"], http=1)
    yield url.removesuffix("/console")
    server.close()
    proxy.close()


def test_an_operator_adds_a_passkey_and_signs_in_with_it(keyring, browser):
    browser.add_authenticator()
    browser.open(f"{keyring}/console")
    keyboard = Keyboard(browser)
    keyboard.write("Name", "anna")
    keyboard.write("Password", PASSWORD)
    keyboard.enter("Sign in")
    assert "Add a passkey first." in keyboard.page
    keyboard.write("Name of the passkey", "Laptop")
    keyboard.enter("Add a passkey")
    assert "Laptop" in keyboard.page and "Add a passkey first." not in keyboard.page
    keyboard.enter("Sign out")
    keyboard.enter("Sign in with a passkey")
    assert "Find a profile" in keyboard.page
    assert browser.run("document.querySelector('.operator').innerText") == "anna (support)"
    for path, language in itertools.product(("/console/account", "/console"), LANGUAGES):
        browser.open(f"{keyring}/console/language?to={language}&page={path}")
        browser.show(width=WIDTHS[0])
        assert browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (path, language)


def test_a_cancelled_passkey_is_told_and_can_be_tried_again(keyring, browser):
    browser.add_authenticator(isUserVerified=False)
    browser.open(f"{keyring}/console")
    keyboard = Keyboard(browser)
    keyboard.go_to("Sign in with a passkey")
    browser.press("Enter")
    shown = "!document.querySelector('form[data-passkey] [role=alert]').hidden"
    browser.run(f"new Promise(done => {{ const look = () => {shown} ? done(1) : requestAnimationFrame(look); look() }})")
    assert "The browser used no passkey." in keyboard.page
    assert not browser.run("document.querySelector('form[data-passkey] button').disabled")


class Tour:
    """Every page, in a profile with something of everything."""

    def __init__(self, browser, url, shop, phone):
        self.browser, self.url = browser, url
        profile = phone.binding.profile_id
        shop.set_secret(profile, passcode("1357"))
        opened = shop.begin(phone)
        for _ in range(3):
            shop.submit(phone, opened, secret=passcode("0000"))
        second = Phone()
        begun = shop.begin_binding(second, profile)
        completion = shop.completion(second, begun)
        completion.device_name = "Annas iPad mit einem sehr langen Namen <b>&amp;</b> 安娜的平板电脑"
        second.binding = shop.bindings.CompleteBinding(completion).binding
        third = Phone()
        shop.bind(third, profile)
        shop.revoke(third.binding, "replaced by a new phone")
        lock(shop, phone)
        query = f"application={shop.application_id}&profile={profile}"
        explained = f"application={shop.application_id}&policy=payment&binding={second.binding.binding_id}"
        action = f"/console/action?{query}&action="
        self.signed_out = {"sign-in": "/console/sign-in", "signed-out": "/console/sign-in?out=yes"}
        self.pages = {
            "search": "/console",
            "profile": f"/console/profile?{query}",
            "unlock": f"{action}unlock-device&target={phone.device_id}",
            "switch": f"{action}switch-off-passcode",
            "revoke": f"{action}revoke&target={second.binding.binding_id}",
            "meanwhile": f"{action}revoke&target={third.binding.binding_id}",
            "erase": f"{action}erase",
            "found": f"/console/find?application={shop.application_id}&text=anna",
            "device": f"/console/device?application={shop.application_id}&device={phone.device_id}",
            "unknown": f"/console/profile?application={shop.application_id}&profile=nobody",
            "events": f"/console/events?application={shop.application_id}",
            "wrong-time": "/console/events?since=2026-02-30",
            "following": "/console/events?follow=yes",
            "policies": "/console/policies",
            "explain": "/console/explain",
            "explained": f"/console/explain?{explained}",
            "health": "/console/health",
            "account": "/console/account",
        }

    def sign_in(self):
        sign_in(self.browser, self.url, "root")

    def looks(self):
        """Each page in LOOKS: its name, to be looked at now."""
        for language in LANGUAGES:
            self.browser.open(f"{self.url}/console/language?to={language}")
            for name, path in self.signed_out.items():
                yield from self._looks(language, name, path)
        self.browser.open(f"{self.url}/console/language?to=en")
        self.sign_in()
        for language in LANGUAGES:
            self.browser.open(f"{self.url}/console/language?to={language}")
            for name, path in self.pages.items():
                yield from self._looks(language, name, path)

    def _looks(self, language, name, path):
        self.browser.show(width=WIDTHS[0])
        self.browser.open(f"{self.url}{path}")
        for width, dark in [look[1:] for look in LOOKS if look[0] == language]:
            self.browser.show(width=width, dark=dark)
            yield f"{name}-{language}-{width}-{'dark' if dark else 'light'}"


def axe():
    """The rules of accessibility of axe-core, as a package of Python carries them."""
    package = importlib.util.find_spec("axe_playwright_python")
    return (Path(package.origin).parent / "axe.min.js").read_text()


def test_every_page_fits_and_breaks_no_rule_of_accessibility(served, browser, shop, phone):
    tour = Tour(browser, served.urls[0], shop, phone)
    script = axe()
    options = json.dumps({"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
    broken, wide, high, seen = [], [], [], 0
    for look in tour.looks():
        seen += 1
        # What follows is loaded again every few seconds.
        if "following" in look:
            browser.run("window.stop()")
        if browser.run("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wide.append(look)
        # On a phone, the content begins after two rows of the menu.
        if browser.run("document.querySelector('header').getBoundingClientRect().height") > MAXIMUM_HEADER:
            high.append(look)
        if not browser.run("typeof axe == 'object'"):
            browser.run(script + "; 0")
        found = browser.run(f"axe.run(document, {options}).then(r => r.violations.map(v => v.id + ' ' + v.nodes[0].html))")
        # The reader switches this refreshing on, and can switch it off (WCAG 2.2.1).
        found = [violation for violation in found if "following" not in look or not violation.startswith("meta-refresh")]
        broken += [(look, violation) for violation in found]
        if SCREENSHOTS:
            browser.screenshot(Path(SCREENSHOTS) / f"{look}.png")
    assert seen == (len(tour.signed_out) + len(tour.pages)) * len(LOOKS)
    assert not wide
    assert not high
    assert not broken, sorted({violation for _, violation in broken})
