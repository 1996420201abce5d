"""The Python client: as its wheel is installed, and what its thin layer promises."""

import socket
import subprocess
from concurrent import futures

import grpc
import pytest
import touchstone
from conftest import ROOT
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from support.pages import blocks_of
from support.stubs import METHODS, administration_pb2, bindings_pb2, evaluation_pb2
from support.wheels import installed
from touchstone import calls

README = ROOT / "clients/python/README.md"

PROGRAM = """
import os, sys
import grpc
import touchstone
from google.protobuf import json_format
from touchstone.v1 import types_pb2

{login}

def sign(signing_input):
    print("sign", signing_input.hex(), flush=True)
    return bytes.fromhex(sys.stdin.readline())

target, authority, binding_id, posture = sys.argv[1:]
credentials = grpc.ssl_channel_credentials(open(authority, "rb").read())
posture = json_format.Parse(posture, types_pb2.DevicePosture())
with touchstone.Client(target, application_id="shop", credentials=credentials, key=os.environ["TOUCHSTONE_KEY"]) as client:
    print("result", *login(client, binding_id, posture, sign))
"""


#: The oldest runtimes that pyproject.toml names.
OLDEST = ("grpcio==1.60.2", "protobuf==5.26.1")


@pytest.fixture(scope="session")
def python(wheel, tmp_path_factory):
    return installed(tmp_path_factory.mktemp("environment"), wheel)


@pytest.fixture(scope="session")
def old_python(wheel, tmp_path_factory):
    return installed(tmp_path_factory.mktemp("environment"), wheel, *OLDEST, constraints=())


@pytest.mark.parametrize("environment", ["python", "old_python"])
def test_the_login_of_its_readme_runs_from_the_installed_wheel(shop, request, environment, tmp_path):
    python = request.getfixturevalue(environment)
    login = blocks_of(README, "python")[0]
    assert len(login.strip().splitlines()) <= 15
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(login=login))
    profile_id, token = shop.play([python, program], cwd=tmp_path)
    assert profile_id == shop.phone.binding.profile_id
    assert shop.caller.introspect(token).active


def test_the_installed_package_has_its_version_and_is_typed(python):
    code = (
        "import importlib.metadata as m, importlib.resources as r;"
        "print(m.version('touchstone-client'), r.files('touchstone').joinpath('py.typed').is_file())"
    )
    shown = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    version = (ROOT / "VERSION").read_text().strip()
    assert shown.stdout.split() == [version.replace("-dev", ".dev0"), "True"]


@pytest.fixture(scope="module")
def client(shop):
    credentials = grpc.ssl_channel_credentials(shop.authority.pem)
    with touchstone.Client(shop.target, application_id="shop", credentials=credentials, key=shop.key.text) as client:
        yield client


def test_it_has_every_method_of_the_api():
    names = {name for name in dir(touchstone.Client) if isinstance(getattr(touchstone.Client, name), calls.Method)}
    assert {"".join(word.capitalize() for word in name.split("_")) for name in names} == set(METHODS)
    for name in names:
        declared = getattr(touchstone.Client, name)
        method = METHODS["".join(word.capitalize() for word in name.split("_"))]
        assert declared.request.DESCRIPTOR.full_name == method.input_type.full_name
        assert declared.answer.DESCRIPTOR.full_name == method.output_type.full_name
        assert isinstance(declared, calls.Watch) == method.server_streaming


def test_wrong_fields_are_named(client):
    with pytest.raises(touchstone.InvalidArgument) as raised:
        client.begin_evaluation(policy="login", binding_id="", localized_reason="", posture={"platform": "ios"})
    assert "localized_reason" in raised.value.fields and "posture.os_version" in raised.value.fields
    assert str(raised.value).count("localized_reason: ") == 1


def test_its_methods_are_documented(client):
    assert "attempt" in client.submit_attempt.__doc__ and client.submit_attempt.__name__ == "submit_attempt"
    assert all(getattr(touchstone.Client, name).__doc__ for name in dir(touchstone.Client) if not name.startswith("_"))


def test_its_application_is_that_of_a_filter_and_of_an_explanation(shop, client):
    assert {event.application_id for event in client.list_events().events} == {"shop"}
    assert client.list_events(filter={"kinds": ["binding."]}).events[0].kind == "binding.created"
    with pytest.raises(touchstone.PermissionDenied):
        client.list_events(filter={"application_id": "bank"})
    begin = {"policy": "login", "binding_id": shop.phone.binding.binding_id, "posture": shop.phone.posture()}
    assert client.explain_evaluation(begin=begin).answer


def test_a_service_configuration_of_the_callers_is_refused_and_not_ignored():
    with pytest.raises(ValueError, match="balancing"):
        touchstone.Client("localhost:1", options=[("grpc.service_config", "{}")])


