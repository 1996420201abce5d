"""Somebody with a phone and a passcode, who does what customers do, and remembers what was answered."""

from collections import Counter
from dataclasses import replace

import grpc
from google.rpc import error_details_pb2

from support.caller import COFFEE, all_at_once, new_profile_id, passcode
from support.errors import detail
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import evaluation_pb2, secrets_pb2, types_pb2

from .standing import LOCKING_FAILURES, Doubt, Observation, Standing
from .used import Attempt, Consumption, Revoked, Ticket, check_all

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
REFUSED_PROOF = (evaluation_pb2.OUTCOME_TRY_AGAIN, evaluation_pb2.OUTCOME_FAILED, evaluation_pb2.OUTCOME_LOCKED_OUT)

#: Sent at once where only one may succeed.
CROWD = 3
#: Of what was used, tried again after each fault: the latest, and as many again of all before.
REPLAYS = 8
#: A passcode is verified at low priority: whatever else this machine does comes first.
PASSCODE_SECONDS = 60
#: So many of all customers show their passcode after a fault.
PASSCODE_SHARE = 0.3


class Customer:
    """Used by one thread at a time. Calls go by whichever `caller` is given: the service may be another process by now."""

    def __init__(self, random):
        self.random = random
        self.profile_id = new_profile_id()
        self.phone = Phone(BIOMETRY, DEVICE_OWNER)
        self.passcode = None
        self.standing = Standing()
        #: Of each kind, as many as were answered.
        self.events = Counter()
        self.used = []
        #: The last call, where it has no answer.
        self.doubt = None

    # One thing after another

    def act(self, caller):
        """One thing that can be done as things stand."""
        self.random.choice(self._possible())(caller)

    def _possible(self):
        if not self.standing.is_bound:
            return [self.bind]
        if self.standing.is_passcode_locked:
            return [self.unlock_passcode]
        if self.standing.is_locked:
            return [self.recover]
        often = 2 * [self.log_in, self.log_in, self.pay, self.pay, self.try_wrong_finger]
        often += [self.recover, self.invalidate, self.revoke_token, self.revoke_binding]
        if self.passcode is None:
            return [*often, self.set_first_passcode]
        return [
            *often,
            self.try_wrong_passcode,
            self.log_in_by_passcode,
            self.change_passcode,
            self.change_settings,
        ]

    def bind(self, caller):
        begun = caller.begin_binding(self.phone, self.profile_id)
        request = caller.completion(self.phone, begun)

        def learn(answer):
            self.used.append(Ticket(request))
            self.phone.binding = answer and answer.binding

        self._effect(
            "binding.created",
            lambda: caller.bindings.CompleteBinding(request),
            changes={"is_bound": True},
            learn=learn,
            retry=lambda caller: _completes(caller, request),
        )

    def set_first_passcode(self, caller):
        request = caller.secret_change(self.profile_id, passcode("2468"))

        def learn(_):
            self.passcode = "2468"

        self._effect(
            "secret.set", lambda: caller.secrets.SetSecret(request, timeout=PASSCODE_SECONDS), learn=learn
        )

    def log_in(self, caller):
        return self._succeed(caller, caller.attempt(self.phone, caller.begin(self.phone)))

    def recover(self, caller):
        """By the phone's own passcode, which also ends the biometric lock (R12)."""
        opened = caller.begin(self.phone, "deviceOwnerAuthentication")
        self._succeed(caller, caller.attempt(self.phone, opened, factor=DEVICE_OWNER))

    def pay(self, caller):
        opened = caller.begin(self.phone, "payment", transaction=COFFEE)
        token = self._succeed(caller, caller.attempt(self.phone, opened)).token
        request = caller.consumption(token)
        self._effect(
            "token.consumed",
            lambda: _the_one(caller.tokens.ConsumeToken, request, lambda answer: answer.consumed),
            learn=lambda _: self.used.append(Consumption(request)),
            retry=lambda caller: _consumes(caller, request),
        )

    def try_wrong_finger(self, caller):
        opened = caller.begin(self.phone)
        failures = self.standing.failures + 1
        answer = self._effect(
            _kind_of_failure(failures),
            lambda: caller.submit_wrong(self.phone, opened),
            changes={"failures": failures},
        )
        assert answer.outcome in REFUSED_PROOF, answer

    def invalidate(self, caller):
        opened = caller.begin(self.phone)
        request = caller.attempt(self.phone, opened)
        self._effect(
            "evaluation.invalidated",
            lambda: caller.invalidate(opened),
            learn=lambda _: self.used.append(Attempt(request, "it was invalidated")),
        )

    def revoke_token(self, caller):
        token = self.log_in(caller).token
        self._effect(
            "token.revoked",
            lambda: caller.revoke_token(token),
            learn=lambda _: self.used.append(Revoked(caller.application_id, token)),
        )

    def revoke_binding(self, caller):
        token = self.log_in(caller).token
        open_attempt = caller.attempt(self.phone, caller.begin(self.phone))

        def learn(_):
            self.used += [Revoked(caller.application_id, token), Attempt(open_attempt, "its binding was revoked")]
            self.phone.binding = None

        self._effect(
            "binding.revoked", lambda: caller.revoke(self.phone.binding), changes={"is_bound": False}, learn=learn
        )

    def try_wrong_passcode(self, caller):
        opened = caller.begin(self.phone, profile_id=self.profile_id)
        failures = self.standing.passcode_failures + 1
        answer = self._effect(
            _kind_of_failure(failures),
            lambda: caller.evaluations.SubmitAttempt(
                caller.attempt(self.phone, opened, secret=passcode("0001")), timeout=PASSCODE_SECONDS
            ),
            changes={"passcode_failures": failures},
            is_counted_first=True,
        )
        assert answer.outcome in REFUSED_PROOF, answer

    def log_in_by_passcode(self, caller):
        opened = caller.begin(self.phone, profile_id=self.profile_id)
        request = caller.attempt(self.phone, opened, secret=passcode(self.passcode))
        answer = self._effect(
            "evaluation.succeeded",
            lambda: caller.evaluations.SubmitAttempt(request, timeout=PASSCODE_SECONDS),
            changes={"passcode_failures": 0},
            is_counted_first=True,
            learn=lambda _: self.used.append(Attempt(request, "it succeeded by passcode")),
        )
        assert answer.outcome == SUCCEEDED, answer

    def change_passcode(self, caller):
        new = str(self.random.randrange(10_000_000, 99_999_999))
        request = caller.secret_change(self.profile_id, passcode(new), old_secret=passcode(self.passcode))

        def learn(_):
            self.passcode = new

        answer = self._effect(
            "secret.set",
            lambda: caller.secrets.SetSecret(request, timeout=PASSCODE_SECONDS),
            changes={"passcode_failures": 0},
            is_counted_first=True,
            learn=learn,
        )
        assert answer.accepted, answer

    def unlock_passcode(self, caller):
        self._effect(
            "secret.unlocked",
            lambda: caller.unlock_secret(self.profile_id, secrets_pb2.SECRET_KIND_PASSCODE),
            changes={"passcode_failures": 0},
        )

    def change_settings(self, caller):
        others = {types_pb2.FACTOR_BIOMETRY, types_pb2.FACTOR_PASSCODE} - {self.standing.preferred}
        preferred = self.random.choice(sorted(others))
        self._effect(
            "settings.changed",
            lambda: caller.set_settings(
                self.profile_id, biometry_enabled=True, passcode_enabled=True, preferred=preferred
            ),
            changes={"preferred": preferred},
        )

    def _succeed(self, caller, request):
        """With the same request several times at once: one of them succeeds (R35)."""
        return self._effect(
            "evaluation.succeeded",
            lambda: _the_one(
                caller.evaluations.SubmitAttempt, request, lambda answer: answer.outcome == SUCCEEDED
            ),
            changes={"failures": 0},
            learn=lambda _: self.used.append(Attempt(request, "it succeeded")),
            retry=lambda caller: _attempts(caller, request),
        )

    def _effect(self, kind, send, *, changes=None, is_counted_first=False, learn=None, retry=None):
        counted = replace(self.standing, passcode_failures=self.standing.passcode_failures + 1)
        self.doubt = Doubt(
            kind,
            after=replace(self.standing, **(changes or {})),
            begun=counted if is_counted_first else None,
            learn=learn,
            retry=retry,
        )
        answer = send()
        self._done(answer)
        return answer

    def _done(self, answer=None):
        doubt, self.doubt = self.doubt, None
        self.events[doubt.kind] += 1
        self.standing = doubt.after
        if doubt.learn:
            doubt.learn(answer)

    # Afterwards

    def check(self, caller):
        """Everything is as it was answered, and nothing that was used is usable."""
        self.settle(caller)
        older = self.used[:-REPLAYS]
        tried = self.used[-REPLAYS:] + self.random.sample(older, min(REPLAYS, len(older)))
        self.events += check_all(tried, caller)
        self._check_use(caller)

    def settle(self, caller):
        """Everything answered is there, with an event for each effect; the last call was done as a whole or not at
        all."""
        seen = Observation.of(caller, self.profile_id)
        lost = self.events - seen.events
        assert not lost, f"answered, and without an event: {lost}"
        unasked = seen.events - self.events
        if unasked:
            assert self.doubt and unasked == {self.doubt.kind: 1}, f"events that nobody caused: {unasked}, {self.doubt}"
            self._check_again(caller, was_done=True)
        elif self.doubt:
            seen = self._check_again(caller, was_done=False) or seen
        self._learn_binding(seen.binding)
        assert seen.standing == self.standing, f"{seen.standing}, answered was {self.standing}"

    def _check_again(self, caller, *, was_done):
        """A retry does what was not done, and not a second time what was."""
        doubt = self.doubt
        if doubt.retry:
            did = doubt.retry(caller)
            assert did != was_done, f"{doubt.kind}: has an event: {was_done}, and was done by the retry: {did}"
            self._done()
            return Observation.of(caller, self.profile_id)
        if was_done:
            self._done()
            return None
        self.doubt = None
        seen = Observation.of(caller, self.profile_id)
        if doubt.begun and seen.standing == doubt.begun:
            self.standing = seen.standing
        return seen

    def _learn_binding(self, binding):
        if self.phone.binding is None:
            self.phone.binding = binding
        elif binding is not None:
            assert binding.binding_id == self.phone.binding.binding_id

    def _check_use(self, caller):
        """What was answered last is what holds: the key, and the passcode."""
        if not self.standing.is_bound:
            self.bind(caller)
        if self.standing.is_locked:
            self.recover(caller)
        self.log_in(caller)
        has_time = self.random.random() < PASSCODE_SHARE
        if has_time and self.passcode and not self.standing.is_passcode_locked:
            self.log_in_by_passcode(caller)


