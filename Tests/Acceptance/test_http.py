"""The HTTP addresses: published keys, health, and what strangers may not do there. Stock verifiers follow a rotation of keys."""

import contextlib
import email.utils
import json
import re
import signal
import socket
import ssl
import time

import jwt
import pytest

from support import apache, http2
from support.caller import new_caller
from support.certificates import Authority
from support.configuration import BAD_CONFIGURATION
from support.credentials import Key, caller_with
from support.http import address_of, connected, read_to_end, request, trusting
from support.phone import Phone
from support.server import Server, run, run_to_end
from support.stubs import tokens_pb2

KEYS = "/.well-known/jwks.json"
DISCOVERY = "/.well-known/openid-configuration"
LOCAL = ["--http", "127.0.0.1:0"]

UNAVAILABLE_EXIT = 69
#: The bounds of the service: bytes of a head, connections of one client, seconds for a head and for a TLS handshake.
HEAD_BYTES = 8 << 10
#: Within which a new key signs, and more.
ROTATION_SECONDS = 120
#: Beyond a bound in seconds, because the machine may be busy.
SLACK_SECONDS = 10


def key_id(token):
    return jwt.get_unverified_header(token)["kid"]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with HTTP, which these tests share if they do not change it."""
    server = Server(tmp_path_factory.mktemp("http") / "data", arguments=LOCAL, http=1)
    yield server
    server.close()


# What it serves


def test_the_keys_are_those_of_get_signing_keys(served):
    answer = request(served.urls[0], KEYS)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/jwk-set+json"
    assert answer.text == new_caller(served).tokens.GetSigningKeys(tokens_pb2.GetSigningKeysRequest()).jwk_set
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert abs(email.utils.parsedate_to_datetime(answer.headers["date"]).timestamp() - time.time()) < 30
    head = request(served.urls[0], KEYS, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) == len(answer.body)


def test_the_discovery_document_names_the_keys_by_the_host_that_was_asked(served):
    answer = request(served.urls[0], DISCOVERY)
    document = json.loads(answer.body)
    assert document["issuer"] == "touchstone"
    assert document["jwks_uri"] == served.urls[0] + KEYS
    assert document["id_token_signing_alg_values_supported"] == ["ES256"]
    assert document["subject_types_supported"] == ["public"]
    assert answer.headers["content-type"] == "application/json"
    # No cache may hand one client's host to another.
    assert answer.headers["cache-control"] == "no-store"
    assert request(served.urls[0], DISCOVERY, headers={"Host": "a/b"}).status == 400


def test_an_issuer_that_is_a_url_says_where_the_keys_are(start):
    server = start(configuration={"issuer": "https://login.example.org/auth/"}, arguments=LOCAL, http=1)
    answer = request(server.urls[0], DISCOVERY, headers={"Host": "elsewhere.example"})
    document = json.loads(answer.body)
    assert document["issuer"] == "https://login.example.org/auth/"
    assert document["jwks_uri"] == f"https://login.example.org/auth{KEYS}"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert request(server.urls[0], DISCOVERY, headers={"If-None-Match": answer.headers["etag"]}).status == 304


def test_the_discovery_document_has_what_openid_connect_requires_and_its_endpoints_refuse(served):
    """OpenID Connect Discovery 1.0 §3. A client that would send people there is told why it cannot."""
    url = served.urls[0]
    document = json.loads(request(url, DISCOVERY).body)
    required = {"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "response_types_supported"}
    required |= {"subject_types_supported", "id_token_signing_alg_values_supported"}
    assert required <= document.keys()
    assert all(document.values())
    path = document["authorization_endpoint"].removeprefix(url)
    asked = request(url, path)
    assert (asked.status, asked.text.split(":")[0]) == (400, "unsupported_response_type")
    answer = request(url, document["token_endpoint"].removeprefix(url), "POST", body=b"grant_type=client_credentials")
    assert (answer.status, json.loads(answer.body)["error"]) == (400, "unsupported_grant_type")


def test_health_and_what_there_is_not(served):
    url = served.urls[0]
    assert (request(url, "/livez").status, request(url, "/livez").text) == (200, "alive\n")
    assert (request(url, "/readyz").status, request(url, "/readyz").text) == (200, "serving\n")
    for path in ("/", "/livez/", "/.well-known/", "/%6Civez", "/.well-known/../livez", "*"):
        assert request(url, path).status == 404, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"):
        answer = request(url, KEYS, method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD"), method


@pytest.mark.parametrize(("host", "status"), [("localhost:9090", 200), ("evil.example:9090", 403), ("[evil.example", 400)])
def test_a_name_of_another_site_that_leads_to_this_machine_gets_no_metrics(served, host, status):
    answer = request(served.urls[0], "/metrics", headers={"Host": host})
    assert answer.status == status
    assert ("touchstone_build_info" in answer.text) == (status == 200)
    # Health and keys are no secret.
    assert request(served.urls[0], "/readyz", headers={"Host": host}).status == (400 if status == 400 else 200)


def test_metrics_at_the_name_that_the_configuration_has(start):
    name, address = socket.gethostname(), ""
    with contextlib.suppress(OSError):
        address = socket.gethostbyname(name)
    if not address.startswith("127."):
        pytest.skip("this machine's name leads to no loopback address")
    server = start(configuration={"http": f"{name}:0"}, http=1)
    assert request(server.urls[0], "/metrics", headers={"Host": f"{name.upper()}:80"}).status == 200
    assert request(server.urls[0], "/metrics", headers={"Host": "evil.example"}).status == 403


def test_the_parts_have_addresses_of_their_own(start, tmp_path):
    socket_path = tmp_path / "operators.sock"
    server = start(
        configuration={"http": {"public": "127.0.0.1:0", "operators": f"unix:{socket_path}"}}, http=2
    )
    public, operators = server.urls
    assert operators == f"http://unix:{socket_path}"
    assert socket_path.stat().st_mode & 0o777 == 0o600
    assert request(public, KEYS).status == request(public, "/readyz").status == 200
    assert request(public, "/metrics").status == 404
    assert by_unix_socket(socket_path, "/readyz").startswith(b"HTTP/1.1 200 ")
    assert by_unix_socket(socket_path, KEYS).startswith(b"HTTP/1.1 404 ")
    server.terminate()
    assert not socket_path.exists()


def by_unix_socket(path, target):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        return read_to_end(connection)


# Where it may be


@pytest.mark.parametrize(
    ("addresses", "complaint"),
    [
        ("0.0.0.0:0", "http 0.0.0.0:0: is reached from beyond this machine, where metrics need an address of their own"),
        ({"public": "0.0.0.0:0"}, "http.public 0.0.0.0:0: is reached from beyond this machine: use tls"),
        ({"operators": "[::]:0"}, "http.operators [::]:0: is reached from beyond this machine: use tls"),
    ],
)
def test_beyond_this_machine_it_is_not_in_plaintext_nor_for_all(tmp_path, addresses, complaint):
    configuration = tmp_path / "touchstone.yaml"
    configuration.write_text(f"http: {json.dumps(addresses)}\n")
    ended = run_to_end(tmp_path / "data", arguments=["--config", configuration])
    assert (ended.returncode, ended.stdout) == (BAD_CONFIGURATION, "")
    (line,) = ended.stderr.splitlines()
    assert complaint in line
    assert not (tmp_path / "data").exists()


def test_an_address_in_use_is_one_line_and_nothing_is_served(start, served):
    taken = served.urls[0].removeprefix("http://")
    ended = run_to_end(served.data_directory.with_name("other"), arguments=["--http", taken])
    assert (ended.returncode, ended.stdout) == (UNAVAILABLE_EXIT, "")
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("touchstone: ")]
    assert line == f"touchstone: cannot listen on {taken}: bind {taken}: Address already in use"
    assert "serving" not in ended.stderr


class Installation:
    """A service that other machines reach, over TLS."""

    def __init__(self, directory, start):
        self.authority = Authority(directory)
        self.certificate = self.authority.issue_server()
        self.key = Key()
        self.server = start(
            configuration={
                "tls": {
                    "certificate": str(self.certificate.file),
                    "key": str(self.certificate.key_file),
                    "client_authorities": str(self.authority.file),
                    "client_certificates": "required",
                },
                "callers": [{"name": "shop", "applications": ["shop", "wallet"], "methods": "*", "dns": "shop.example.org"}],
                "http": {"public": "0.0.0.0:0", "operators": "127.0.0.1:0"},
            },
            http=2,
        )
        self.public, self.operators = self.server.urls

    def caller(self, application="shop"):
        certificate = self.authority.issue("client", hosts=["shop.example.org"])
        return caller_with(self.server.channel(authority=self.authority, certificate=certificate), application)

    def served_certificate(self, address):
        with socket.create_connection(address, timeout=30) as connection:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2", "http/1.1"])
            with context.wrap_socket(connection) as secure:
                return ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True)), secure.selected_alpn_protocol()


@pytest.fixture
def installed(tmp_path, start):
    return Installation(tmp_path, start)


def test_beyond_this_machine_it_speaks_tls_with_the_services_certificate(installed):
    """Without a certificate of the client's own, which probes and verifiers do not have."""
    assert installed.public.startswith("https://0.0.0.0:")
    assert installed.operators.startswith("http://127.0.0.1:")
    assert request(installed.public, KEYS, authority=installed.authority).status == 200
    assert request(installed.public, "/metrics", authority=installed.authority).status == 404
    metrics = request(installed.operators, "/metrics")
    assert request(installed.operators, "/metrics", headers={"Host": "evil.example"}).status == 403
    assert (metrics.status, metrics.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "\ntouchstone_build_info{" in metrics.text and 'version="unknown"' not in metrics.text
    document = json.loads(request(installed.public, DISCOVERY, authority=installed.authority).body)
    assert document["jwks_uri"].startswith("https://127.0.0.1:")
    assert installed.served_certificate(address_of(installed.public))[1] == "http/1.1"
    with connected(installed.public) as plaintext:
        plaintext.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        assert not read_to_end(plaintext).startswith(b"HTTP/")
    context = trusting(installed.authority)
    context.set_alpn_protocols(["h2"])
    with connected(installed.public) as connection, pytest.raises(ssl.SSLError):
        context.wrap_socket(connection, server_hostname="localhost")


def test_a_reload_takes_the_certificate_for_both_ports_or_for_none(installed):
    def certificates():
        grpc_host, grpc_port = installed.server.address.rsplit(":", 1)
        return (
            installed.served_certificate((grpc_host, int(grpc_port)))[0],
            installed.served_certificate(address_of(installed.public))[0],
        )

    def leaf():
        return installed.certificate.pem.decode()

    first = leaf()
    assert certificates() == (first, first)
    installed.authority.issue_server()
    installed.server.reload()
    second = leaf()
    assert first != second
    assert certificates() == (second, second)
    key = installed.certificate.key_pem
    installed.authority.issue_server()
    installed.certificate.key_file.write_bytes(key)
    installed.server.process.send_signal(signal.SIGHUP)
    installed.server.next_error("configuration refused, nothing changed")
    assert certificates() == (second, second)


# Health that changes


def serving(server):
    return re.search(r"(?m)^touchstone_serving (\d)$", request(server.urls[0], "/metrics").text)[1]


def test_readiness_goes_before_the_service_does(start):
    server = start(arguments=LOCAL, http=1)
    with http2.Client(server.address) as client:
        # A call that has begun and not ended keeps the service there while it drains, until this client goes.
        client.send_headers("/touchstone.v1.TokenService/GetSigningKeys")
        client.send_headers("/touchstone.v1.TokenService/GetSigningKeys", ("grpc-timeout", "1m"))
        client.answer()
        assert (request(server.urls[0], "/readyz").status, serving(server)) == (200, "1")
        server.process.send_signal(signal.SIGTERM)
        server.next_error("not serving")
        assert request(server.urls[0], "/readyz").status == 503
        # So does the metric, whose page is made once a second.
        deadline = time.monotonic() + SLACK_SECONDS
        while serving(server) != "0":
            assert time.monotonic() < deadline
    server.ends_with(0)


# What strangers may not do


def raw(url, data):
    with connected(url) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        return read_to_end(connection)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nCookie: " + b"a" * 2 * HEAD_BYTES, 431),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + b"a" * 1_000_000, 413),
        (bytes(range(256)) * 100, 400),
    ],
    ids=range(3),
)
def test_what_is_too_large_or_no_http_is_refused(served, data, status):
    assert raw(served.urls[0], data).startswith(f"HTTP/1.1 {status} ".encode())
    assert request(served.urls[0], "/livez").status == 200


