"""Calls that have an effect once: what their answers say, of several sent at once, too late, or sent again."""

import time

import grpc
from google.rpc import error_details_pb2

from support.caller import all_at_once
from support.errors import detail
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT

#: Sent at once where only one may succeed.
CROWD = 3


class TooLate(Exception):
    """Refused, because what it rests on had expired by then."""


def has_passed(until):
    """By this machine's clock, which is the service's too."""
    return time.time() >= until.seconds + until.nanos / 1e9


def submit(caller, request, until, **options):
    return _in_time(caller.evaluations.SubmitAttempt(request, **options), _is_refused_attempt, until)


def submit_often(caller, request, until):
    """The same several times at once: one of them succeeds (R35)."""
    answer = _the_one(caller.evaluations.SubmitAttempt, request, lambda answer: answer.outcome == SUCCEEDED)
    return _in_time(answer, _is_refused_attempt, until)


def consume_often(caller, request, until):
    """The same several times at once: one of them succeeds (R39)."""
    answer = _the_one(caller.tokens.ConsumeToken, request, lambda answer: answer.consumed)
    return _in_time(answer, lambda answer: answer.reason == "EXPIRED", until)


def complete(caller, request, until):
    try:
        return caller.bindings.CompleteBinding(request)
    except grpc.RpcError as error:
        if _is_refused_ticket(error) and has_passed(until):
            raise TooLate from error
        raise


def _in_time(answer, is_refused, until):
    if is_refused(answer) and has_passed(until):
        raise TooLate
    return answer


def _is_refused_attempt(answer):
    return answer.outcome == INVALID_CONTEXT


def _is_refused_ticket(error):
    if error.code() != grpc.StatusCode.FAILED_PRECONDITION:
        return False
    assert detail(error, error_details_pb2.ErrorInfo).reason == "TICKET_INVALID"
    return True


def _the_one(method, request, is_success):
    """The answer that is a success: of several at once it is one, if they are answered. Else a refusal."""
    answers = all_at_once(method, [request] * CROWD)
    successes = [each for each in answers if not isinstance(each, grpc.RpcError) and is_success(each)]
    errors = [each for each in answers if isinstance(each, grpc.RpcError)]
    assert len(successes) <= 1, f"{len(successes)} successes"
    if successes:
        return successes[0]
    if errors:
        raise errors[0]
    return answers[0]


# Once more, after a fault: true where that did it, false where it had been done.


def submits(caller, request):
    outcome = caller.evaluations.SubmitAttempt(request).outcome
    assert outcome in (SUCCEEDED, INVALID_CONTEXT), outcome
    return outcome == SUCCEEDED


def consumes(caller, request):
    answer = caller.tokens.ConsumeToken(request)
    assert answer.consumed or answer.reason == "ALREADY_CONSUMED", answer
    return answer.consumed


def completes(caller, request):
    try:
        caller.bindings.CompleteBinding(request)
    except grpc.RpcError as error:
        if not _is_refused_ticket(error):
            raise
        return False
    return True