def test_a_refusal_has_its_reason_and_a_text_in_the_persons_language(shop, client):
    stranger = touchstone.Client(
        shop.target, application_id="shop", credentials=grpc.ssl_channel_credentials(shop.authority.pem), key="tsk_wrong"
    )
    with stranger, pytest.raises(touchstone.Unauthenticated) as raised:
        stranger.get_signing_keys()
    assert raised.value.reason.startswith("KEY_") and raised.value.reason in str(raised.value)
    with pytest.raises(touchstone.PermissionDenied, match="APPLICATION_NOT_GRANTED"):
        client.get_profile(application_id="bank", profile_id="anna")
    unknown = {"application_id": "shop", "profile_id": "unknown"}
    with pytest.raises(touchstone.NotFound):
        client.get_profile(**unknown)
    old = bindings_pb2.PrimaryAuthentication(method="password")
    old.authenticated_at.FromSeconds(1)
    with pytest.raises(touchstone.FailedPrecondition) as raised:
        client.with_options(languages="zh-Hans").begin_binding(
            profile_id="anna", device_id=shop.phone.device_id, primary=old, posture=shop.phone.posture()
        )
    assert raised.value.reason == "PRIMARY_AUTHENTICATION_TOO_OLD"
    assert any("\u4e00" <= letter <= "\u9fff" for letter in raised.value.text)


def test_it_follows_the_audit_log(shop, client):
    listed = client.list_events(filter={"application_id": "shop"}).events
    assert listed
    with client.watch_events(filter={"application_id": "shop"}, after_sequence=0) as events:
        assert next(events).event.sequence == listed[0].sequence
    assert list(events) == []
    with pytest.raises(touchstone.OutOfRange, match="BEYOND_LOG_END"):
        next(client.watch_events(filter={"application_id": "shop"}, after_sequence=2**40))


@pytest.mark.parametrize(
    ("target", "is_local"),
    [
        ("localhost:7443", True),
        ("127.0.0.1:7443", True),
        ("[::1]:7443", True),
        ("unix:/run/touchstone/touchstone.sock", True),
        ("dns:///localhost:7443", True),
        ("ipv4:127.0.0.1:7443,127.0.0.2:7443", True),
        ("ipv4:127.0.0.1:7443,10.0.0.1:7443", False),
        ("touchstone:7443", False),
        ("10.0.0.1:7443", False),
        ("127.0.0.1.example.org:7443", False),
        ("localhost.example.org", False),
        ("dns:///touchstone:7443", False),
        ("dns://localhost/touchstone:7443", False),
        ("[fe80::1]:7443", False),
    ],
)
def test_no_key_goes_to_another_machine_in_plaintext(target, is_local):
    if is_local:
        touchstone.Client(target, key="tsk_secret").close()
        return
    with pytest.raises(ValueError) as raised:
        touchstone.Client(target, key="tsk_secret")
    assert "tsk_" not in str(raised.value)
    touchstone.Client(target).close()


@pytest.mark.parametrize("bad", ["tsk_secret\n", "tsk_secret\0", "tsk_secreté"])
def test_what_no_header_holds_is_refused_without_the_key_in_the_error(bad):
    for options in ({"key": bad}, {"key": "tsk_secret", "languages": bad}):
        with pytest.raises(ValueError, match="no header has") as raised:
            touchstone.Client("localhost:7443", **options)
        assert "tsk_" not in str(raised.value)
    with touchstone.Client("localhost:7443", key="tsk_secret") as client, pytest.raises(ValueError, match="languages"):
        client.with_options(languages=bad)


class Noting(grpc.UnaryUnaryClientInterceptor):
    def __init__(self):
        self.calls = []

    def intercept_unary_unary(self, continuation, details, request):
        self.calls.append((details.method, [name for name, _ in details.metadata]))
        return continuation(details, request)


def test_interceptors_take_each_call_with_its_headers(shop):
    noting = Noting()
    credentials = grpc.ssl_channel_credentials(shop.authority.pem)
    with touchstone.Client(shop.target, credentials=credentials, key=shop.key.text, interceptors=[noting]) as client:
        assert client.get_signing_keys().jwk_set
        with pytest.raises(touchstone.NotFound):
            client.get_profile(application_id="shop", profile_id="unknown")
    services = "/touchstone.v1.TokenService/GetSigningKeys", "/touchstone.v1.AdministrationService/GetProfile"
    assert noting.calls == [(name, ["authorization"]) for name in services]