def _kind_of_failure(failures):
    return "evaluation.locked_out" if failures == LOCKING_FAILURES else "evaluation.failed"


def _the_one(method, request, is_success):
    """The answer that is a success: of several at once it is one, if they are answered."""
    answers = all_at_once(method, [request] * CROWD)
    successes = [each for each in answers if not isinstance(each, grpc.RpcError) and is_success(each)]
    errors = [each for each in answers if isinstance(each, grpc.RpcError)]
    assert len(successes) <= 1, f"{len(successes)} successes"
    if successes:
        return successes[0]
    if errors:
        raise errors[0]
    raise AssertionError(f"no success, and no error: {answers[0]}")


def _attempts(caller, request):
    outcome = caller.evaluations.SubmitAttempt(request).outcome
    assert outcome in (SUCCEEDED, evaluation_pb2.OUTCOME_INVALID_CONTEXT), outcome
    return outcome == SUCCEEDED


def _consumes(caller, request):
    answer = caller.tokens.ConsumeToken(request)
    assert answer.consumed or answer.reason == "ALREADY_CONSUMED", answer
    return answer.consumed


def _completes(caller, request):
    try:
        caller.bindings.CompleteBinding(request)
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.FAILED_PRECONDITION:
            raise
        assert detail(error, error_details_pb2.ErrorInfo).reason == "TICKET_INVALID"
        return False
    return True
