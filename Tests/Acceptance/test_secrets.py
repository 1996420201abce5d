"""Passcode and gesture: set, guessed at, locked, and in parallel (R12-R17)."""

import grpc
import pytest
from google.rpc import error_details_pb2

from support.caller import all_at_once, gesture, new_caller, new_profile_id, passcode
from support.errors import check_refusal, detail
from support.phone import Phone
from support.stubs import evaluation_pb2, secrets_pb2, types_pb2

PASSCODE = types_pb2.FACTOR_PASSCODE
GESTURE = types_pb2.FACTOR_GESTURE

PASSCODE_KIND = secrets_pb2.SECRET_KIND_PASSCODE
GESTURE_KIND = secrets_pb2.SECRET_KIND_GESTURE

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT

#: A right one and a wrong one, by kind.
SECRETS = {
    PASSCODE_KIND: (passcode("2468"), passcode("0001")),
    GESTURE_KIND: (gesture(0, 1, 2, 5, 8), gesture(0, 1, 2, 5)),
}
FACTOR = {PASSCODE_KIND: PASSCODE, GESTURE_KIND: GESTURE}
NAMES = {PASSCODE_KIND: "PASSCODE", GESTURE_KIND: "GESTURE"}

KINDS = pytest.mark.parametrize("kind", SECRETS, ids=["passcode", "gesture"])

PARALLEL_GUESSES = 200
PARALLEL_LOGINS = 50
#: The standard ladder's first rung: so many guesses, and then a minute.
BUDGET = 5
FIRST_LOCK_SECONDS = 60


class Person:
    """Somebody with a passcode or a gesture, and no phone that is bound."""

    def __init__(self, caller, kind=PASSCODE_KIND, profile_id=None):
        self.caller, self.kind = caller, kind
        self.right, self.wrong = SECRETS[kind]
        self.profile_id = profile_id or new_profile_id()
        self.phone = Phone()

    def with_secret(self):
        assert self.caller.set_secret(self.profile_id, self.right).accepted
        return self

    def begin(self):
        return self.caller.begin(self.phone, profile_id=self.profile_id)

    def attempt(self, secret, opened=None):
        return self.caller.submit(self.phone, opened or self.begin(), secret=secret)

    def standing(self):
        """Of the secret, as support staff sees it."""
        [standing] = [each for each in self.caller.get_profile(self.profile_id).secrets if each.kind == self.kind]
        return standing


def brief(answer):
    return answer.outcome, answer.la_error, answer.attempts_left


# Setting, changing, removing (R16)


@KINDS
def test_a_first_secret_logs_in(caller, kind):
    person = Person(caller, kind)
    answer = caller.set_secret(person.profile_id, person.right)
    assert answer == secrets_pb2.SetSecretResponse(accepted=True)
    opened = person.begin()
    assert list(opened.factors) == [FACTOR[kind]]
    assert opened.domain_state == types_pb2.DOMAIN_STATE_VERDICT_UNSPECIFIED
    answer = person.attempt(person.right, opened)
    assert (answer.outcome, answer.la_error, answer.result) == (SUCCEEDED, 0, evaluation_pb2.RESULT_SUCCESS)
    assert answer.profile_id == person.profile_id
    claims = caller.introspect(answer.token).claims
    assert (claims.profile_id, claims.binding_id, list(claims.methods)) == (person.profile_id, "", ["pin"])
    settings = caller.get_settings(person.profile_id)
    assert (settings.passcode_set, settings.passcode_enabled) == (kind == PASSCODE_KIND,) * 2
    assert (settings.gesture_set, settings.gesture_enabled) == (kind == GESTURE_KIND,) * 2
    assert settings.biometry_enabled


# The ladder (R13), and what ends it


