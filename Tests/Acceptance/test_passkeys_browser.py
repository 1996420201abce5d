"""A web page in Chromium registers a passkey, logs in without a user name, and pays; as docs/ATTESTATION.md says (R46, R47)."""

import http.server
import json
import threading
from pathlib import Path

import pytest

from support.browser import CHROMIUM, Browser
from support.caller import COFFEE, new_caller
from support.passkeys import PasskeyCaller, from_base64url
from support.stubs import bindings_pb2, evaluation_pb2

APP = "shop"
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

PAGE = """<!doctype html><title>Shop</title><script>
async function post(path, body) {
  const answer = await fetch(path, {method: "POST", body: JSON.stringify(body)});
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
async function register(profile) {
  const passkeyOptions = await post("/register", {profile});
  DOCUMENTED_REGISTRATION
}
async function prove(policy) {
  const passkeyOptions = await post("/begin", {policy});
  DOCUMENTED_LOGIN
  return post("/submit", {rawId, ...response});
}
</script>"""


def documented_page():
    """With the very lines that the documentation tells an app's developer."""
    text = (Path(__file__).parents[2] / "docs" / "ATTESTATION.md").read_text()
    blocks = text.split("```js\n")[1:]
    registration, login = (block.split("```")[0] for block in blocks)
    return PAGE.replace("DOCUMENTED_REGISTRATION", registration).replace("DOCUMENTED_LOGIN", login).encode()


class Backend(http.server.ThreadingHTTPServer):
    """The shop's backend: the page on one side, Touchstone on the other."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.server_port}"
        self.page = documented_page()
        self.shop = None
        self.begun = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, path, body):
        if path == "/register":
            self.begun = self.shop.begin_registration(body["profile"])
            return json.loads(json.dumps(self.begun.passkey_options))
        if path == "/passkeys":
            registration = bindings_pb2.PasskeyRegistration(
                attestation_object=from_base64url(body["attestationObject"]),
                client_data_json=from_base64url(body["clientDataJSON"]),
                transports=body["transports"],
            )
            self.binding = self.shop.complete(self.begun, registration, body["name"]).binding
            return {}
        if path == "/begin":
            transaction = COFFEE if body["policy"] == "payment" else None
            self.begun = self.shop.begin(body["policy"], transaction=transaction)
            return self.begun.passkey_options
        proof = evaluation_pb2.PasskeyProof(
            credential_id=from_base64url(body["rawId"]),
            authenticator_data=from_base64url(body["authenticatorData"]),
            client_data_json=from_base64url(body["clientDataJSON"]),
            signature=from_base64url(body["signature"]),
            user_handle=from_base64url(body["userHandle"]),
        )
        answer = self.shop.submit(self.begun, proof)
        return {"outcome": answer.outcome, "profile": answer.profile_id, "token": answer.token}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send(self.server.page, "text/html")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send(json.dumps(self.server.answer(self.path, body)).encode(), "application/json")

    def send(self, content, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """A test prints what went wrong, and no more."""


@pytest.fixture
def backend(start):
    backend = Backend()
    passkeys = {"rp_id": "localhost", "origins": [backend.origin]}
    server = start(configuration={"applications": {APP: {"passkeys": passkeys}}})
    backend.shop = PasskeyCaller(new_caller(server, APP))
    yield backend
    backend.shutdown()
    backend.server_close()


@pytest.fixture
def browser(tmp_path, backend):
    browser = Browser(tmp_path / "chromium")
    browser.add_authenticator()
    browser.open(backend.origin)
    yield browser
    browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_page_registers_logs_in_and_pays(backend, browser):
    browser.run("register('alice')")
    assert backend.binding.credential == bindings_pb2.CREDENTIAL_KIND_PASSKEY
    assert (backend.binding.profile_id, backend.binding.device_name) == ("alice", "Laptop")
    assert list(backend.binding.passkey.transports) == ["internal"]

    login = browser.run("prove('login')")
    assert (login["outcome"], login["profile"]) == (SUCCEEDED, "alice")

    payment = browser.run("prove('payment')")
    assert payment["outcome"] == SUCCEEDED
    assert backend.shop.caller.consume(payment["token"]).consumed

    # Its authenticator has one already, and makes no second one for this profile; it does for another.
    refusal = browser.run("register('alice').catch(error => error.name)")
    assert refusal == "InvalidStateError"
    browser.run("register('bob')")
    assert backend.binding.profile_id == "bob"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_page_of_another_origin(backend, browser):
    """It is the relying party's, too, and not among the application's origins."""
    browser.run("register('alice')")
    other = Backend()
    other.shop = backend.shop
    browser.open(other.origin)
    login = browser.run("prove('login')")
    other.shutdown()
    other.server_close()
    assert login["outcome"] == evaluation_pb2.OUTCOME_TRY_AGAIN
    assert backend.shop.caller.events()[-1].details["reason"] == "ORIGIN_DIFFERS"
