"""The web kit as an app installs it: its vectors and flows in Node, and pages of it in Chromium with the service behind them.

The page and its backend are the very lines of kits/web/README.md; those of docs/ATTESTATION.md, without the kit, are played, too.
"""

import base64
import http.server
import json
import re
import shutil
import subprocess
import threading
import time

import grpc
import pytest
from conftest import ROOT, VECTORS
from google.protobuf import json_format, timestamp_pb2
from support.browser import CHROMIUM, Browser
from support.caller import COFFEE, new_caller
from support.pages import blocks_of
from support.passkeys import PasskeyCaller
from support.server import Server
from support.stubs import bindings_pb2, evaluation_pb2

APP = "shop"
KIT = ROOT / "kits/web"
README = KIT / "README.md"
PAYMENT = json_format.MessageToDict(COFFEE)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

#: The minified core of a page: issue and README name it.
MAXIMUM_PAGE_BYTES = 12 * 1024

BY_HAND = """<!doctype html><title>Shop</title><script>
async function post(path, body) {
  const answer = await fetch(path, {method: "POST", body: JSON.stringify(body)});
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
async function register(profile) {
  const passkeyOptions = (await post("/touchstone/BeginBinding", {passkey: {}, profile})).passkeyOptions;
  DOCUMENTED_REGISTRATION
}
async function login() {
  const passkeyOptions = (await post("/touchstone/BeginEvaluation", {policy: "login"})).passkeyOptions;
  DOCUMENTED_LOGIN
  const {clientDataJSON: clientDataJson, ...rest} = response;
  return post("/touchstone/SubmitAttempt", {passkey: {credentialId: rawId, clientDataJson, ...rest}});
}
</script>"""

PAGE = """<!doctype html><html lang="zh-CN"><title>Shop</title><input autocomplete="username webauthn"><p id="payment"></p>
<script type="importmap">{"imports": {"touchstone-kit": "/dist/MODULE"}}</script>
<script type="module">
SCRIPT
document.title = "ready";
</script>"""

DECIDE = """
import { decision, expected, groups } from "/decide.mjs";
import * as kit from "touchstone-kit";
window.disagreements = async () => {
  const found = [];
  let count = 0;
  for (const group of groups) {
    for (const one of (await (await fetch(`/vectors/${group}.json`)).json()).cases) {
      const [is, must] = [await decision(kit, group, one), expected(one)].map((value) => JSON.stringify(value));
      count++;
      if (is !== must) found.push(`${group}, ${one.name}: ${is}`);
    }
  }
  return { count, found };
};"""


def page(module, script):
    return PAGE.replace("MODULE", module).replace("SCRIPT", script).encode()


def by_hand():
    """With the very lines that the documentation tells an app's developer."""
    registration, login = blocks_of(ROOT / "docs/ATTESTATION.md", "js")
    return BY_HAND.replace("DOCUMENTED_REGISTRATION", registration).replace("DOCUMENTED_LOGIN", login).encode()


def pages():
    with_passkeys, with_key, _ = blocks_of(README, "js")
    return {
        "/": page(
            "touchstone.min.js",
            with_passkeys + "Object.assign(window, { login, register, upgrade, autofill, pay, passkeys });",
        ),
        "/key": page("touchstone-keys.min.js", with_key + "Object.assign(window, { keys, enable });"),
        "/vectors": page("index.js", DECIDE),
        "/by-hand": by_hand(),
    }


