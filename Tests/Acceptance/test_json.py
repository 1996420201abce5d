"""The API as JSON over HTTP/1.1, by Connect's protocol: the same answers, refusals and events as over gRPC, for stock clients."""

import base64
import concurrent.futures
import contextlib
import gzip
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path

import grpc
import pytest
import requests
from google.protobuf import json_format
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from support.caller import new_caller
from support.certificates import Authority
from support.credentials import Key
from support.data_directory import database
from support.http import address_of, connected, read_to_end
from support.phone import Phone, new_key, sign
from support.server import Server
from support.stubs import METHODS, PROTOS, administration_pb2
from test_fields import UNARY, request_of

ROOT = Path(__file__).parents[2]
LOCAL = ["--http", "127.0.0.1:0"]
CALL_SECONDS = 60
MAXIMUM_BODY_BYTES = 96 << 10

#: connectrpc.com/docs/protocol, "Error codes".
STATUSES = {
    "canceled": 499,
    "unknown": 500,
    "invalid_argument": 400,
    "deadline_exceeded": 504,
    "not_found": 404,
    "already_exists": 409,
    "permission_denied": 403,
    "resource_exhausted": 429,
    "failed_precondition": 400,
    "aborted": 409,
    "out_of_range": 400,
    "unimplemented": 501,
    "internal": 500,
    "unavailable": 503,
    "data_loss": 500,
    "unauthenticated": 401,
}


def path_of(method):
    return f"/{METHODS[method].containing_service.full_name}/{method}"


def post(url, method, message, **options):
    """Calls a method. `message`: fields, a message, or bytes as they are."""
    if not isinstance(message, (dict, bytes)):
        message = json_format.MessageToDict(message)
    content = {"data": message} if isinstance(message, bytes) else {"json": message}
    headers = {**({"Content-Type": "application/json"} if isinstance(message, bytes) else {}), **options.pop("headers", {})}
    return requests.post(url + path_of(method), timeout=CALL_SECONDS, headers=headers, **content, **options)


def refusal(answer, code):
    """The body of an error, which is as Connect has it."""
    body = answer.json()
    assert (body["code"], answer.status_code) == (code, STATUSES[code]), body
    assert answer.headers["content-type"] == "application/json"
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    return body


def details_of(body):
    """The details by their types, each the same in both of its forms."""
    found = {}
    for detail in body.get("details", []):
        kind = getattr(error_details_pb2, detail["type"].removeprefix("google.rpc."))
        assert not detail["value"].endswith("=")
        message = kind.FromString(base64.b64decode(detail["value"] + "=="))
        assert json_format.ParseDict(detail["debug"], kind()) == message
        found[kind] = message
    return found


def fields_of(body):
    request = details_of(body).get(error_details_pb2.BadRequest, error_details_pb2.BadRequest())
    return {violation.field: violation.description for violation in request.field_violations}


