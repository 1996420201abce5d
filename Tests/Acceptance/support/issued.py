"""What a service issued before it was put back to an earlier time, and what was used of it since."""

import grpc

from .errors import refused
from .phone import Phone
from .stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT


class Issued:
    def __init__(self, caller, phone):
        """Evaluations, a ticket and tokens, none of them used yet."""
        self._used, self._unused = (caller.attempt(phone, caller.begin(phone)) for _ in range(2))
        other = Phone()
        self._ticket = caller.completion(other, caller.begin_binding(other, "profile-2"))
        self._consumed, self._left = caller.pay(phone).token, caller.pay(phone).token
        self._revoked, self._login = caller.login(phone).token, caller.login(phone).token
        self._phone = phone

    def use(self, caller):
        """Most of it, and what was issued later."""
        assert caller.evaluations.SubmitAttempt(self._used).outcome == SUCCEEDED
        caller.bindings.CompleteBinding(self._ticket)
        assert caller.consume(self._consumed).consumed
        caller.revoke_token(self._revoked)
        self._later = caller.attempt(self._phone, caller.begin(self._phone))
        assert caller.evaluations.SubmitAttempt(self._later).outcome == SUCCEEDED
        self._paid = caller.pay(self._phone).token
        assert caller.consume(self._paid).consumed

    def assert_void(self, caller):
        """R28, R35, R39: nothing of it serves, used or not."""
        for request in (self._used, self._unused, self._later):
            assert caller.evaluations.SubmitAttempt(request).outcome == INVALID_CONTEXT
        with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TICKET_INVALID"):
            caller.bindings.CompleteBinding(self._ticket)
        for token in (self._consumed, self._left, self._paid):
            assert not caller.consume(token).consumed
        for token in (self._revoked, self._login):
            assert not caller.introspect(token).active