# Stock verifiers


@pytest.fixture
def no_proxy(monkeypatch):
    """The keys are fetched from this machine, whatever proxy it has for others."""
    monkeypatch.setenv("no_proxy", "*")


def rotate(server, after):
    done = run("keys", "rotate", server.data_directory / "keys", "signing", "--after", after)
    assert (done.returncode, done.stderr) == (0, "")
    server.reload()


def follow_a_rotation(server, caller, verify):
    """Every token is verified: those of the old key, those of the new one, and again those of the old one."""
    phone = Phone()
    caller.bind(phone)
    old = caller.login(phone).token
    verify(old)
    rotate(server, "2s")

    since_rotation = 0
    end = time.monotonic() + ROTATION_SECONDS
    while since_rotation < 5:
        assert time.monotonic() < end
        token = caller.login(phone).token
        verify(token)
        verify(old)
        since_rotation += key_id(token) != key_id(old)


def test_pyjwt_refuses_no_token_during_a_rotation(start, no_proxy):
    server = start(arguments=LOCAL, http=1)
    caller = new_caller(server)
    # It fetches the keys again within a shorter time than there is between their publication and their use, as
    # verifiers do whose operators rotate with `--after 1h`.
    client = jwt.PyJWKClient(server.urls[0] + KEYS, lifespan=1)

    def verify(token):
        key = client.get_signing_key_from_jwt(token)
        claims = jwt.decode(token, key, algorithms=["ES256"], audience=caller.application_id, issuer="touchstone")
        assert claims["acr"] == "login"

    follow_a_rotation(server, caller, verify)


@pytest.mark.skipif(not apache.IS_INSTALLED, reason="deploy/install-packages test installs Apache and mod_auth_openidc")
def test_apache_refuses_no_token_during_a_rotation(installed, public_directory):
    caller = installed.caller()
    keys = installed.public.replace("0.0.0.0", "127.0.0.1") + KEYS
    with apache.serving(public_directory, keys, installed.authority, caller.application_id) as address:

        def fetch(**headers):
            return request(f"http://{address}", "/index.txt", headers=headers)

        def verify(token):
            answer = fetch(Authorization=f"Bearer {token}")
            assert (answer.status, answer.text) == (200, "secret\n"), (public_directory / "error.log").read_text()

        follow_a_rotation(installed.server, caller, verify)
        assert fetch().status == 401
        other, phone = installed.caller("wallet"), Phone()
        other.bind(phone)
        assert fetch(Authorization=f"Bearer {other.login(phone).token}").status in (401, 403)