def reason_of(body):
    return details_of(body)[error_details_pb2.ErrorInfo].reason


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with HTTP for its own machine, which these tests share if they do not change it."""
    server = Server(tmp_path_factory.mktemp("json") / "data", arguments=LOCAL, http=1)
    yield server
    server.close()


@pytest.fixture
def caller(shop):
    return shop


# Right calls


def test_curl_logs_in_as_the_readme_says(served, shop, phone):
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```sh\nurl=", 1)[1].split("```", 1)[0]
    setting, *commands = re.split(r"(?=^curl )", f"url={block}", flags=re.MULTILINE)
    assert len(commands) == 2 and "\nurl=" not in setting
    environment = {
        **os.environ,
        "binding": phone.binding.binding_id,
        "posture": json_format.MessageToJson(phone.posture(), indent=None),
    }
    host, port = address_of(served.urls[0])
    setting = re.sub(r"127\.0\.0\.1:\d+", f"{host}:{port}", setting)

    def run(command, **values):
        text = f"{setting}\n{command}".replace('"shop"', json.dumps(shop.application_id))
        done = subprocess.run(
            ["sh", "-euc", text], env={**environment, **values}, capture_output=True, text=True, timeout=CALL_SECONDS, check=True
        )
        return json.loads(done.stdout)

    begun = run(commands[0])
    signature = sign(next(iter(phone.keys.values())), base64.b64decode(begun["signingInput"]))
    answer = run(commands[1], evaluation=begun["evaluation"], signature=base64.b64encode(signature).decode())
    assert (answer["outcome"], answer["profileId"]) == ("OUTCOME_SUCCEEDED", phone.binding.profile_id)
    assert shop.introspect(answer["token"]).active


def test_names_of_the_protos_and_base64_for_urls_are_taken_too(url, shop, phone):
    begun = post(
        url,
        "BeginEvaluation",
        {
            "application_id": shop.application_id,
            "policy": "login",
            "binding_id": phone.binding.binding_id,
            "localized_reason": "Log in",
            "posture": json_format.MessageToDict(phone.posture(), preserving_proto_field_name=True, use_integers_for_enums=True),
        },
    ).json()
    signature = sign(next(iter(phone.keys.values())), base64.b64decode(begun["signingInput"]))
    answer = post(
        url,
        "SubmitAttempt",
        {
            "applicationId": shop.application_id,
            "evaluation": begun["evaluation"].replace("+", "-").replace("/", "_").rstrip("="),
            "posture": json_format.MessageToDict(phone.posture()),
            "key": {"signature": base64.urlsafe_b64encode(signature).decode(), "factor": 1},
            "passcode": None,
        },
    )
    assert answer.json()["outcome"] == "OUTCOME_SUCCEEDED"
    assert answer.headers["cache-control"] == "no-store"


def test_a_login_is_the_same_event_as_over_grpc(url, shop, phone):
    opened = post(
        url,
        "BeginEvaluation",
        {
            "applicationId": shop.application_id,
            "policy": "login",
            "bindingId": phone.binding.binding_id,
            "localizedReason": "Log in",
            "posture": json_format.MessageToDict(phone.posture()),
        },
    ).json()
    wrong = {"signature": base64.b64encode(sign(new_key(), b"other")).decode(), "factor": "FACTOR_BIOMETRY"}
    attempt = {"applicationId": shop.application_id, "evaluation": opened["evaluation"], "key": wrong}
    attempt["posture"] = json_format.MessageToDict(phone.posture())
    answer = post(url, "SubmitAttempt", attempt).json()
    assert (answer["outcome"], answer["attemptsLeft"]) == ("OUTCOME_TRY_AGAIN", 4)
    listed = post(url, "ListEvents", {"filter": {"applicationId": shop.application_id}}).json()["events"]
    assert [event["kind"] for event in listed] == ["binding.created", "evaluation.failed"]
    assert {event["caller"] for event in listed} == {"local"}
    assert all(isinstance(event["sequence"], str) for event in listed)


def grpc_refusal(channel, method, request):
    """The status and its details over gRPC; None if there is an answer."""
    call = channel.unary_unary(path_of(method), type(request).SerializeToString, UNARY[method].output_type._concrete_class.FromString)
    try:
        call(request, timeout=CALL_SECONDS)
        return None
    except grpc.RpcError as error:
        status = rpc_status.from_call(error)
        details = {}
        for packed in status.details if status else []:
            kind = getattr(error_details_pb2, packed.type_url.rpartition(".")[2])
            details[kind] = kind.FromString(packed.value)
        return error.code().name.lower().replace("cancelled", "canceled"), error.details(), details


@pytest.mark.parametrize("method", sorted(UNARY))
def test_every_method_answers_as_over_grpc(served, url, shop, method):
    """Right in form, and empty: each is decided, or refused with the same details."""
    for request in (request_of(method), UNARY[method].input_type._concrete_class()):
        expected = grpc_refusal(served.channel(), method, request)
        answer = post(url, method, request)
        if expected is None:
            assert answer.status_code == 200, answer.text
            json_format.ParseDict(answer.json(), UNARY[method].output_type._concrete_class())
            continue
        code, message, details = expected
        body = refusal(answer, code)
        assert (body["message"], details_of(body)) == (message, details)


@pytest.mark.parametrize("method", sorted(UNARY))
def test_buf_calls_every_method(served, url, method, tmp_path):
    """buf's client of Connect, with the schema of this repository: protobuf's bytes in the body, errors as JSON."""
    request = request_of(method)
    arguments = ["--schema", PROTOS, "--protocol", "connect", "--data", json_format.MessageToJson(request, indent=None)]
    done = subprocess.run(
        [Path(sys.executable).parent / "buf", "curl", *arguments, url + path_of(method)],
        capture_output=True,
        text=True,
        timeout=CALL_SECONDS,
        check=False,
        cwd=tmp_path,
    )
    expected = grpc_refusal(served.channel(), method, request)
    if expected is None:
        assert done.returncode == 0, done.stderr
        json_format.Parse(done.stdout, UNARY[method].output_type._concrete_class())
    else:
        assert json.loads(done.stderr)["code"] == expected[0], done.stderr


def test_protobufs_bytes_are_taken_too_and_answered_alike(url, shop):
    request = UNARY["GetSigningKeys"].input_type._concrete_class()
    answer = post(url, "GetSigningKeys", request.SerializeToString(), headers={"Content-Type": "application/proto"})
    assert answer.headers["content-type"] == "application/proto"
    keys = UNARY["GetSigningKeys"].output_type._concrete_class.FromString(answer.content)
    assert keys.jwk_set == post(url, "GetSigningKeys", {}).json()["jwkSet"]
    assert refusal(post(url, "GetSigningKeys", b"\xff", headers={"Content-Type": "application/proto"}), "invalid_argument")


def test_health_is_served_too(url):
    answer = requests.post(f"{url}/grpc.health.v1.Health/Check", json={"service": "touchstone.v1.TokenService"}, timeout=CALL_SECONDS)
    assert answer.json() == {"status": "SERVING"}
    unknown = requests.post(f"{url}/grpc.health.v1.Health/Check", json={"service": "nothing"}, timeout=CALL_SECONDS)
    refusal(unknown, "not_found")


def test_a_decision_has_its_line_in_the_log(served, url, shop, phone):
    request = {"applicationId": shop.application_id, "bindingId": phone.binding.binding_id, "reason": "lost"}
    assert post(url, "RevokeBinding", request).status_code == 200
    line = served.next_error("binding.revoked")
    assert "/touchstone.v1.BindingService/RevokeBinding" in line and phone.binding.profile_id not in line


def test_texts_for_the_person_are_in_their_language(url, shop):
    primary = {"method": "password", "authenticatedAt": "1970-01-01T00:00:01Z"}
    posture = {"platform": "ios", "osVersion": "17.4", "biometryType": "BIOMETRY_TYPE_TOUCH_ID"}
    request = {"applicationId": shop.application_id, "profileId": "anna", "deviceId": str(uuid.uuid4()), "primary": primary, "posture": posture}
    body = refusal(post(url, "BeginBinding", request, headers={"Accept-Language": "zh-CN"}), "failed_precondition")
    assert reason_of(body) == "PRIMARY_AUTHENTICATION_TOO_OLD"
    text = details_of(body)[error_details_pb2.LocalizedMessage]
    assert text.locale == "zh-Hans" and any("\u4e00" <= letter <= "\u9fff" for letter in text.message)


def test_calls_are_counted_with_those_of_grpc(served, shop):
    def started():
        text = requests.get(f"{served.urls[0]}/metrics", timeout=CALL_SECONDS).text
        found = re.search(r'^grpc_server_call_started\S*\{[^}]*TokenService/ConsumeToken"[^}]*\} (\d+)', text, re.MULTILINE)
        return int(found[1]) if found else 0

    before = started()
    post(served.urls[0], "ConsumeToken", {})
    # Metrics are rendered once a second.
    deadline = time.monotonic() + CALL_SECONDS
    while started() == before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert started() == before + 1


# Wrong calls


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        (b"", "", "must be an object"),
        (b"[]", "", "must be an object"),
        (b"{", "", "is not JSON"),
        (b'{"policy":"a"} x', "", "has bytes after its end"),
        (b'{"polizy":"a"}', "polizy", "is no field of touchstone.v1.BeginEvaluationRequest"),
        (b'{"policy":"a","policy":"b"}', "policy", "is given twice"),
        (b'{"bindingId":"a","binding_id":"b"}', "binding_id", "is given twice"),
        (b'{"policy":"\xff"}', "policy", "is not JSON: not UTF-8"),
        (b'{"policy":"\\ud800"}', "policy", "half a surrogate pair"),
        (b'{"policy":"a\\u0000b"}', "policy", "must not contain NUL"),
        (b'{"posture":{"biometryType":99999999999999999999999}}', "posture.biometry_type", "must be a whole number"),
        (b'{"posture":{"biometryType":1e999999999}}', "posture.biometry_type", "must be a whole number"),
        (b'{"posture":{"domainState":"***"}}', "posture.domain_state", "Base64"),
        (b'{"posture":' * 8_000, "posture.posture", "is no field"),
        (b"[" * 90_000, "", "must be an object"),
        (b'{"transaction":{"amount":' + b"[" * 50_000, "transaction.amount", "must be a text"),
    ],
)
def test_what_cannot_be_read_names_its_field(url, body, field, problem):
    answer = refusal(post(url, "BeginEvaluation", body), "invalid_argument")
    assert problem in fields_of(answer)[field]
    assert problem in answer["message"]


def test_a_body_that_is_too_large_is_refused_as_over_grpc(url):
    within = post(url, "BeginEvaluation", b'{"policy":"' + b"a" * 70_000 + b'"}')
    assert "at most 65536" in refusal(within, "invalid_argument")["message"]
    for size in (MAXIMUM_BODY_BYTES + 1, 10 << 20):
        assert refusal(post(url, "BeginEvaluation", b" " * size), "resource_exhausted")
    assert post(url, "GetSigningKeys", b"{" + b" " * (MAXIMUM_BODY_BYTES - 2) + b"}").status_code == 200


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json; charset=utf-16", "text/json"],
)
def test_other_types_are_refused(url, content_type):
    """The first three are those that any page may send without asking first."""
    answer = post(url, "GetSigningKeys", b"{}", headers={"Content-Type": content_type})
    assert (answer.status_code, answer.headers["accept-post"]) == (415, "application/json, application/proto")


def test_other_methods_and_streams_are_refused_and_no_page_may_call(url):
    for method in ("GET", "HEAD", "PUT", "OPTIONS"):
        answer = requests.request(method, url + path_of("GetSigningKeys"), timeout=CALL_SECONDS, headers={"Origin": "https://a.example"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert "gRPC" in refusal(post(url, "WatchEvents", {}), "unimplemented")["message"]
    assert requests.post(f"{url}/touchstone.v1.EvaluationService/Nothing", json={}, timeout=CALL_SECONDS).status_code == 404
    for headers in ({"Origin": "https://evil.example"}, {"Origin": url}, {"Host": "evil.example:9090"}):
        assert post(url, "GetSigningKeys", {}, headers=headers).status_code == 403, headers
    assert post(url, "GetSigningKeys", {}, headers={"Host": "localhost:1"}).status_code == 200


def test_versions_encodings_and_timeouts(url):
    assert post(url, "GetSigningKeys", {}, headers={"Connect-Protocol-Version": "1", "Connect-Timeout-Ms": "60000"}).status_code == 200
    refusal(post(url, "GetSigningKeys", {}, headers={"Connect-Protocol-Version": "2"}), "invalid_argument")
    refusal(post(url, "GetSigningKeys", {}, headers={"Content-Encoding": "br"}), "unimplemented")
    refusal(post(url, "GetSigningKeys", {}, headers={"Connect-Timeout-Ms": "0"}), "deadline_exceeded")
    for wrong in ("-1", "1.5", "x", "99999999999"):
        refusal(post(url, "GetSigningKeys", {}, headers={"Connect-Timeout-Ms": wrong}), "invalid_argument")


def test_a_message_may_be_compressed_within_its_bounds(url):
    """As Connect's client in Python does it."""

    def compressed(body):
        return post(url, "GetSigningKeys", body, headers={"Content-Encoding": "gzip"})

    assert compressed(gzip.compress(b"{}")).status_code == 200
    for wrong in (b"{}", gzip.compress(b"{}")[:-1], gzip.compress(b"{}") * 2):
        assert "is not gzip" in refusal(compressed(wrong), "invalid_argument")["message"]
    bomb = gzip.compress(b" " * (50 << 20))
    assert len(bomb) < MAXIMUM_BODY_BYTES
    assert "when it is inflated" in refusal(compressed(bomb), "invalid_argument")["message"]


