"""Accounts, orders and the person of this session. The shop's own, without Touchstone."""

import secrets
import sqlite3
import time
import uuid
from datetime import UTC, datetime

from flask import current_app, g, session
from werkzeug.security import check_password_hash, generate_password_hash

#: After so many wrong passwords or codes, an account waits.
MOST_FAILURES, WAIT_SECONDS = 5, 15 * 60
CODE_SECONDS = 10 * 60
LEAST_PASSWORD, LONGEST_TEXT = 8, 128

SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
  profile_id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL, user_id TEXT,
  failures INTEGER NOT NULL DEFAULT 0, failed_at REAL NOT NULL DEFAULT 0, code TEXT, code_at REAL);
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
    if "@" not in email or len(email) > LONGEST_TEXT:
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
    """A code to set a new password with. `None`: the address has no account, which nobody is told."""
    code = f"{secrets.randbelow(10**8):08}"
    found = database().execute(
        "UPDATE accounts SET code = ?, code_at = ? WHERE email = ?", (code, time.time(), email.strip().lower())
    )
    return code if found.rowcount else None


def reset_password(email, code, password):
    new = hashed(password)

    def is_right(account):
        known = (account and account["code"]) or ""
        is_fresh = bool(known) and time.time() - account["code_at"] < CODE_SECONDS
        return secrets.compare_digest(known.encode(), code.strip().encode()) and is_fresh

    account = _check(email, is_right)
    database().execute("UPDATE accounts SET password = ?, code = NULL WHERE profile_id = ?", (new, account["profile_id"]))
    return account


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


# The session


def log_in(profile_id, method):
    """`method`: how the person was recognised: "password", or a factor of Touchstone's."""
    session.clear()
    session.update(profile_id=profile_id, method=method, at=time.time())


def person():
    """The account that is logged in."""
    return account_of(profile_id=session["profile_id"]) if "profile_id" in session else None


def primary():
    """How and when this shop itself logged the person in, for Touchstone. `None`: it did not."""
    if session.get("method") not in ("password", "recovery"):
        return None
    at = datetime.fromtimestamp(session["at"], UTC).isoformat(timespec="seconds")
    return {"method": session["method"], "authenticatedAt": at.replace("+00:00", "Z")}


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


def paid(order, factor):
    database().execute("UPDATE orders SET paid_by = ? WHERE reference = ?", (factor, order["reference"]))
