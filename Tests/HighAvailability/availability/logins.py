"""Phones that log in and pay without a pause, at all processes of the service, and remember what each was answered."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, replace

import grpc
import jwt

from faults.calls import INVALID_CONTEXT, SUCCEEDED
from support.caller import COFFEE, Caller, all_at_once, from_threads, new_caller, new_profile_id
from support.phone import Phone
from support.stubs import administration_pb2, evaluation_pb2

#: At each process. They leave the cores to the cluster.
PHONES = 3
#: Between two logins of a phone.
_PAUSE_SECONDS = 0.05
#: Longer than the store tries.
_CALL_SECONDS = 8
#: Refusals of a service whose store is out of reach. All others are failures of the test.
_EXPECTED = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
#: Longer than a failover takes.
PATIENCE_SECONDS = 90
#: Of evaluations that were answered just before a fault or at any time in it: so many are tried again.
REPLAYS = 100
#: An evaluation's row stays until it expires, and some seconds longer. A row that expires later than in this time is
#: there.
_EXPIRY_SECONDS = 3


@dataclass(frozen=True)
class Login:
    """One that was answered SUCCEEDED, or had no answer."""

    server: int
    profile_id: str
    #: By the clock that is never set.
    began: float
    ended: float
    #: In microseconds since 1970.
    expires_at: int
    request: evaluation_pb2.SubmitAttemptRequest
    #: The claim `jti`; `None` without an answer.
    token_id: str | None = None
    token: str = ""
    is_payment: bool = False


class Logins:
    """They go on until `end`."""

    def __init__(self, servers):
        first = new_caller(servers[0])
        self.application_id = first.application_id
        self._callers = [Caller(server.channel(), self.application_id) for server in servers]
        self.answered = []
        self.unanswered = []
        #: How many of those without an answer were done all the same, by profile.
        self._done_unanswered = Counter()
        self._failures = []
        #: The latest of each process.
        self._refusals = {}
        self._changed = threading.Condition()
        self._is_over = threading.Event()
        self._threads = []
        for index in range(len(servers)):
            for _ in range(PHONES):
                phone = Phone()
                first.bind(phone, new_profile_id())
                self._threads.append(threading.Thread(target=self._go_on, args=(index, phone), daemon=True))
        for thread in self._threads:
            thread.start()

    def end(self):
        """Returns after the last answer."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _go_on(self, index, phone):
        number = 0
        try:
            while not self._is_over.wait(_PAUSE_SECONDS):
                number += 1
                self._log_in(index, phone, is_payment=number % 2 == 0)
        except BaseException as failure:
            with self._changed:
                self._failures.append(failure)
                self._changed.notify_all()

    def _log_in(self, index, phone, is_payment):
        caller = self._callers[index]
        begun = {"server": index, "profile_id": phone.binding.profile_id, "began": time.monotonic()}
        try:
            payment = {"policy": "payment", "transaction": COFFEE} if is_payment else {}
            opened = caller.begin(phone, **payment)
        except grpc.RpcError as error:
            return self._refused(index, error)
        assert opened.evaluation, opened
        request = caller.attempt(phone, opened)
        sent = {
            "expires_at": opened.expires_at.seconds * 1_000_000 + opened.expires_at.nanos // 1000,
            "request": request,
            "is_payment": is_payment,
        }
        try:
            answer = caller.evaluations.SubmitAttempt(request, timeout=_CALL_SECONDS)
        except grpc.RpcError as error:
            self._note(self.unanswered, Login(**begun, **sent, ended=time.monotonic()))
            return self._refused(index, error)
        ended = time.monotonic()
        assert answer.outcome == SUCCEEDED, answer
        login = Login(**begun, **sent, ended=ended, token_id=_token_id(answer), token=answer.token)
        self._note(self.answered, login)

    def _refused(self, index, error):
        assert error.code() in _EXPECTED, error
        self._refusals[index] = f"{error.code()}: {error.details()}"

    def _note(self, logins, login):
        with self._changed:
            logins.append(login)
            self._changed.notify_all()

    # While they go on

    def await_each(self, since, count=1):
        """Until each process has answered so many logins that began after the moment."""

        def has_enough():
            counts = Counter(login.server for login in self.answered if login.began >= since)
            return self._failures or all(counts[index] >= count for index in range(len(self._callers)))

        with self._changed:
            is_answered = self._changed.wait_for(has_enough, PATIENCE_SECONDS)
        assert is_answered, f"a process answers no login: {self._refusals}"
        if self._failures:
            raise self._failures[0]

    def answered_since(self, moment):
        with self._changed:
            return [login for login in self.answered if login.ended >= moment]

    # Afterwards

    def outages(self, since):
        """For each process, the longest time without an answer that ended after the moment."""
        longest = []
        for index in range(len(self._callers)):
            times = sorted(login.ended for login in self.answered if login.server == index)
            longest.append(max(after - before for before, after in zip(times, times[1:]) if after >= since))
        return longest

    def settle(self):
        """What had no answer was done as a whole or not at all. Tried again it is done, and once in all."""
        for login in self.unanswered:
            answer = self._callers[-1].evaluations.SubmitAttempt(login.request)
            if answer.outcome == SUCCEEDED:
                again = replace(login, ended=time.monotonic(), token_id=_token_id(answer), token=answer.token)
                self.answered.append(again)
            else:
                assert answer.outcome == INVALID_CONTEXT, answer
                assert login.expires_at > time.time() * 1_000_000, "the test took too long to tell"
                self._done_unanswered[login.profile_id] += 1

    def check(self, rows):
        """Each answer is in the audit log and in the store, each once, and nothing is there that was not asked for.

        `rows`: when the evaluations expire that the store has as finished, in microseconds since 1970."""
        application = administration_pb2.EventFilter(application_id=self.application_id)
        kind = "evaluation.succeeded"
        succeeded = [event for event in self._callers[0].list_events(application) if event.kind == kind]
        payments = Counter(event.details["token_id"] for event in succeeded if "token_id" in event.details)
        lost = [login for login in self.answered if login.is_payment and payments[login.token_id] != 1]
        assert not lost, f"{len(lost)} answered payments are not in the audit log once: {lost[0]}"
        logged = Counter(event.profile_id for event in succeeded)
        answered = Counter(login.profile_id for login in self.answered)
        assert logged == answered + self._done_unanswered, f"{answered} answered, {logged} in the audit log"
        earliest = (time.time() + _EXPIRY_SECONDS) * 1_000_000
        missing = [each for each in self.answered if each.expires_at > earliest and each.expires_at not in rows]
        assert not missing, f"{len(missing)} answered logins have no finished evaluation: {missing[0]}"

    def check_use(self, since):
        """No challenge that was used serves again, at any process, and each token of an answer is active."""
        recent = self.answered_since(since)
        assert recent, "no login just before the fault"
        for caller in self._callers:
            requests = [login.request for login in recent[:REPLAYS]]
            for request, answer in zip(requests, all_at_once(caller.evaluations.SubmitAttempt, requests), strict=True):
                if isinstance(answer, grpc.RpcError):
                    # Sent while the process was still losing connections: once more.
                    assert answer.code() in _EXPECTED, answer
                    answer = caller.evaluations.SubmitAttempt(request)
                assert answer.outcome != SUCCEEDED and not answer.token, "a challenge served twice"
            tokens = from_threads(PHONES, lambda part, at=caller: [
                at.introspect(login.token).active for login in recent[:REPLAYS][part::PHONES]
            ])
            assert all(all(part) for part in tokens), "a token was issued for a commit that is lost"


def _token_id(answer):
    return jwt.decode(answer.token, options={"verify_signature": False})["jti"]


class Revocation:
    """A token that was revoked, and that all processes are asked for, again and again."""

    def __init__(self, servers, application_id, token):
        self._callers = [Caller(server.channel(), application_id) for server in servers]
        self._token = token
        assert self._callers[0].introspect(token).active
        self._callers[0].revoke_token(token)
        self._is_over = threading.Event()
        self._answers = Counter()
        self._threads = [threading.Thread(target=self._read, args=(each,), daemon=True) for each in self._callers]
        for thread in self._threads:
            thread.start()

    def _read(self, caller):
        while not self._is_over.wait(_PAUSE_SECONDS / 10):
            try:
                self._answers[caller.introspect(self._token).active] += 1
            except grpc.RpcError as error:
                self._answers[error.code()] += 1

    def end(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        assert self._answers[False] > 0, self._answers
        assert self._answers[True] == 0, f"a revoked token was active: {self._answers}"