def test_a_call_ends_in_time(url, shop):
    """A passcode takes many milliseconds. The client waits for one, and the connection goes on."""
    with requests.Session() as session:
        profile = "anna"
        primary = {"method": "password", "authenticatedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        secret = {"passcode": {"passcode": "271828"}}
        request = {
            "applicationId": shop.application_id,
            "profileId": profile,
            "secret": secret,
            "confirmation": secret,
            "primary": primary,
        }
        late = session.post(
            url + path_of("SetSecret"), json=request, headers={"Connect-Timeout-Ms": "1"}, timeout=CALL_SECONDS
        )
        refusal(late, "deadline_exceeded")
        assert session.post(url + path_of("GetSigningKeys"), json={}, timeout=CALL_SECONDS).status_code == 200


def test_calls_that_run_on_after_their_deadlines_are_counted(start):
    """Handlers wait for a store that another process has locked. Their connections take the next calls meanwhile, up to a limit."""
    server = start(arguments=LOCAL, http=1)
    shop, phone, url = new_caller(server), Phone(), server.urls[0]
    begun = shop.begin_binding(phone, "anna")
    request = shop.completion(phone, begun, keys=phone.hardware_keys(b"another input"))
    body = json_format.MessageToJson(request, indent=None)
    fields = f"Host: localhost\r\nContent-Type: application/json\r\nConnect-Timeout-Ms: 2\r\nContent-Length: {len(body)}"
    call = f"POST {path_of('CompleteBinding')} HTTP/1.1\r\n{fields}\r\n"
    calls = f"{call}\r\n{body}" * 63 + f"{call}Connection: close\r\n\r\n{body}"
    with (
        contextlib.closing(sqlite3.connect(database(server.data_directory), isolation_level=None)) as connection,
        concurrent.futures.ThreadPoolExecutor(8) as pool,
    ):
        connection.execute("BEGIN IMMEDIATE")
        refused = []
        deadline = time.monotonic() + CALL_SECONDS
        # The service gives up a commit after a quarter of a second, and its handlers end.
        while not refused:
            assert time.monotonic() < deadline
            answers = b"".join(pool.map(lambda _: raw(url, calls), range(8))).decode().split("HTTP/1.1 ")[1:]
            assert {answer[:3] for answer in answers} <= {"503", "504"}
            refused = [answer for answer in answers if "the server has too many calls; try again later" in answer]
        assert all(answer.startswith("503") and "google.rpc.RetryInfo" in answer for answer in refused)
        health = requests.post(f"{url}/grpc.health.v1.Health/Check", json={}, timeout=CALL_SECONDS)
        # It is answered, though all else is refused. After some seconds it also tells that the store does not write.
        assert health.json() in [{"status": "SERVING"}, {"status": "NOT_SERVING"}]
        connection.execute("ROLLBACK")
    # The handlers end soon, and there is room again.
    while (answer := post(url, "CompleteBinding", request)).status_code == STATUSES["unavailable"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "keys[0].signature" in fields_of(refusal(answer, "invalid_argument"))


def raw(url, text):
    with connected(url) as connection:
        connection.sendall(text if isinstance(text, bytes) else text.encode())
        connection.shutdown(socket.SHUT_WR)
        return read_to_end(connection)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ("Content-Length: 2\r\nContent-Length: 2\r\n", b"400"),
        ("Content-Length: 2\r\nContent-Length: 40\r\n", b"400"),
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"400"),
        ("Transfer-Encoding: chunked\r\n", b"400"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"501"),
        ("Transfer-Encoding: gzip, chunked\r\n", b"501"),
        ("Content-Length: +2\r\n", b"400"),
        ("Content-Length: 0x2\r\n", b"400"),
        ("Content-Length : 2\r\n", b"400"),
        (" Content-Length: 2\r\n", b"400"),
        ("Content-Length: 2\r\nHost: b\r\n", b"400"),
        ("Content-Length: 99999999999999999999\r\n", b"413"),
    ],
)
def test_no_second_request_hides_in_the_first(url, fields, status):
    """What two readers could take apart differently ends the connection: one answer comes, and no call was made."""
    hidden = f"POST {path_of('GetSigningKeys')} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    head = f"POST {path_of('GetSigningKeys')} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{fields}\r\n"
    answers = raw(url, f"{head}{{}}{hidden}")
    assert answers.count(b"HTTP/1.1 ") == 1 and answers.startswith(b"HTTP/1.1 " + status), answers
    assert b"jwkSet" not in answers


