"""An identity provider over TLS that tells the truth or lies, as a test says: discovery, keys, codes and ID tokens."""

import base64
import hashlib
import hmac
import http.server
import json
import ssl
import threading
import time
import urllib.parse
import uuid

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

CLIENT_ID = "touchstone"
CLIENT_SECRET = "a secret & more: %"


def _rsa(kid):
    return kid, "RS256", rsa.generate_private_key(65537, 2048), RSAAlgorithm


def _ec(kid):
    return kid, "ES256", ec.generate_private_key(ec.SECP256R1()), ECAlgorithm


def _with_secret(claims, header, secret):
    """Signed by HMAC, with bytes that PyJWT does not take for a secret."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims)]
    signature = hmac.digest(secret, b".".join(parts), "sha256")
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


class Provider:
    """Serves until it is closed. A test changes `claims`, `key`, `answers` and the rest as it likes."""

    def __init__(self, authority):
        certificate = authority.issue_server("provider")
        self.keys = [_rsa("1")]
        #: Of the next token; `None` takes a claim away.
        self.claims = {"groups": ["support-staff"]}
        #: Path to (status, body) in place of the right answer, and what follows the head before it.
        self.answers = {}
        self.headers = {}
        #: (header, key) in place of those of the first key.
        self.signature = None
        self.requests = []
        self._codes = {}
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                provider._answer(self, None)

            def do_POST(self):
                provider._answer(self, self.rfile.read(int(self.headers["Content-Length"])).decode())

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file, certificate.key_file)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.issuer = f"https://localhost:{self._server.server_port}/realm"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def rotate(self, elliptic=False):
        self.keys = [(_ec if elliptic else _rsa)(uuid.uuid4().hex)]

    def configuration(self, directory, **settings):
        secret = directory / "client-secret"
        secret.touch(mode=0o600)
        secret.write_text(CLIENT_SECRET + "\n")
        return {
            "issuer": self.issuer,
            "client_id": CLIENT_ID,
            "client_secret_file": str(secret),
            "authorities": str(directory / "authority.pem"),
            "private_addresses": ["127.0.0.0/8"],
            "roles": {"read": ["readers"], "support": ["support-staff"], "admin": ["admins"]},
            "applications": "*",
        } | settings

    def authorize(self, location):
        """What the person's browser comes back with, after they signed in here."""
        parts = urllib.parse.urlsplit(location)
        asked = dict(urllib.parse.parse_qsl(parts.query))
        assert location.startswith(f"{self.issuer}/authorize?"), location
        assert asked["response_type"] == "code" and asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256" and "openid" in asked["scope"].split()
        code = uuid.uuid4().hex
        self._codes[code] = asked
        return asked["redirect_uri"], {"code": code, "state": asked["state"], "iss": self.issuer}

    def _answer(self, handler, body):
        path = urllib.parse.urlsplit(handler.path).path.removeprefix("/realm")
        self.requests.append(path)
        status, document = self.answers.get(path) or self._document(path, handler, body)
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        handler.send_response(status)
        for name, value in ({"Content-Length": str(len(data))} | self.headers.get(path, {})).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def _document(self, path, handler, body):
        match path:
            case "/.well-known/openid-configuration":
                return 200, {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                }
            case "/keys":
                return 200, {
                    "keys": [
                        json.loads(kind.to_jwk(key.public_key())) | {"kid": kid, "use": "sig", "alg": algorithm}
                        for kid, algorithm, key, kind in self.keys
                    ]
                }
            case "/token":
                return self._token(handler, dict(urllib.parse.parse_qsl(body)))
        return 404, {}

    def _token(self, handler, form):
        pair = base64.b64decode(handler.headers["Authorization"].removeprefix("Basic ")).decode().split(":")
        asked = self._codes.pop(form.get("code"), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if (
            [urllib.parse.unquote_plus(part) for part in pair] != [CLIENT_ID, CLIENT_SECRET]
            or form["grant_type"] != "authorization_code"
            or asked is None
            or asked["redirect_uri"] != form["redirect_uri"]
            or asked["code_challenge"] != challenge
        ):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "anna-1",
            "nonce": asked["nonce"],
            "iat": now,
            "exp": now + 300,
        } | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        kid, algorithm, key, _ = self.keys[0]
        header, key = self.signature or ({"alg": algorithm, "kid": kid}, key)
        token = _with_secret(claims, header, key) if isinstance(key, bytes) else jwt.encode(
            claims, key, algorithm=header["alg"], headers=header
        )
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": token}
