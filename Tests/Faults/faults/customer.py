"""Somebody with a phone and a passcode, who does what customers do, and remembers what was answered."""

from collections import Counter
from dataclasses import replace

import grpc

from support.caller import COFFEE, new_profile_id, passcode
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import secrets_pb2, types_pb2

from .calls import SUCCEEDED, TooLate, complete, completes, consume_often, consumes, submit, submit_often, submits
from .standing import LOCKING_FAILURES, Doubt, Observation, Standing
from .used import FAILURES, Attempt, Consumption, Revoked, Ticket, check_all

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
        #: An attempt at the passcode was counted since its last success, and may never have a verdict.
        self.has_lost_attempt = False
        #: Of each kind, as many as were answered.
        self.events = Counter()
        self.used = []
        #: The last call, where it has no answer.
        self.doubt = None

    # One thing after another

    def act(self, caller):
        """One thing that can be done as things stand; on a machine that is very busy it may come too late."""
        try:
            self.random.choice(self._possible())(caller)
        except TooLate:
            self.doubt.refuse()
            self.settle(caller)
        except grpc.RpcError:
            if self.doubt:
                self.doubt.cut_off()
            raise

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
            lambda: complete(caller, request, begun.expires_at),
            changes={"is_bound": True},
            learn=learn,
            retry=lambda caller: completes(caller, request),
        )

    def set_first_passcode(self, caller):
        request = caller.secret_change(self.profile_id, passcode("2468"))

        def learn(_):
            self.passcode = "2468"

        self._effect(
            "secret.set", lambda: caller.secrets.SetSecret(request, timeout=PASSCODE_SECONDS), learn=learn
        )

    def log_in(self, caller):
        return self._succeed(caller, caller.begin(self.phone))

    def recover(self, caller):
        """By the phone's own passcode, which also ends the biometric lock (R12)."""
        opened = caller.begin(self.phone, "deviceOwnerAuthentication")
        self._succeed(caller, opened, factor=DEVICE_OWNER)

    def pay(self, caller):
        opened = caller.begin(self.phone, "payment", transaction=COFFEE)
        paid = self._succeed(caller, opened)
        request = caller.consumption(paid.token)
        answer = self._effect(
            "token.consumed",
            lambda: consume_often(caller, request, paid.token_expires_at),
            learn=lambda _: self.used.append(Consumption(request)),
            retry=lambda caller: consumes(caller, request),
        )
        assert answer.consumed, answer

    def try_wrong_finger(self, caller):
        opened = caller.begin(self.phone)
        failures = self.standing.failures + 1
        request = caller.attempt(self.phone, opened, key=self.phone.wrong_proof(opened.signing_input))
        self._fail(
            [_kind_of_failure(failures)],
            lambda: submit(caller, request, opened.expires_at),
            changes={"failures": failures},
        )

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
        kinds = [_kind_of_failure(failures)]
        if self.has_lost_attempt and failures == LOCKING_FAILURES:
            # As long as the lost one may have a verdict yet, which might be that it was right, nothing is locked (R14).
            kinds.append("evaluation.failed")
        request = caller.attempt(self.phone, opened, secret=passcode("0001"))
        self._fail(
            kinds,
            lambda: submit(caller, request, opened.expires_at, timeout=PASSCODE_SECONDS),
            changes={"passcode_failures": failures},
            is_counted_first=True,
            until=opened.expires_at,
        )

    def log_in_by_passcode(self, caller):
        opened = caller.begin(self.phone, profile_id=self.profile_id)
        request = caller.attempt(self.phone, opened, secret=passcode(self.passcode))
        answer = self._effect(
            "evaluation.succeeded",
            lambda: submit(caller, request, opened.expires_at, timeout=PASSCODE_SECONDS),
            changes={"passcode_failures": 0},
            is_counted_first=True,
            until=opened.expires_at,
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

    def _succeed(self, caller, opened, factor=BIOMETRY):
        """With the same request several times at once."""
        request = caller.attempt(self.phone, opened, factor=factor)
        answer = self._effect(
            "evaluation.succeeded",
            lambda: submit_often(caller, request, opened.expires_at),
            changes={"failures": 0},
            learn=lambda _: self.used.append(Attempt(request, "it succeeded")),
            retry=lambda caller: submits(caller, request),
        )
        assert answer.outcome == SUCCEEDED, answer
        return answer

    def _fail(self, kinds, send, **more):
        """The event says what the answer says."""
        self._begin(kinds, **more)
        answer = send()
        kind = FAILURES.get(answer.outcome)
        assert kind in kinds, f"{kinds} expected of {self.standing}: {answer}"
        self._done(kind, answer)

    def _effect(self, kind, send, **more):
        self._begin([kind], **more)
        answer = send()
        self._done(kind, answer)
        return answer

    def _begin(self, kinds, *, changes=None, is_counted_first=False, until=None, learn=None, retry=None):
        counted = replace(self.standing, passcode_failures=self.standing.passcode_failures + 1)
        self.doubt = Doubt(
            kinds,
            after=replace(self.standing, **(changes or {})),
            counted=counted if is_counted_first else None,
            until=until,
            learn=learn,
            retry=retry,
        )

    def _done(self, kind, answer=None):
        doubt, self.doubt = self.doubt, None
        self.events[kind] += 1
        self._stand(doubt.after)
        if doubt.learn:
            doubt.learn(answer)

    def _stand(self, standing):
        self.standing = standing
        if standing.passcode_failures == 0:
            self.has_lost_attempt = False

    # Afterwards

    def check(self, caller):
        """Everything is as it was answered, and nothing that was used is usable."""
        self.settle(caller)
        older = self.used[:-REPLAYS]
        tried = self.used[-REPLAYS:] + self.random.sample(older, min(REPLAYS, len(older)))
        # Proofs of revoked bindings: each leaves an event, and none counts on the phone (R10).
        self.events += check_all(tried, caller)
        self._check_use(caller)

    def settle(self, caller):
        """Everything answered is there, with an event for each effect; the last call was done as a whole or not at
        all."""
        seen = Observation.of(caller, self.profile_id)
        lost, unasked = self.events - seen.events, seen.events - self.events
        assert not lost, f"answered, and without an event: {lost}; events that nobody caused: {unasked}"
        if unasked:
            kind = next(iter(unasked))
            is_explained = self.doubt and kind in self.doubt.kinds and unasked.total() == 1
            assert is_explained, f"events that nobody caused: {unasked}, {self.doubt}"
            self._check_again(caller, kind)
        elif self.doubt:
            seen = self._check_again(caller) or seen
        self._learn_binding(seen.binding)
        assert seen.standing == self.standing, f"{seen.standing}, answered was {self.standing}"

    def _check_again(self, caller, kind=None):
        """A retry does what was not done, and not a second time what was: `kind` is of the event that says so."""
        doubt = self.doubt
        if doubt.retry:
            did = doubt.retry(caller)
            assert did != bool(kind), f"{doubt.kinds}: has an event: {kind}, and was done by the retry: {did}"
            self._done(kind or doubt.kinds[0])
            return Observation.of(caller, self.profile_id)
        if kind:
            self._done(kind)
            return None
        seen = Observation.of(caller, self.profile_id)
        self.doubt = None
        if seen.standing in (doubt.counted, doubt.settled):
            self.has_lost_attempt |= seen.standing == doubt.counted
            self._stand(seen.standing)
        return seen

    def _learn_binding(self, binding):
        if self.phone.binding is None:
            self.phone.binding = binding
        elif binding is not None:
            assert binding.binding_id == self.phone.binding.binding_id

    def _check_use(self, caller):
        """What was answered last is what holds: the key, and the passcode. And no other proof was counted."""
        if not self.standing.is_bound:
            self.bind(caller)
        self.settle(caller)
        if self.standing.is_locked:
            self.recover(caller)
        self.log_in(caller)
        has_time = self.random.random() < PASSCODE_SHARE
        if has_time and self.passcode and not self.standing.is_passcode_locked:
            self.log_in_by_passcode(caller)


def _kind_of_failure(failures):
    return "evaluation.locked_out" if failures == LOCKING_FAILURES else "evaluation.failed"