def test_a_body_may_come_in_chunks(url):
    """As programs send it that do not know its length before."""
    answer = requests.post(
        url + path_of("GetSigningKeys"),
        data=iter([b"{", b" ", b"}"]),
        headers={"Content-Type": "application/json"},
        timeout=CALL_SECONDS,
    )
    assert answer.status_code == 200 and "jwkSet" in answer.json()
    too_long = requests.post(
        url + path_of("GetSigningKeys"),
        data=(b" " * 1_000 for _ in range(200)),
        headers={"Content-Type": "application/json"},
        timeout=CALL_SECONDS,
    )
    refusal(too_long, "resource_exhausted")


def test_requests_sent_ahead_are_answered_in_order(url):
    one = f"POST {path_of('GetSigningKeys')} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    wrong = one.replace("Length: 2", "Length: 3")
    answers = raw(url, f"{one}{{}}{wrong}{{x}}{one}{{}}")
    assert [line[9:12] for line in re.findall(rb"HTTP/1\.1 \d+", answers)] == [b"200", b"400", b"200"]


# Callers

CALLERS = [
    {"name": "local", "applications": "*", "methods": "*"},
    {"name": "plaintext", "applications": "*", "methods": "*"},
]


def callers(key, **credentials):
    """With one who may evaluate for the shop alone, by a key or other credentials."""
    shop = {"name": "shop", "applications": ["shop"], "methods": ["EvaluationService/*"], "keys": [key.digest], **credentials}
    return [*CALLERS, shop]


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


