"""An operator's browser that has passkeys: it completes the console's forms as the console's script does."""

import json

from .console import PASSWORD, Visitor
from .passkeys import Passkey, base64url

URL = "https://ops.example/console"
ORIGIN = "https://ops.example"


def console_of(rule, operators, **settings):
    """The configuration of a console that takes passkeys."""
    return {"operators": operators, "console_url": URL, "console": {"sign_in": rule}, **settings}


def new_passkey(**options):
    return Passkey(origin=ORIGIN, **options)


def visitor_of(url):
    visitor = Visitor(url)
    visitor.origin = ORIGIN
    return visitor


def options_of(page, action):
    """What the form gives the browser's dialogue."""
    return next(attributes["data-options"] for tag, attributes in page.tags if attributes.get("action") == action and tag == "form")


def use(visitor, page, passkey, *, fields=None, **changes):
    """Sends the form for a passkey. `fields` replace the form's, `changes` the passkey's part."""
    action = "/console/sign-in/passkey"
    proof = passkey.get(options_of(page, action), **changes)
    answer = {
        "credential": proof.credential_id,
        "authenticator": proof.authenticator_data,
        "client": proof.client_data_json,
        "signature": proof.signature,
        "handle": proof.user_handle,
    }
    answer = {name: base64url(value) for name, value in answer.items()} | (fields or {})
    return visitor.post(page.form(action), **answer)


def add(visitor, passkey, name="Key", *, page=None):
    action = "/console/account/passkeys/add"
    page = page or visitor.open("/console/account")
    made = passkey.create(json.dumps(json.loads(options_of(page, action))))
    return visitor.post(
        page.form(action), name=name, attestation=base64url(made.attestation_object), client=base64url(made.client_data_json)
    )


def enrolled(url, name, password=PASSWORD):
    """A visitor that signed in by the password, and added a first passkey."""
    visitor, passkey = visitor_of(url), new_passkey()
    page = visitor.sign_in(name, password)
    assert page.status == 200, page.text
    page = add(visitor, passkey)
    assert page.status == 200, page.text
    return visitor, passkey