class Failing(grpc.GenericRpcHandler):
    """A service that refuses each call the first time with `code`, and counts the calls of each method."""

    def __init__(self, code):
        self.code, self.calls = code, {}

    def service(self, details):
        name = details.method.rpartition("/")[2]
        answer = calls.METHODS[name].output_type._concrete_class

        def handle(_, context):
            self.calls[name] = self.calls.get(name, 0) + 1
            if self.calls[name] == 1:
                context.abort(self.code, "not yet")
            return answer()

        return grpc.unary_unary_rpc_method_handler(handle, lambda data: data, answer.SerializeToString)


@pytest.fixture
def failing():
    """Starts such a service; a client of it."""
    servers = []

    def start(code):
        handler = Failing(code)
        server = grpc.server(futures.ThreadPoolExecutor(1), [handler])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        client = touchstone.Client(f"127.0.0.1:{port}", application_id="shop")
        client.target = f"127.0.0.1:{port}"
        return handler, client

    yield start
    for server in servers:
        server.stop(None)


def test_no_proxy_of_the_environment_gets_a_call_in_plaintext(failing, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("http_proxy", "https_proxy", "grpc_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        handler, client = failing(grpc.StatusCode.ABORTED)
        with client:
            client.get_signing_keys()
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert handler.calls == {"GetSigningKeys": 2}


@pytest.mark.parametrize(("balancing", "serving"), [("", 1), ("round_robin", 2)])
def test_calls_are_shared_among_replicas_if_that_is_wanted(failing, balancing, serving):
    replicas = [failing(grpc.StatusCode.ABORTED) for _ in range(2)]
    addresses = ",".join(client.target for _, client in replicas)
    with touchstone.Client(f"ipv4:{addresses}", application_id="shop", balancing=balancing) as client:
        for _ in range(20):
            client.get_signing_keys()
    assert sum("GetSigningKeys" in handler.calls for handler, _ in replicas) == serving


def test_only_a_method_that_may_happen_twice_is_repeated_after_unavailable(failing):
    handler, client = failing(grpc.StatusCode.UNAVAILABLE)
    with client:
        client.begin_evaluation(policy="login")
        with pytest.raises(touchstone.Unavailable):
            client.submit_attempt(evaluation=b"1")
    assert handler.calls == {"BeginEvaluation": 2, "SubmitAttempt": 1}


def test_every_method_is_repeated_after_aborted(failing):
    handler, client = failing(grpc.StatusCode.ABORTED)
    with client:
        client.submit_attempt(evaluation=b"1")
    assert handler.calls == {"SubmitAttempt": 2}


def test_a_call_ends_in_time():
    # The kernel accepts there, and no program answers.
    with socket.socket() as unanswered:
        unanswered.bind(("127.0.0.1", 0))
        unanswered.listen(0)
        with touchstone.Client(f"127.0.0.1:{unanswered.getsockname()[1]}", timeout=0.2) as client:
            with pytest.raises((touchstone.DeadlineExceeded, touchstone.Unavailable)):
                client.get_signing_keys()


class Refusal:
    """A grpc.RpcError with these details."""

    def __init__(self, *details, raw=None):
        status = status_pb2.Status(code=8, message="full")
        for detail in details:
            status.details.add().Pack(detail)
        self.bytes = status.SerializeToString() if raw is None else raw

    def code(self):
        return grpc.StatusCode.RESOURCE_EXHAUSTED

    def details(self):
        return "full"

    def trailing_metadata(self):
        return [("other", "x"), ("grpc-status-details-bin", self.bytes)]


def test_an_error_has_every_detail():
    error = touchstone.Error.of(
        Refusal(
            error_details_pb2.ErrorInfo(reason="A_REASON", metadata={"a": "b"}),
            error_details_pb2.RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000)),
            error_details_pb2.QuotaFailure(violations=[{"subject": "application:shop"}]),
            error_details_pb2.LocalizedMessage(locale="en", message="Wait."),
        )
    )
    assert isinstance(error, touchstone.ResourceExhausted)
    assert (error.reason, error.metadata, error.quotas, error.text) == ("A_REASON", {"a": "b"}, ("application:shop",), "Wait.")
    assert error.retry_after.total_seconds() == 1.5
    assert str(error) == "RESOURCE_EXHAUSTED (A_REASON): full"


def test_unreadable_details_are_treated_as_absent():
    error = touchstone.Error.of(Refusal(raw=b"\xff\xff"))
    assert (error.reason, error.fields, error.retry_after, error.message) == ("", {}, None, "full")


def test_messages_may_be_dictionaries_and_enumerations_names(shop, client):
    explained = client.explain_evaluation(
        begin={
            "policy": "login",
            "binding_id": shop.phone.binding.binding_id,
            "posture": shop.phone.posture(),
        }
    )
    assert isinstance(explained, administration_pb2.ExplainEvaluationResponse) and explained.answer.evaluation == b""
    assert isinstance(client.can_evaluate_policy(policy="login", posture=shop.phone.posture()), evaluation_pb2.CanEvaluatePolicyResponse)