def test_an_address_for_everybody_takes_keys_alone(start, tmp_path):
    """A proxy on this machine may stand before it, which would make everybody `local`."""
    key = Key()
    configuration = {"callers": callers(key), "http": {"public": "127.0.0.1:0", "operators": f"unix:{tmp_path / 'operators.sock'}"}}
    server = start(configuration=configuration, http=2)
    url = server.urls[0]
    request = {"applicationId": "shop", "policy": "login", "posture": {"platform": "ios", "osVersion": "17"}}
    answer = post(url, "CanEvaluatePolicy", request)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert reason_of(refusal(answer, "unauthenticated")) == "CREDENTIALS_MISSING"
    for text, reason in ((Key().text, "KEY_UNKNOWN"), ("x y", "KEY_MALFORMED")):
        assert reason_of(refusal(post(url, "CanEvaluatePolicy", request, headers=bearer(text)), "unauthenticated")) == reason
    # Also if the message cannot be read: who is unknown learns nothing about it.
    for body in (b"{", b'{"x":1}', b"\xff"):
        assert refusal(post(url, "CanEvaluatePolicy", body), "unauthenticated")
    assert post(url, "CanEvaluatePolicy", request, headers=bearer(key.text)).status_code == 200
    # A page's request is one without a key.
    assert post(url, "CanEvaluatePolicy", request, headers={**bearer(key.text), "Host": "touchstone.example.org"}).status_code == 200
    other = {**request, "applicationId": "bank"}
    assert reason_of(refusal(post(url, "CanEvaluatePolicy", other, headers=bearer(key.text)), "permission_denied")) == (
        "APPLICATION_NOT_GRANTED"
    )
    assert reason_of(refusal(post(url, "ListBindings", {}, headers=bearer(key.text)), "permission_denied")) == "METHOD_NOT_GRANTED"
    refusal(post(url, "CanEvaluatePolicy", b"{", headers=bearer(key.text)), "invalid_argument")
    # A refusal is answered before its event is durable.
    deadline = time.monotonic() + CALL_SECONDS
    reasons = {"CREDENTIALS_MISSING", "METHOD_NOT_GRANTED", "APPLICATION_NOT_GRANTED"}
    listed = refused_calls(server)
    while not {event["details"]["reason"] for event in listed} >= reasons:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        listed = refused_calls(server)
    assert {event["details"]["peer"] for event in listed} == {"loopback"}