class Backend(http.server.ThreadingHTTPServer):
    """The shop's backend between the page and Touchstone. Its relay is the README's."""

    def __init__(self, package):
        super().__init__(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.server_port}"
        self.package = package
        #: A test's changes of the answers, by path; and the calls that came.
        self.lies, self.calls = {}, []
        self.shop = self.binding = self.begun = self.user_id = None
        names = {"bindings_pb2": bindings_pb2, "evaluation_pb2": evaluation_pb2}
        exec(blocks_of(README, "python")[0].replace("from touchstone.v1 import", "# "), names)
        self.relay = names["relay"]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def content(self, path):
        """The path's content, and its type."""
        if path in (served := pages()):
            return served[path], "text/html"
        folders = {"/dist": self.package / "dist", "/vectors": VECTORS, "/": KIT / "tests"}
        folder, _, name = path.rpartition("/")
        file = folders[folder or "/"] / name
        if not file.is_file():  # a browser asks for its icon
            return b"", "text/plain"
        return file.read_bytes(), "application/json" if file.suffix == ".json" else "text/javascript"

    def answer(self, path, body, languages=""):
        if path == "/passkeys":  # as docs/ATTESTATION.md posts it
            registration = {
                "attestationObject": body["attestationObject"],
                "clientDataJson": body["clientDataJSON"],
                "transports": body["transports"],
            }
            path, body = "/touchstone/CompleteBinding", {"passkey": registration, "deviceName": body["name"]}
        path = path.removeprefix("/touchstone/")
        self.calls.append((path, body))
        if path == "AcceptedPasskeys":
            return self.accepted()
        profile = body.pop("profile", "alice")
        person = {
            "profile_id": profile,
            "name": f"{profile}@shop.example",
            "primary": {"method": "password", "authenticated_at": now()},
        }
        # Ticket and evaluation stay here for the page that keeps none.
        kept = {"CompleteBinding": "ticket", "SubmitAttempt": "evaluation"}.get(path)
        if kept and kept not in body:
            body[kept] = self.begun[kept]
        answer = self.relay(self.shop.caller.bindings, self.shop.caller.evaluations, path, body, person, languages)
        if path.startswith("Begin"):
            self.begun = answer
            self.user_id = json.loads(answer.get("passkeyOptions", "{}")).get("user", {}).get("id", self.user_id)
        if path == "CompleteBinding":
            self.binding = json_format.ParseDict(answer["binding"], bindings_pb2.Binding())
        return answer | self.lies.get(path, lambda answer: {})(answer)

    def accepted(self):
        """As the README says."""
        request = bindings_pb2.ListBindingsRequest(application_id=APP, profile_id="alice")
        listed = self.shop.caller.bindings.ListBindings(request).bindings
        identifiers = [base64_of(one.passkey.credential_id) for one in listed if one.HasField("passkey")]
        return {"rpId": "localhost", "userId": self.user_id, "credentialIds": identifiers}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send(200, *self.server.content(self.path))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self.server.answer(self.path, body, self.headers["accept-language"])
        self.send(200, json.dumps(answer).encode(), "application/json")

    def send(self, status, content, kind):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """A test prints what went wrong, and no more."""


def now():
    stamp = timestamp_pb2.Timestamp()
    stamp.FromNanoseconds(time.time_ns())
    return stamp.ToJsonString()


# The package