@KINDS
def test_five_wrong_ones_lock_it_for_a_minute(caller, kind):
    person = Person(caller, kind).with_secret()
    opened = person.begin()
    answers = [person.attempt(person.wrong, opened) for _ in range(BUDGET)]
    assert [brief(answer) for answer in answers] == [
        *[(TRY_AGAIN, -1, left) for left in (4, 3, 2, 1)],
        (LOCKED_OUT, -1, 0),
    ]
    assert not any(answer.HasField("retry_after") for answer in answers[:-1])
    assert all(answer.message.text for answer in answers)
    assert 0 < answers[-1].retry_after.ToSeconds() <= FIRST_LOCK_SECONDS

    # The right one is not verified, and not counted.
    locked = person.attempt(person.right, opened)
    assert brief(locked) == (LOCKED_OUT, -1, 0)
    assert locked.retry_after.ToSeconds() <= answers[-1].retry_after.ToSeconds()
    assert not locked.token and not locked.profile_id
    assert person.standing().failures == BUDGET

    denial = person.begin().denial
    assert (denial.reason, denial.la_error) == (f"{NAMES[kind]}_LOCKED", -1)
    assert 0 < denial.retry_after.ToSeconds() <= FIRST_LOCK_SECONDS


# In parallel (R14)


def test_of_parallel_guesses_the_budget_is_verified(server, caller):
    person = Person(caller).with_secret()
    request = caller.attempt(person.phone, person.begin(), secret=person.wrong)
    answers = all_at_once_from_four(server, caller, request, PARALLEL_GUESSES)
    outcomes = [answer.outcome for answer in answers]
    assert (outcomes.count(TRY_AGAIN), outcomes.count(LOCKED_OUT)) == (BUDGET - 1, PARALLEL_GUESSES - BUDGET + 1)
    assert person.standing().failures == BUDGET
    wrong = [event for event in caller.events() if event.kind == "evaluation.failed"]
    assert len(wrong) == BUDGET - 1


def test_parallel_right_ones_all_succeed(caller):
    person = Person(caller).with_secret()
    requests = [
        caller.attempt(person.phone, opened, secret=person.right)
        for opened in all_at_once(caller.evaluations.BeginEvaluation, [beginning(person)] * PARALLEL_LOGINS)
    ]
    answers = []
    while requests:
        told = all_at_once(caller.evaluations.SubmitAttempt, requests)
        late = [isinstance(answer, grpc.RpcError) for answer in told]
        # On a machine that is busy, some have no turn or no verdict in time, and come again. Some have one each time.
        assert not all(late), told
        for answer, is_late in zip(told, late, strict=True):
            if is_late:
                assert answer.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE), answer.details()
            else:
                answers.append(answer)
        requests = [request for request, is_late in zip(requests, late, strict=True) if is_late]
    assert [answer.outcome for answer in answers] == [SUCCEEDED] * PARALLEL_LOGINS
    assert person.standing().failures == 0


def beginning(person):
    return person.caller.beginning(person.phone, profile_id=person.profile_id)


def all_at_once_from_four(server, caller, request, count):
    """The same request so many times, on four connections."""
    callers = [caller, *(new_caller(server, caller.application_id) for _ in range(3))]
    calls = [callers[index % len(callers)].evaluations.SubmitAttempt.future(request) for index in range(count)]
    return [call.result() for call in calls]


#: Hashing gives way to all other work, so on a busy machine the last of many guesses waits long.
GUESS_SECONDS = 60


# R14, R37
def test_guesses_in_one_application_refuse_nobody_in_another(start):
    server = start()
    game, bank = new_caller(server, "game"), new_caller(server, "bank")
    people = [new_profile_id() for _ in range(10)]
    for profile_id in people:
        assert bank.set_secret(profile_id, passcode("2468")).accepted
    # At invented profiles, and never answered before the bank's: more are always on their way.
    guesses = [
        game.secrets.SetSecret.future(
            game.secret_change(new_profile_id(), passcode("1357"), old_secret=passcode("0000")), timeout=GUESS_SECONDS
        )
        for _ in range(400)
    ]
    for profile_id in people:
        assert Person(bank, profile_id=profile_id).attempt(passcode("2468")).outcome == SUCCEEDED
    # Nor the game's own people, by their login.
    for _ in range(3):
        assert game.set_secret(new_profile_id(), passcode("2468")).accepted
    ended = [guess for guess in guesses if guess.done()]
    assert ended
    for guess in ended:
        if (error := guess.exception()) is None:
            assert not guess.result().accepted
            continue
        check_refusal(error, grpc.StatusCode.RESOURCE_EXHAUSTED)
        violations = detail(error, error_details_pb2.QuotaFailure).violations
        # The caller's share is used up, or, on a slow machine, its turn did not come in time.
        assert [violation.subject for violation in violations] in (["caller:local"], ["server"])
    # The guesses that still wait would delay its end.
    server.kill()