def test_a_strangers_message_is_not_read(start, tmp_path):
    """It may be large and compressed: its refusal costs a small part of what reading it would."""
    key = Key()
    server = start(
        configuration={
            "callers": callers(key),
            "http": {"public": "127.0.0.1:0", "operators": f"unix:{tmp_path / 'operators.sock'}"},
        },
        http=2,
    )
    body = gzip.compress(json.dumps({"applicationId": "shop", "policy": "login", "localizedReason": "é" * 15_000}).encode())

    def processor_time(code, headers):
        """Of the service, for some calls in one connection; in nanoseconds."""
        with requests.Session() as session:
            before = time_used(server.process.pid)
            for _ in range(20):
                answer = session.post(
                    server.urls[0] + path_of("BeginEvaluation"),
                    data=body,
                    headers={"Content-Type": "application/json", "Content-Encoding": "gzip", **headers},
                    timeout=CALL_SECONDS,
                )
                assert answer.status_code == code, answer.text
            return time_used(server.process.pid) - before

    read = processor_time(STATUSES["invalid_argument"], bearer(key.text))
    for headers in ({}, bearer(Key().text)):
        assert processor_time(STATUSES["unauthenticated"], headers) < read / 3


def time_used(process):
    """By all threads of a process, in nanoseconds."""
    used = 0
    for statistics in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            used += int(statistics.read_text().split()[0])
    return used


