"""What a person sees: log in, the goods, an order, the devices, a forgotten password."""

import sys

from flask import Blueprint, abort, current_app, flash, redirect, render_template, request, send_file, url_for

from . import accounts, relay
from .touchstone import TouchstoneError

blueprint = Blueprint("pages", __name__)


@blueprint.app_context_processor
def known():
    return {"person": accounts.person()}


@blueprint.app_errorhandler(accounts.Refused)
def refused(refusal):
    flash(str(refusal))
    return redirect(url_for("pages.forgot") if request.endpoint == "pages.recover" else request.path)


@blueprint.errorhandler(TouchstoneError)
def unanswered(_):
    return render_template("layout.html", title="Please try again later"), 503


@blueprint.errorhandler(401)
def unknown(_):
    return redirect(url_for("pages.log_in"))


@blueprint.get("/kit.js")
def kit():
    return send_file(current_app.config["KIT"], mimetype="text/javascript")


@blueprint.get("/")
def home():
    person = accounts.person()
    orders = accounts.orders_of(person["profile_id"]) if person else []
    return render_template("home.html", goods=accounts.GOODS, orders=orders)


@blueprint.route("/signup", methods=["GET", "POST"])
def sign_up():
    if request.method == "GET":
        return render_template("password.html", title="Sign up", action="Sign up")
    accounts.log_in(accounts.sign_up(request.form["email"], request.form["password"]), "password")
    return redirect(url_for("pages.devices"))


@blueprint.route("/login", methods=["GET", "POST"])
def log_in():
    if request.method == "GET":
        return render_template("login.html")
    account = accounts.check_password(request.form["email"], request.form["password"])
    accounts.log_in(account["profile_id"], "password")
    return redirect(url_for("pages.devices"))


@blueprint.post("/logout")
def log_out():
    accounts.log_out()
    return redirect(url_for("pages.home"))


@blueprint.get("/devices")
def devices():
    """The phones and passkeys that log this person in."""
    person = accounts.person() or abort(401)
    return render_template("devices.html", bindings=relay.bindings_of(person), may_add=accounts.primary() is not None)


@blueprint.post("/orders")
def order():
    person = accounts.person() or abort(401)
    article = request.form.get("article")
    if article not in accounts.GOODS:
        abort(400)
    reference = accounts.order(person["profile_id"], article)
    if request.accept_mimetypes.best == "application/json":  # the app
        return accounts.transaction_of(accounts.order_of(person["profile_id"], reference))
    return redirect(url_for("pages.pay", reference=reference))


@blueprint.get("/orders/<reference>")
def pay(reference):
    person = accounts.person() or abort(401)
    found = accounts.order_of(person["profile_id"], reference) or abort(404)
    return render_template("pay.html", order=found, transaction=accounts.transaction_of(found))


@blueprint.route("/forgot", methods=["GET", "POST"])
def forgot():
    if request.method == "GET":
        return render_template("forgot.html")
    if code := accounts.new_code(request.form["email"]):
        # In place of the e-mail that a real shop sends.
        print(f"Code for {request.form['email']}: {code}", file=sys.stderr, flush=True)
    return render_template("password.html", title="A new password", action="Set it", path=url_for("pages.recover"), with_code=True)


@blueprint.post("/recover")
def recover():
    """The person lost the password, and perhaps the phone: what logs in now is the new password alone."""
    password = accounts.hashed(request.form["password"])
    account = accounts.check_code(request.form["email"], request.form["code"])
    # First, so that no thief adds a device while the others are revoked.
    accounts.set_password(account, password)
    relay.revoke_all(account)
    # Last, because the code must still serve if Touchstone does not answer.
    accounts.spend_code(account)
    accounts.log_in(account["profile_id"], "recovery")
    return redirect(url_for("pages.devices"))
