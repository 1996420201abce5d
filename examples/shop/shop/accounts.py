"""Accounts, sessions and orders. The shop's own, without Touchstone."""

import hashlib
import re
import secrets
import sqlite3
import time
import uuid
from datetime import UTC, datetime

from flask import current_app, g, session
from werkzeug.security import check_password_hash, generate_password_hash

#: After so many wrong passwords or codes, an account waits.
MOST_FAILURES, WAIT_SECONDS = 5, 15 * 60
#: How long a code is valid, and how soon another one may be sent.
CODE_SECONDS, NEXT_CODE_SECONDS = 10 * 60, 60
SESSION_SECONDS = 30 * 24 * 60 * 60
LEAST_PASSWORD, LONGEST_TEXT = 8, 128

SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
  profile_id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL, user_id TEXT,
  failures INTEGER NOT NULL DEFAULT 0, failed_at REAL NOT NULL DEFAULT 0, code TEXT, code_at REAL);
CREATE TABLE IF NOT EXISTS sessions (
  id TEXT PRIMARY KEY, profile_id TEXT NOT NULL, method TEXT NOT NULL, at REAL NOT NULL, ticket TEXT, paying TEXT);
CREATE TABLE IF NOT EXISTS orders (
  reference TEXT PRIMARY KEY, profile_id TEXT NOT NULL, payee TEXT NOT NULL, amount TEXT NOT NULL, currency TEXT NOT NULL, paid_by TEXT);