def test_strangers_send_healths_methods_little(url):
    path = f"{url}/grpc.health.v1.Health/Check"
    name = json.dumps({"service": "x" * 5_000}).encode()
    content = {"Content-Type": "application/json"}
    refusal(requests.post(path, data=name, headers=content, timeout=CALL_SECONDS), "resource_exhausted")
    compressed = {**content, "Content-Encoding": "gzip"}
    answer = requests.post(path, data=gzip.compress(name), headers=compressed, timeout=CALL_SECONDS)
    assert "when it is inflated" in refusal(answer, "invalid_argument")["message"]


def refused_calls(server):
    """Their events, as `local` reads them over gRPC."""
    answer = new_caller(server).administration.ListEvents(administration_pb2.ListEventsRequest())
    return [json_format.MessageToDict(event) for event in answer.events if event.kind == "call.refused"]


def test_without_callers_an_address_for_everybody_takes_none(start, tmp_path):
    server = start(configuration={"http": {"public": "127.0.0.1:0", "operators": f"unix:{tmp_path / 'o.sock'}"}}, http=2)
    for headers in ({}, bearer(Key().text)):
        assert reason_of(refusal(post(server.urls[0], "GetSigningKeys", {}, headers=headers), "unauthenticated")) == (
            "CREDENTIALS_MISSING"
        )


