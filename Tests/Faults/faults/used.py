"""What was used, and must not be usable again."""

from collections import Counter

import grpc
from google.rpc import error_details_pb2

from support.errors import detail
from support.stubs import evaluation_pb2, tokens_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

#: The event of each answer that refuses a proof.
FAILURES = {
    evaluation_pb2.OUTCOME_TRY_AGAIN: "evaluation.failed",
    evaluation_pb2.OUTCOME_FAILED: "evaluation.failed",
    evaluation_pb2.OUTCOME_LOCKED_OUT: "evaluation.locked_out",
}


class Attempt:
    """A right one: of an evaluation that succeeded, failed for good or was invalidated, or of a revoked binding."""

    def __init__(self, request, why):
        self.request, self.why = request, why

    def send(self, caller):
        return caller.evaluations.SubmitAttempt.future(self.request)

    def check(self, call):
        answer = call.result()
        assert answer.outcome != SUCCEEDED and not answer.token, f"succeeded again: {self.why}"
        # An evaluation that is still open, of a binding that is not, takes it for a wrong one.
        return FAILURES.get(answer.outcome)


class Ticket:
    """The completion of a binding."""

    def __init__(self, request):
        self.request = request

    def send(self, caller):
        return caller.bindings.CompleteBinding.future(self.request)

    def check(self, call):
        error = call.exception()
        assert error is not None, "a ticket served again"
        assert error.code() == grpc.StatusCode.FAILED_PRECONDITION, error
        assert detail(error, error_details_pb2.ErrorInfo).reason == "TICKET_INVALID"


class Consumption:
    """Of a payment's token."""

    def __init__(self, request):
        self.request = request

    def send(self, caller):
        return caller.tokens.ConsumeToken.future(self.request)

    def check(self, call):
        assert not call.result().consumed, "a token was consumed again"


class Revoked:
    """A token: itself, or with its binding."""

    def __init__(self, application_id, token):
        self.request = tokens_pb2.IntrospectTokenRequest(application_id=application_id, token=token)

    def send(self, caller):
        return caller.tokens.IntrospectToken.future(self.request)

    def check(self, call):
        assert not call.result().active, "a revoked token is active"


def check_all(used, caller):
    """At once: nothing here may work. Answers the kinds of the events that it leaves, of those that are counted."""
    calls = [each.send(caller) for each in used]
    kinds = [each.check(call) for each, call in zip(used, calls, strict=True)]
    return Counter(kind for kind in kinds if kind)
