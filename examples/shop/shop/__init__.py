"""A shop that logs people in by password, by Touch ID and by passkey, and takes payments by both. Copy it."""

from pathlib import Path

from flask import Flask, abort, request

from . import accounts, pages, relay


def create_app(directory, touchstone, kit, key):
    """`directory`: where the accounts are kept. `touchstone`: the service. `kit`: touchstone.min.js. `key`: signs the session cookie."""
    app = Flask(__name__)
    app.config.update(
        DATABASE=Path(directory) / "shop.sqlite",
        KIT=Path(kit),
        SECRET_KEY=key,
        MAX_CONTENT_LENGTH=96 * 1024,  # as much as the service takes
        SESSION_COOKIE_SAMESITE="Strict",
    )
    app.extensions["touchstone"] = touchstone
    app.before_request(refuse_other_sites)
    app.after_request(harden)
    app.teardown_appcontext(accounts.close)
    app.register_blueprint(pages.blueprint)
    app.register_blueprint(relay.blueprint, url_prefix="/touchstone")
    accounts.prepare(app)
    return app


def refuse_other_sites():
    """A form or script of another site may act with this site's cookie in old browsers. Apps send no Origin."""
    origin = request.headers.get("Origin")
    if request.method == "POST" and origin not in (None, request.host_url.rstrip("/")):
        abort(403)


def harden(response):
    response.headers["Content-Security-Policy"] = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    response.headers["Cache-Control"] = "no-store"
    return response
