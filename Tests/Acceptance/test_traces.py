"""Traces: calls join the trace of their caller, or begin their own, and a collector's own library reads their spans."""

import secrets
import socket
import time

import grpc
import pytest

from support.addresses import own_host
from support.caller import Caller
from support.certificates import Authority
from support.collector import Collector, attributes
from support.configuration import BAD_CONFIGURATION, write
from support.phone import Phone
from support.server import run, run_to_end
from support.stubs import evaluation_pb2

SERVER, INTERNAL = 2, 1
SERVICE = "touchstone.v1.EvaluationService"


class Trace:
    """A caller's span, as a header."""

    def __init__(self, *, is_sampled=True, state=None):
        self.trace_id, self.span_id = secrets.token_bytes(16), secrets.token_bytes(8)
        self._metadata = [("traceparent", f"00-{self.trace_id.hex()}-{self.span_id.hex()}-0{int(is_sampled)}")]
        if state:
            self._metadata.append(("tracestate", state))

    def caller(self, server, application_id="shop"):
        return Caller(grpc.intercept_channel(server.channel(), _Sending(self._metadata)), application_id)


class _Sending(grpc.UnaryUnaryClientInterceptor):
    def __init__(self, metadata):
        self._metadata = metadata

    def intercept_unary_unary(self, continuation, details, request):
        return continuation(details._replace(metadata=[*(details.metadata or []), *self._metadata]), request)


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.close()


def traces(endpoint, **settings):
    return {"traces": {"endpoint": endpoint, **settings}}


def of(name):
    return lambda span: span.name == name


def children(spans, parent):
    """The spans directly below, in the order of their begin."""
    found = [span for span in spans if span.parent_span_id == parent.span_id]
    return sorted(found, key=lambda span: span.start_time_unix_nano)


def test_a_login_is_in_the_trace_of_its_caller(start, collector):
    server = start(configuration=traces(collector.endpoint, sample=0))
    trace = Trace(state="vendor=value")
    caller, phone = trace.caller(server), Phone()
    began = time.time_ns()
    caller.bind(phone)
    opened = caller.begin(phone)
    assert caller.submit(phone, opened).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
    (attempt,) = collector.wait_for(1, of(f"{SERVICE}/SubmitAttempt"))
    (beginning,) = collector.wait_for(1, of(f"{SERVICE}/BeginEvaluation"))
    (completion,) = collector.wait_for(1, of("touchstone.v1.BindingService/CompleteBinding"))

    for span in (attempt, beginning, completion):
        assert (span.trace_id, span.parent_span_id) == (trace.trace_id, trace.span_id)
        assert (span.kind, span.trace_state, span.flags) == (SERVER, "vendor=value", 0x301)
        assert began <= span.start_time_unix_nano <= span.end_time_unix_nano <= time.time_ns()
        assert span.status.code == 0
    assert len({attempt.span_id, beginning.span_id, completion.span_id}) == 3
    assert attributes(attempt) == {
        "rpc.system": "grpc",
        "rpc.service": SERVICE,
        "rpc.method": "SubmitAttempt",
        "rpc.grpc.status_code": 0,
        "touchstone.caller": "local",
        "touchstone.application": "shop",
        "touchstone.event": "evaluation.succeeded",
        "touchstone.policy": "login",
        "touchstone.factor": "biometry",
    }
    parts = children(collector.spans, attempt)
    assert [part.name for part in parts] == ["decode", "open", "read", "verify", "decide", "commit"]
    for part in parts:
        assert (part.trace_id, part.kind) == (trace.trace_id, INTERNAL)
        assert attempt.start_time_unix_nano <= part.start_time_unix_nano <= part.end_time_unix_nano
        assert part.end_time_unix_nano <= attempt.end_time_unix_nano
    assert [part.name for part in children(collector.spans, beginning)] == ["decode", "read", "decide"]
    assert [part.name for part in children(collector.spans, completion)] == [
        "decode", "open", "verify", "decide", "commit",
    ]  # fmt: skip
    assert all(each["service.name"] == "touchstone" and each["service.version"] for each in collector.resources)
    # The log's line of the login leads to the trace.
    assert f"trace_id={trace.trace_id.hex()}" in server.next_error("evaluation.succeeded")


def test_a_collector_over_tls(start, tmp_path):
    authority = Authority(tmp_path)
    collector = Collector(certificate=authority.issue_server("collector"))
    try:
        server = start(
            configuration=traces(collector.endpoint, sample=1, authorities=str(authority.file)),
        )
        Caller(server.channel(), "shop").bind(Phone())
        collector.wait_for(1)
    finally:
        collector.close()


def test_a_collector_that_comes_later_gets_what_waited(start):
    address = f"{own_host()}:4317"
    server = start(configuration=traces(address, sample=1))
    caller, phone = Caller(server.channel(), "shop"), Phone()
    caller.bind(phone)
    # Nothing waits for it.
    assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
    line = server.next_error("traces do not reach the collector")
    assert address in line
    collector = Collector(address=address)
    try:
        collector.wait_for(1, of(f"{SERVICE}/SubmitAttempt"))
        server.next_error("traces reach the collector again")
    finally:
        collector.close()


def test_a_collector_that_never_answers_delays_neither_calls_nor_the_end(start):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        server = start(configuration=traces("127.0.0.1:%d" % silent.getsockname()[1], sample=1))
        caller, phone = Caller(server.channel(), "shop"), Phone()
        caller.bind(phone)
        assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
        began = time.monotonic()
        server.terminate()
        assert time.monotonic() - began < 10


def test_what_was_traced_before_the_end_arrives(start, collector):
    server = start(configuration=traces(collector.endpoint, sample=1))
    Caller(server.channel(), "shop").bind(Phone())
    server.terminate()
    assert [span.name for span in collector.spans if span.kind == SERVER]


def test_authorities_that_are_none(tmp_path):
    pem = write(tmp_path / "none.pem", "no certificate")
    text = f"traces: {{endpoint: 'localhost:4317', authorities: {pem}}}\n"
    path = write(tmp_path / "touchstone.yaml", text)
    for ended in (run_to_end(tmp_path / "data", arguments=["--config", path]), run("check-config", path)):
        assert ended.returncode == BAD_CONFIGURATION
        assert f"traces.authorities {pem}: " in ended.stderr
        assert ended.stderr.startswith(f"{path}:1:")