def test_the_kits_own_tests_pass_with_the_package(web_project):
    """Every vector and the flows, in Node."""
    shutil.copytree(KIT / "tests", web_project / "tests", dirs_exist_ok=True)
    files = sorted(str(file) for file in (web_project / "tests").glob("*.test.mjs"))
    environment = {"TOUCHSTONE_VECTORS": str(VECTORS), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    run = subprocess.run(
        ["node", "--test", *files], cwd=web_project, env=environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    passed = int(re.search(r"^(?:#|ℹ) pass (\d+)$", run.stdout, re.MULTILINE)[1])
    cases = sum(len(json.loads(file.read_text())["cases"]) for file in VECTORS.glob("*.json"))
    assert passed > cases


CONSUMER = """
import { DeviceKeys, fetchBackend, nextStep, Passkeys, takeApart, WebCryptoKey, type Backend, type Result } from "touchstone-kit";
import { wrapperKey, type Phone, type Wrapper } from "touchstone-kit/react-native";

const backend: Backend = fetchBackend("/touchstone");
const app = { application_id: "shop", backend };
export async function play(wrapper: Wrapper, phone: Phone): Promise<Result[]> {
  const keys = [new DeviceKeys(app, new WebCryptoKey("shop")), new DeviceKeys(app, wrapperKey(wrapper, phone, "BIOMETRY_ANY"))];
  const { transaction } = takeApart(new Uint8Array(), { kind: "evaluation", application_id: "shop", binding_id: "b", policy: "payment" });
  if (transaction) keys.map((one) => one.pay(transaction));
  // @ts-expect-error: a payment has a payee
  keys[0].pay({ amount: "1", currency: "EUR", reference: "r" });
  // @ts-expect-error: an evaluation's signing input is checked against the policy that was asked for
  takeApart(new Uint8Array(), { kind: "evaluation", application_id: "shop", binding_id: "b" });
  // @ts-expect-error: a binding's signing input has a profile and a device
  takeApart(new Uint8Array(), { kind: "binding", application_id: "shop", binding_id: "b" });
  console.log(nextStep("submit", {}).step);
  return Promise.all([new Passkeys(app).login(), ...keys.map((one) => one.login())]);
}
"""


def test_a_program_in_typescript_sees_its_types(web_project):
    (web_project / "consumer.ts").write_text(CONSUMER)
    options = {"noEmit": True, "strict": True, "target": "ES2020", "lib": ["ES2020", "DOM"], "types": []}
    options |= {"module": "node16", "moduleResolution": "node16"}
    (web_project / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["consumer.ts"]}))
    (web_project / "package.json").write_text('{"type": "module"}')
    run = subprocess.run(["tsc"], cwd=web_project, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("file", ["touchstone.min.js", "touchstone-keys.min.js"])
def test_a_page_loads_at_most_12_kilobytes(package, file):
    assert 4_000 < (package / "dist" / file).stat().st_size <= MAXIMUM_PAGE_BYTES


# Pages


@pytest.fixture
def backend(tmp_path, package):
    backend = Backend(package)
    passkeys = {"rp_id": "localhost", "origins": [backend.origin]}
    server = Server(
        tmp_path / "data", configuration={"applications": {APP: {"passkeys": passkeys, "text_signatures": True}}}
    )
    backend.shop = PasskeyCaller(new_caller(server, APP))
    yield backend
    backend.shutdown()
    backend.server_close()
    server.close()


@pytest.mark.parametrize("platform", ["ios", "android"])
def test_a_wrapper_of_react_native_with_the_service(backend, web_project, platform):
    """It signs texts by an RSA key, as react-native-biometrics does on each platform."""
    shutil.copytree(KIT / "tests", web_project / "tests", dirs_exist_ok=True)
    command = ["node", "tests/wrapper.mjs", backend.origin, platform]
    run = subprocess.run(command, cwd=web_project, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    is_apple = platform == "ios"
    assert json.loads(run.stdout) == [
        ["enable", "done"],
        ["login", "OUTCOME_SUCCEEDED"],
        # No hardware attests such a key, so an Android phone pays nothing with it.
        ["pay", "OUTCOME_SUCCEEDED" if is_apple else "bind-again"],
        ["canceled", "OUTCOME_CANCELED"],
        ["another key", "OUTCOME_TRY_AGAIN"],
        ["retry", "OUTCOME_SUCCEEDED"],
        ["another finger", "bind-again" if is_apple else "OUTCOME_SUCCEEDED"],
    ]
    assert list(backend.binding.key_algorithms) == [bindings_pb2.KEY_ALGORITHM_RSA]


@pytest.fixture
def browser(tmp_path):
    browser = Browser(tmp_path / "chromium")
    browser.authenticator = browser.add_authenticator()
    yield browser
    browser.close()


def open_page(browser, backend, path="/"):
    browser.open(backend.origin + path)
    browser.run(
        "new Promise((done) => { const look = () => document.title === 'ready' ? done() : setTimeout(look, 5); look(); })"
    )


def steps(browser, *calls):
    return [browser.run(call)["step"] for call in calls]


@needs_chromium
def test_the_vectors_in_a_browser(backend, browser):
    open_page(browser, backend, "/vectors")
    result = browser.run("disagreements()")
    assert result["found"] == []
    assert result["count"] == sum(len(json.loads(file.read_text())["cases"]) for file in VECTORS.glob("*.json"))


@needs_chromium
def test_a_page_registers_logs_in_and_pays(backend, browser):
    open_page(browser, backend)
    assert browser.run("register('alice')")["step"] == "done"
    assert backend.binding.credential == bindings_pb2.CREDENTIAL_KIND_PASSKEY
    assert (backend.binding.profile_id, backend.binding.device_name) == ("alice", "Laptop")
    assert list(backend.binding.passkey.transports) == ["internal"]

    login = browser.run("login()")
    assert (login["step"], login["answer"]["profile_id"]) == ("done", "alice")

    payment = browser.run(f"pay({json.dumps(PAYMENT)})")
    assert payment["step"] == "done"
    assert browser.run("document.querySelector('#payment').textContent") == "4.20 EUR to Café Touchstone"
    assert backend.shop.caller.consume(payment["answer"]["token"]).consumed

    # Its authenticator has one already, and makes no second one for this profile.
    again = browser.run("register('alice')")
    assert (again["step"], again["notices"]) == ("stay", ["already-registered"])


@needs_chromium
def test_autofill_logs_in_with_a_passkey(backend, browser):
    """This Chromium chooses by itself. The wait of a real one, and conditional create, at which it ends, are played in Node."""
    open_page(browser, backend)
    browser.run("register('alice')")
    login = browser.run("autofill()")
    assert (login["step"], login["answer"]["profile_id"]) == ("done", "alice")


@needs_chromium
def test_a_lying_backend_reaches_no_authenticator(backend, browser):
    open_page(browser, backend)
    assert browser.run("register('alice')")["step"] == "done"
    backend.calls.clear()
    lies = [
        ("other-transaction", "pay", {"transaction": {**PAYMENT, "amount": "420.00"}}),
        ("other-policy", "pay", {"policy": "login", "transaction": None}),
        ("other-policy", "login", {"policy": "payment", "transaction": PAYMENT}),
    ]
    relay = backend.relay
    for code, method, lie in lies:

        def lying(bindings, evaluations, path, body, person, languages, lie=lie):
            wanted = {name: value for name, value in {**body, **lie}.items() if value is not None}
            return relay(bindings, evaluations, path, wanted, person, languages)

        backend.relay = lying
        result = browser.run(f"{method}({json.dumps(PAYMENT)})")
        assert (result["step"], result["refused"]) == ("stop", code)
    assert {path for path, _ in backend.calls} == {"BeginEvaluation"}
    backend.relay = relay
    backend.lies["BeginEvaluation"] = lambda answer: {
        "passkeyOptions": json.dumps({**json.loads(answer["passkeyOptions"]), "challenge": "AAAA"})
    }
    assert browser.run("login()")["refused"] == "other-challenge"


def test_a_page_vouches_for_nobody(backend):
    """The README's backend passes on what a page may say, and drops the rest: a login of the shop's, a profile, an application."""
    begin = {"policy": "login", "profile_id": "alice", "profileId": "alice", "applicationId": "bank"}
    begun = backend.answer("/touchstone/BeginEvaluation", begin)
    assert "FACTOR_PASSKEY" in begun["factors"]
    own_login = {"primary": {"method": "password", "authenticated_at": now()}}
    with pytest.raises(grpc.RpcError) as refused:
        backend.answer("/touchstone/SubmitAttempt", {"evaluation": begun["evaluation"], **own_login})
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


@needs_chromium
def test_a_passkey_that_the_service_does_not_know_any_more(backend, browser):
    """The password manager drops it after the next success, and not after the failure."""
    open_page(browser, backend)
    browser.run("register('alice')")
    backend.shop.caller.revoke(backend.binding)
    known = lambda: browser.call("WebAuthn.getCredentials", authenticatorId=browser.authenticator)["credentials"]  # noqa: E731
    login = browser.run("login()")
    assert login["step"] == "try-again"
    assert any("\u4e00" <= letter <= "\u9fff" for letter in login["message"])  # in the page's language
    assert len(known()) == 1
    assert browser.run("register('alice')")["step"] == "done"
    assert [one["credentialId"] for one in known()] == [base64_of(backend.binding.passkey.credential_id)]
    assert steps(browser, "login()") == ["done"]


@needs_chromium
def test_a_page_of_another_origin(backend, browser, package):
    """It is the relying party's, too, and not among the application's origins."""
    open_page(browser, backend)
    browser.run("register('alice')")
    other = Backend(package)
    other.shop = backend.shop
    open_page(browser, other)
    login = browser.run("login()")
    other.shutdown()
    other.server_close()
    assert login["step"] == "try-again"
    assert backend.shop.caller.events()[-1].details["reason"] == "ORIGIN_DIFFERS"


@needs_chromium
def test_a_page_with_a_key_of_the_browser(backend, browser):
    open_page(browser, backend, "/key")
    assert browser.run("keys.status()")["status"] == "not-enabled"
    assert browser.run("enable('alice')")["step"] == "done"
    binding = backend.binding
    assert (binding.credential, binding.device_name) == (bindings_pb2.CREDENTIAL_KIND_HARDWARE_KEY, "Browser at work")
    assert list(binding.protections) == [bindings_pb2.KEY_PROTECTION_DEVICE_PASSCODE]
    login = browser.run("keys.login()")
    assert (login["step"], login["answer"]["profile_id"]) == ("done", "alice")
    assert steps(browser, f"keys.pay({json.dumps(PAYMENT)})") == ["log-in"]

    # The key survives a new page, and no script reads it.
    open_page(browser, backend, "/key")
    assert browser.run("keys.status('alice')")["status"] == "ready"
    stored = """new Promise((done) => {
      const opening = indexedDB.open("touchstone-shop");
      opening.onsuccess = () => {
        const reading = opening.result.transaction("kept").objectStore("kept").get("key");
        reading.onsuccess = () => crypto.subtle.exportKey("jwk", reading.result).then(() => done("read"), (error) => done(error.name));
      };
    })"""
    assert browser.run(stored) == "InvalidAccessError"
    assert steps(browser, "keys.login()") == ["done"]

    backend.shop.caller.revoke(binding)
    assert steps(browser, "keys.login()") == ["bind-again"]
    assert browser.run("keys.status()")["status"] == "not-enabled"
    assert steps(browser, "enable('alice')", "keys.login()") == ["done", "done"]
    with pytest.raises(LookupError):  # not bob's
        backend.answer("/touchstone/RevokeBinding", {"bindingId": backend.binding.binding_id, "profile": "bob"})
    browser.run("keys.disable()")
    assert browser.run("keys.status()")["status"] == "not-enabled"
    assert backend.shop.caller.events()[-1].kind == "binding.revoked"


@needs_chromium
def test_a_page_without_the_kit(backend, browser):
    """By the lines of docs/ATTESTATION.md."""
    browser.open(backend.origin + "/by-hand")
    browser.run("register('alice')")
    assert (backend.binding.profile_id, backend.binding.device_name) == ("alice", "Laptop")
    login = browser.run("login()")
    assert (login["outcome"], login["profileId"]) == ("OUTCOME_SUCCEEDED", "alice")
    assert browser.run("register('alice').catch(error => error.name)") == "InvalidStateError"
    browser.run("register('bob')")
    assert backend.binding.profile_id == "bob"


def base64_of(data):
    return base64.b64encode(data).decode()
