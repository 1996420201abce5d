"""Passes the kits' calls on to Touchstone, and adds what a phone or a page must not say itself."""

import json

from flask import Blueprint, abort, current_app, jsonify, request
from werkzeug.exceptions import HTTPException

from . import accounts
from .touchstone import TouchstoneError

blueprint = Blueprint("touchstone", __name__)

REASONS = {"login": "Log in to the shop", "payment": "Pay in the shop"}


#: Connect's names, which the kits read.
CODES = {400: "invalid_argument", 401: "failed_precondition", 403: "permission_denied", 404: "not_found", 409: "failed_precondition"}


@blueprint.errorhandler(HTTPException)
def refused(error):
    details = [{"debug": {"reason": "NOT_LOGGED_IN"}}] if error.code == 401 else []
    return jsonify(code=CODES.get(error.code, "unknown"), message=error.description, details=details), error.code


@blueprint.errorhandler(TouchstoneError)
def unanswered(error):
    return jsonify(error.args[0]), 502


def touchstone():
    return current_app.extensions["touchstone"]


@blueprint.post("/<method>")
def relay(method):
    relayed = METHODS.get(method) or abort(404)
    body = request.get_json()
    if not isinstance(body, dict):
        abort(400)
    status, answer = relayed({plain(name): value for name, value in body.items()})
    return jsonify(answer), status


#: What a phone or a page may say itself. This shop says the rest: a page must not vouch for its own login.
ALLOWED = {
    "BeginBinding": {"deviceId", "posture"},
    "CompleteBinding": {"ticket", "deviceName", "keys", "posture", "replaceExisting", "passkey", "appAttest"},
    "BeginEvaluation": {"policy", "bindingId", "posture"},
    "SubmitAttempt": {"evaluation", "key", "passcode", "gesture", "passkey", "report", "posture", "appAssertion"},
    "RevokeBinding": set(),
    "InvalidateEvaluation": {"evaluation"},
}


def passed(service, method, body, **added):
    """The service's answer as it is, errors too: the kits read both."""
    allowed = {name: value for name, value in body.items() if name in ALLOWED[method]}
    languages = request.headers.get("Accept-Language")
    return touchstone().post(service, method, allowed | {"applicationId": "shop"} | added, languages)


def part(body, name, kind):
    """A field of the body, if it has this type."""
    value = body.get(name)
    return value if isinstance(value, kind) else abort(400)


def plain(name):
    """Protobuf's JSON has a field by either name: device_id is deviceId."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def logged_in():
    return accounts.person() or abort(401)


def begin_binding(body):
    person, primary = logged_in(), accounts.primary()
    if not primary:
        # As the service refuses a login that is too old: the kit says "log in".
        return 400, {"code": "failed_precondition", "details": [{"debug": {"reason": "PRIMARY_AUTHENTICATION_TOO_OLD"}}]}
    added = {"profileId": person["profile_id"], "primary": primary}
    if "passkey" in body:
        is_conditional = part(body, "passkey", dict).get("conditional") is True
        added["passkey"] = {"conditional": is_conditional, "userName": person["email"]}
    status, answer = passed("BindingService", "BeginBinding", body, **added)
    if ticket := answer.get("ticket"):
        accounts.keep_ticket(ticket)
    if options := answer.get("passkeyOptions"):
        accounts.keep_user_id(person, json.loads(options)["user"]["id"])
    return status, answer


def complete_binding(body):
    """Not another session's ticket: it may be another person's, or from before a recovery."""
    if not accounts.has_ticket(part(body, "ticket", str)):
        abort(403)
    status, answer = passed("BindingService", "CompleteBinding", body)
    if status == 200 and not accounts.has_ticket(body["ticket"]):
        revoke(answer["binding"], "account recovery")  # a recovery ended this session meanwhile
        abort(403)
    return status, answer


def begin_evaluation(body):
    policy = part(body, "policy", str)
    if policy not in REASONS:
        abort(400)
    accounts.keep_paying(None)
    terms = {"localizedReason": REASONS[policy]}
    if policy == "payment":
        # The order as this shop knows it, whatever the phone says.
        reference = part(part(body, "transaction", dict), "reference", str)
        order = accounts.order_of(logged_in()["profile_id"], reference) or abort(404)
        if order["paid_by"]:
            abort(409)
        accounts.keep_paying(order["reference"])
        terms["transaction"] = accounts.transaction_of(order)
        if "bindingId" not in body:
            terms["profileId"] = order["profile_id"]
    return passed("EvaluationService", "BeginEvaluation", body, **terms)


def submit_attempt(body):
    status, answer = passed("EvaluationService", "SubmitAttempt", body)
    if status == 200 and answer.get("outcome") == "OUTCOME_SUCCEEDED":
        if not accounts.account_of(profile_id=answer["profileId"]):
            abort(403)
        if reference := accounts.paying():
            pay(reference, answer["token"])
        else:
            claims = touchstone().call("TokenService", "IntrospectToken", {"token": answer["token"]})["claims"]
            # An approved payment is no login.
            if claims["policy"] != "login":
                abort(403)
            accounts.log_in(answer["profileId"], "touchstone")
        # The session's cookie is what counts here; the token stays in this backend.
        answer.pop("token")
    return status, answer


def pay(reference, token):
    """The token serves once, and for this order alone."""
    order = accounts.order_of(logged_in()["profile_id"], reference)
    terms = {"token": token, "transaction": accounts.transaction_of(order)}
    consumed = touchstone().call("TokenService", "ConsumeToken", terms)
    if not consumed.get("consumed") or consumed["claims"]["profileId"] != order["profile_id"]:
        abort(403)
    accounts.keep_paying(None)
    if not accounts.paid(order, " ".join(consumed["claims"]["methods"])):
        abort(409)


def revoke_binding(body):
    binding_id = body.get("bindingId")
    if binding_id not in [binding["bindingId"] for binding in bindings_of(logged_in())]:
        abort(404)
    return passed("BindingService", "RevokeBinding", {}, bindingId=binding_id, reason="by the person")


def invalidate_evaluation(body):
    return passed("EvaluationService", "InvalidateEvaluation", body)


def accepted_passkeys(_):
    """For the browser's password manager, which then drops the others."""
    person = logged_in()
    passkeys = [binding["passkey"]["credentialId"] for binding in bindings_of(person) if "passkey" in binding]
    return 200, {"rp_id": request.host.partition(":")[0], "user_id": person["user_id"] or "", "credential_ids": passkeys}


def revoke_all(account):
    for binding in bindings_of(account):
        revoke(binding, "account recovery")


def revoke(binding, reason):
    touchstone().call("BindingService", "RevokeBinding", {"bindingId": binding["bindingId"], "reason": reason})


def bindings_of(person):
    return touchstone().call("BindingService", "ListBindings", {"profileId": person["profile_id"]}).get("bindings", [])


METHODS = {
    "BeginBinding": begin_binding,
    "CompleteBinding": complete_binding,
    "BeginEvaluation": begin_evaluation,
    "SubmitAttempt": submit_attempt,
    "RevokeBinding": revoke_binding,
    "InvalidateEvaluation": invalidate_evaluation,
    "AcceptedPasskeys": accepted_passkeys,
}