def test_over_tls_callers_show_a_key_or_a_certificate(start, tmp_path):
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    certificate = authority.issue_server()
    shop = authority.issue("shop", uris=["spiffe://example.org/shop"])
    stranger = authority.issue("stranger", uris=["spiffe://example.org/stranger"])
    foreign = other.issue("foreign", uris=["spiffe://example.org/shop"])
    key, second = Key(), Key()
    tls = {
        "certificate": str(certificate.file),
        "key": str(certificate.key_file),
        "client_authorities": str(authority.file),
        "client_certificates": "optional",
    }
    both = callers(key, spiffe="spiffe://example.org/shop")
    both.append({"name": "bank", "applications": ["bank"], "methods": "*", "keys": [second.digest]})
    # 0.0.0.0, because loopback has no TLS.
    configuration = {"tls": tls, "callers": both, "http": {"public": "0.0.0.0:0"}}
    server = start(configuration=configuration, http=1)
    url = server.urls[0].replace("0.0.0.0", "127.0.0.1")
    assert url.startswith("https://")
    request = {"applicationId": "shop", "policy": "login", "posture": {"platform": "ios", "osVersion": "17"}}

    def call(certificate=None, **headers):
        shown = certificate and (str(certificate.file), str(certificate.key_file))
        return post(url, "CanEvaluatePolicy", request, verify=str(authority.file), cert=shown, headers=headers)

    assert call().status_code == 401
    assert call(**bearer(key.text)).status_code == 200
    assert call(shop).status_code == 200
    assert call(shop, **bearer(key.text)).status_code == 200
    assert reason_of(refusal(call(shop, **bearer(second.text)), "unauthenticated")) == "CREDENTIALS_DIFFER"
    assert reason_of(refusal(call(stranger), "unauthenticated")) == "CERTIFICATE_UNKNOWN"
    with pytest.raises(requests.exceptions.RequestException):
        call(foreign)
    # Verifiers of tokens need none.
    assert requests.get(f"{url}/.well-known/jwks.json", verify=str(authority.file), timeout=CALL_SECONDS).status_code == 200


def test_a_service_that_stops_refuses_new_calls_and_answers_running_ones(start):
    server = start(arguments=LOCAL, http=1)
    with requests.Session() as session:
        assert session.post(server.urls[0] + path_of("GetSigningKeys"), json={}, timeout=CALL_SECONDS).status_code == 200
        server.terminate()
        with pytest.raises(requests.exceptions.ConnectionError):
            session.post(server.urls[0] + path_of("GetSigningKeys"), json={}, timeout=CALL_SECONDS)


def test_logins_go_on_beside_each_other_on_many_connections(served, shop):
    """Each has its own answer, and more connections come from one address than strangers may have: an admitted call makes one the caller's."""
    phones = [Phone() for _ in range(8)]
    for phone in phones:
        shop.bind(phone)
    sessions = [requests.Session() for _ in range(48)]
    try:

        def login(number):
            session, phone = sessions[number], phones[number % len(phones)]
            posture = json_format.MessageToDict(phone.posture())
            request = {
                "applicationId": shop.application_id,
                "policy": "login",
                "bindingId": phone.binding.binding_id,
                "localizedReason": "Log in",
                "posture": posture,
            }
            begun = session.post(served.urls[0] + path_of("BeginEvaluation"), json=request, timeout=CALL_SECONDS).json()
            proof = sign(next(iter(phone.keys.values())), base64.b64decode(begun["signingInput"]))
            attempt = {
                "applicationId": shop.application_id,
                "evaluation": begun["evaluation"],
                "posture": posture,
                "key": {"signature": base64.b64encode(proof).decode(), "factor": "FACTOR_BIOMETRY"},
            }
            answer = session.post(served.urls[0] + path_of("SubmitAttempt"), json=attempt, timeout=CALL_SECONDS).json()
            return answer["outcome"], answer["profileId"] == phone.binding.profile_id

        assert {login(number) for number in range(48)} == {("OUTCOME_SUCCEEDED", True)}
        with concurrent.futures.ThreadPoolExecutor(48) as pool:
            for _ in range(2):
                assert set(pool.map(login, range(48))) == {("OUTCOME_SUCCEEDED", True)}
    finally:
        for session in sessions:
            session.close()