"""

#: Verified for an unknown address, so that it takes as long as a known one.
NO_PASSWORD = generate_password_hash(secrets.token_hex())


def prepare(app):
    with sqlite3.connect(app.config["DATABASE"]) as database:
        database.executescript(SCHEMA)
    database.close()


def database():
    if "database" not in g:
        g.database = sqlite3.connect(current_app.config["DATABASE"], isolation_level=None)
        g.database.row_factory = sqlite3.Row
    return g.database


def close(_=None):
    if opened := g.pop("database", None):
        opened.close()


class Refused(Exception):
    """A text for the person."""


# Accounts


def sign_up(email, password):
    email = email.strip().lower()
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", email) or len(email) > LONGEST_TEXT:
        raise Refused("That is no e-mail address.")
    row = (str(uuid.uuid4()), email, hashed(password))
    try:
        database().execute("INSERT INTO accounts (profile_id, email, password) VALUES (?, ?, ?)", row)
    except sqlite3.IntegrityError:
        raise Refused("There is an account with this address.") from None
    return row[0]


def hashed(password):
    if not LEAST_PASSWORD <= len(password) <= LONGEST_TEXT:
        raise Refused(f"A password has {LEAST_PASSWORD} to {LONGEST_TEXT} characters.")
    return generate_password_hash(password)


def check_password(email, password):
    """The account that the password opens."""
    return _check(email, lambda account: check_password_hash(account["password"] if account else NO_PASSWORD, password))


def new_code(email):
    """A code to set a new password with. `None`: the address has no account, or got a code a moment ago. The page does not say which."""
    code, now = f"{secrets.randbelow(10**8):08}", time.time()
    found = database().execute(
        "UPDATE accounts SET code = ?, code_at = ? WHERE email = ? AND (code IS NULL OR code_at < ?)",
        (code, now, email.strip().lower(), now - NEXT_CODE_SECONDS),
    )
    return code if found.rowcount else None


def check_code(email, code):
    """The account that the code is for."""

    def is_right(account):
        known = (account and account["code"]) or ""
        is_fresh = bool(known) and time.time() - account["code_at"] < CODE_SECONDS
        return secrets.compare_digest(known.encode(), code.strip().encode()) and is_fresh

    return _check(email, is_right)


def set_password(account, password):
    """Ends every session. The code that `account` was checked with serves until `spend_code`."""
    is_set = database().execute(
        "UPDATE accounts SET password = ? WHERE profile_id = ? AND code = ?", (password, account["profile_id"], account["code"])
    )
    if not is_set.rowcount:
        raise Refused("That code was used meanwhile.")
    database().execute("DELETE FROM sessions WHERE profile_id = ?", (account["profile_id"],))


def spend_code(account):
    database().execute("UPDATE accounts SET code = NULL WHERE profile_id = ?", (account["profile_id"],))


def _check(email, is_right):
    """Counts the attempt before it looks, so that parallel attempts are no more than one after the other."""
    email, now = email.strip().lower(), time.time()
    counted = database().execute(
        """
        UPDATE accounts SET failures = CASE WHEN failed_at < ? THEN 1 ELSE failures + 1 END, failed_at = ?
        WHERE email = ? AND (failures < ? OR failed_at < ?)
        """,
        (now - WAIT_SECONDS, now, email, MOST_FAILURES, now - WAIT_SECONDS),
    )
    account = account_of(email=email)
    if not is_right(account) or not counted.rowcount:
        raise Refused("That is wrong, or was wrong too often.")
    database().execute("UPDATE accounts SET failures = 0 WHERE email = ?", (email,))
    return account


def account_of(**by):
    ((column, value),) = by.items()
    return database().execute(f"SELECT * FROM accounts WHERE {column} = ?", (value,)).fetchone()


def keep_user_id(account, user_id):
    """As passkeys name the person."""
    database().execute("UPDATE accounts SET user_id = ? WHERE profile_id = ?", (user_id, account["profile_id"]))


# Sessions: the cookie has a random id, and the rest is here, so that a logout or a recovery ends a copied cookie, too


def log_in(profile_id, method):
    """`method`: "password", "recovery" or "touchstone"."""
    log_out()
    session["id"] = secrets.token_urlsafe()
    row = (_digest(session["id"]), profile_id, method, time.time())
    database().execute("INSERT INTO sessions (id, profile_id, method, at) VALUES (?, ?, ?, ?)", row)


def log_out():
    database().execute("DELETE FROM sessions WHERE id = ?", (_digest(session.get("id", "")),))
    session.clear()


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _session():
    since = time.time() - SESSION_SECONDS
    key = (_digest(session.get("id", "")), since)
    return database().execute("SELECT * FROM sessions WHERE id = ? AND at > ?", key).fetchone()


def person():
    """The account that is logged in."""
    found = _session()
    return account_of(profile_id=found["profile_id"]) if found else None


def primary():
    """How and when this shop itself logged the person in, for Touchstone. `None`: it did not."""
    found = _session()
    if not found or found["method"] not in ("password", "recovery"):
        return None
    at = datetime.fromtimestamp(found["at"], UTC).isoformat(timespec="seconds")
    return {"method": found["method"], "authenticatedAt": at.replace("+00:00", "Z")}


def keep_ticket(ticket):
    """A ticket serves this session alone."""
    database().execute("UPDATE sessions SET ticket = ? WHERE id = ?", (_digest(ticket), _digest(session["id"])))


def has_ticket(ticket):
    found = _session()
    return found is not None and found["ticket"] == _digest(ticket)


def keep_paying(reference):
    """The order that this session's next success pays; `None`: it is a login."""
    database().execute("UPDATE sessions SET paying = ? WHERE id = ?", (reference, _digest(session.get("id", ""))))


def paying():
    found = _session()
    return found and found["paying"]


# Orders

GOODS = {"coffee": ("Coffee Bar", "3.20"), "bicycle": ("Bicycle Works", "749.00")}


def order(profile_id, article):
    payee, amount = GOODS[article]
    reference = f"order-{uuid.uuid4()}"
    database().execute("INSERT INTO orders VALUES (?, ?, ?, ?, 'EUR', NULL)", (reference, profile_id, payee, amount))
    return reference


def order_of(profile_id, reference):
    return database().execute("SELECT * FROM orders WHERE profile_id = ? AND reference = ?", (profile_id, reference)).fetchone()


def orders_of(profile_id):
    return database().execute("SELECT * FROM orders WHERE profile_id = ? ORDER BY rowid DESC", (profile_id,)).fetchall()


def transaction_of(order):
    """What the person approves."""
    return {name: order[name] for name in ("amount", "currency", "payee", "reference")}


def paid(order, methods):
    """Returns False if it was paid before. Only after True does a shop charge anything."""
    claim = "UPDATE orders SET paid_by = ? WHERE reference = ? AND paid_by IS NULL"
    return database().execute(claim, (methods, order["reference"])).rowcount == 1
