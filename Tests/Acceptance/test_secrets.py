"""Passcode and gesture: set, changed, removed, guessed at, locked, in parallel and over restarts (R12-R17)."""

import json
import time
import unicodedata

import grpc
import pytest
from google.rpc import error_details_pb2

from support.caller import (
    all_at_once,
    gesture,
    new_caller,
    new_profile_id,
    passcode,
    primary_login,
    seconds_from_now,
    wait_until,
)
from support.errors import check_refusal, detail, refused
from support.phone import BIOMETRY, Phone
from support.stubs import evaluation_pb2, secrets_pb2, types_pb2

PASSCODE = types_pb2.FACTOR_PASSCODE
GESTURE = types_pb2.FACTOR_GESTURE

PASSCODE_KIND = secrets_pb2.SECRET_KIND_PASSCODE
GESTURE_KIND = secrets_pb2.SECRET_KIND_GESTURE

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT

#: Right, another that is right after a change, and wrong ones, by kind.
SECRETS = {
    PASSCODE_KIND: (passcode("2468"), passcode("1357"), passcode("0001")),
    GESTURE_KIND: (gesture(0, 1, 2, 5, 8), gesture(6, 7, 8, 4), gesture(0, 1, 2, 5)),
}
FACTOR = {PASSCODE_KIND: PASSCODE, GESTURE_KIND: GESTURE}
NAMES = {PASSCODE_KIND: "PASSCODE", GESTURE_KIND: "GESTURE"}

KINDS = pytest.mark.parametrize("kind", SECRETS, ids=["passcode", "gesture"])

PARALLEL_GUESSES = 200
PARALLEL_LOGINS = 50
#: The standard ladder's first rung: so many guesses, and then a minute.
BUDGET = 5
FIRST_LOCK_SECONDS = 60
#: Times of the API may be rounded by less.
ROUNDING_SECONDS = 0.002

#: The built-in ladder in a hurry.
HURRIED = {
    "purpose": "login",
    "factors": ["gesture", "passcode"],
    "ladder": [{"failures": 2, "lock": "1s"}, {"failures": 3, "lock": "2s"}, {"failures": 4, "disable": True}],
}


class Person:
    """Somebody with a passcode or a gesture, and no phone that is bound."""

    def __init__(self, caller, kind=PASSCODE_KIND, policy="login", profile_id=None):
        self.caller, self.kind, self.policy = caller, kind, policy
        self.right, self.other, self.wrong = SECRETS[kind]
        self.profile_id = profile_id or new_profile_id()
        self.phone = Phone()

    def with_secret(self):
        assert self.caller.set_secret(self.profile_id, self.right).accepted
        return self

    def begin(self):
        return self.caller.begin(self.phone, self.policy, profile_id=self.profile_id)

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


@KINDS
def test_a_wrong_old_one_changes_nothing_and_counts(caller, kind):
    person = Person(caller, kind).with_secret()
    answers = [caller.set_secret(person.profile_id, person.other, old_secret=person.wrong) for _ in range(BUDGET + 1)]
    assert not any(answer.accepted for answer in answers)
    assert [(answer.denial.reason, answer.attempts_left) for answer in answers] == [
        *[("WRONG_SECRET", left) for left in (4, 3, 2, 1)],
        *[(f"{NAMES[kind]}_LOCKED", 0)] * 2,
    ]
    assert 0 < answers[-1].denial.retry_after.ToSeconds() <= FIRST_LOCK_SECONDS
    assert all(answer.denial.la_error == -1 and answer.denial.message.text for answer in answers)
    # The ladder is one, in and out of evaluations.
    assert person.begin().denial.reason == f"{NAMES[kind]}_LOCKED"
    assert person.standing().failures == BUDGET


@KINDS
def test_guessing_by_turns_in_both_places_has_one_budget(caller, kind):
    person = Person(caller, kind).with_secret()
    opened = person.begin()
    assert brief(person.attempt(person.wrong, opened)) == (TRY_AGAIN, -1, 4)
    assert caller.set_secret(person.profile_id, person.other, old_secret=person.wrong).attempts_left == 3
    assert caller.remove_secret(person.profile_id, kind, old_secret=person.wrong).attempts_left == 2
    assert brief(person.attempt(person.wrong, opened)) == (TRY_AGAIN, -1, 1)
    assert brief(person.attempt(person.wrong, opened)) == (LOCKED_OUT, -1, 0)


def test_an_old_one_that_never_was_is_a_wrong_one(caller):
    """Nobody learns by a change whether somebody has a passcode (R37)."""

    def dialogue(person):
        answers = [caller.set_secret(person.profile_id, person.other, old_secret=person.wrong) for _ in range(BUDGET)]
        assert 0 < answers[-1].denial.retry_after.ToSeconds() <= FIRST_LOCK_SECONDS
        answers[-1].denial.ClearField("retry_after")
        return answers

    unknown, known = Person(caller), Person(caller).with_secret()
    assert dialogue(unknown) == dialogue(known)
    for person in (unknown, known):
        answer = caller.set_secret(person.profile_id, person.other, old_secret=person.right)
        assert (answer.accepted, answer.denial.reason) == (False, "PASSCODE_LOCKED")


@KINDS
def test_a_login_of_six_minutes_ago_sets_and_removes_nothing(caller, kind):
    person = Person(caller, kind).with_secret()
    old = primary_login(authenticated_at=seconds_from_now(-6 * 60))
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="PRIMARY_AUTHENTICATION_TOO_OLD"):
        caller.set_secret(person.profile_id, person.other, primary=old)
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="PRIMARY_AUTHENTICATION_TOO_OLD"):
        caller.remove_secret(person.profile_id, kind, primary=old)
    assert person.attempt(person.right).outcome == SUCCEEDED


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_passcode_is_the_same_on_all_keyboards(caller, form):
    """Firefox on macOS sends letters with marks decomposed."""
    text = "Übergrößen träger"
    person = Person(caller)
    assert caller.set_secret(person.profile_id, passcode(unicodedata.normalize(form, text))).accepted
    for typed in ("NFC", "NFD"):
        assert person.attempt(passcode(unicodedata.normalize(typed, text))).outcome == SUCCEEDED
    assert person.attempt(passcode(text.replace(" ", "\u00a0"))).outcome == SUCCEEDED
    assert person.attempt(passcode("Ubergroßen trager")).outcome == TRY_AGAIN
    old = passcode(unicodedata.normalize("NFD", text))
    assert caller.set_secret(person.profile_id, passcode("2468"), old_secret=old).accepted


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


def test_the_ladder_rises_until_it_is_disabled(start):
    server = start(configuration={"policies": json.dumps({"hurried": HURRIED})})
    person = Person(new_caller(server), policy="hurried").with_secret()
    opened = person.begin()

    assert brief(person.attempt(person.wrong, opened)) == (TRY_AGAIN, -1, 1)
    for seconds in (1, 2):
        begun = time.time()
        locked = person.attempt(person.wrong, opened)
        assert brief(locked) == (LOCKED_OUT, -1, 0)
        assert 0 < locked.retry_after.ToTimedelta().total_seconds() <= seconds
        # Locked for that long from some moment of the attempt, however long the attempt took.
        until = person.standing().locked_until
        assert begun + seconds - ROUNDING_SECONDS <= until.ToNanoseconds() / 1e9 <= time.time() + seconds
        wait_until(until)
    disabled = person.attempt(person.wrong, opened)
    assert brief(disabled) == (LOCKED_OUT, -1, 0)
    assert not disabled.HasField("retry_after")

    assert person.standing().disabled
    assert person.begin().denial.reason == "PASSCODE_DISABLED"
    answer = person.caller.set_secret(person.profile_id, person.other, old_secret=person.right)
    assert (answer.accepted, answer.denial.reason) == (False, "PASSCODE_DISABLED")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="PASSCODE_DISABLED"):
        person.caller.unlock_secret(person.profile_id, PASSCODE_KIND)

    assert person.caller.set_secret(person.profile_id, person.other).accepted
    assert person.attempt(person.other).outcome == SUCCEEDED


def test_a_secret_is_a_profiles_in_one_application(caller, other_caller):
    person = Person(caller).with_secret()
    stranger = Person(other_caller, profile_id=person.profile_id)
    opened = other_caller.begin(stranger.phone, profile_id=person.profile_id)
    for secret in [person.right, person.wrong] * 2:
        assert stranger.attempt(secret, opened).outcome != SUCCEEDED
    assert person.standing().failures == 0


@KINDS
def test_support_ends_a_lock(caller, kind):
    person = Person(caller, kind).with_secret()
    opened = person.begin()
    for _ in range(BUDGET):
        person.attempt(person.wrong, opened)
    for _ in range(2):
        caller.unlock_secret(person.profile_id, kind, "called, and knew the answers")
    assert person.standing().failures == 0
    assert person.attempt(person.right, opened).outcome == SUCCEEDED
    unlocked = [event for event in caller.events() if event.kind == "secret.unlocked"]
    assert unlocked
    assert unlocked[0].details["stated_reason"] == "called, and knew the answers"


def test_support_unlocks_nothing_that_is_not_there(caller, other_caller):
    person = Person(caller).with_secret()
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.unlock_secret(person.profile_id, GESTURE_KIND)
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.unlock_secret("nobody", PASSCODE_KIND)
    with refused(grpc.StatusCode.NOT_FOUND):
        other_caller.unlock_secret(person.profile_id, PASSCODE_KIND)


# With a phone: lockout, domain state (R4, R8, R12, R26)


def test_wrong_passcodes_end_no_evaluation_and_touch_no_finger(caller, phone):
    person = Person(caller, profile_id=phone.binding.profile_id).with_secret()
    opened = caller.begin(phone)
    for _ in range(BUDGET):
        answer = caller.submit(phone, opened, secret=person.wrong)
    assert brief(answer) == (LOCKED_OUT, -1, 0)
    assert list(answer.next_factors) == [BIOMETRY]
    assert caller.can_evaluate(phone).biometry_attempts_left == 5
    assert caller.submit(phone, opened).outcome == SUCCEEDED


def test_a_revoked_binding_has_no_passcode(caller, phone):
    """R36: it is told so (R37), and the right secret helps nothing."""
    person = Person(caller, profile_id=phone.binding.profile_id).with_secret()
    opened = caller.begin(phone)
    caller.revoke(phone.binding)
    answer = caller.submit(phone, opened, secret=person.right)
    assert answer.denial.reason == "BINDING_REVOKED"
    assert answer.outcome != SUCCEEDED
    assert not answer.token and not answer.profile_id


@KINDS
@pytest.mark.parametrize("replaced", [False, True], ids=["revoked", "replaced"])
def test_guesses_through_a_revoked_binding_lock_its_owner_out_of_nothing(caller, kind, replaced):
    """R10, R37: an attempt ends with BINDING_REVOKED, with the right secret and with wrong ones, and counts nothing."""
    phone = Phone()
    person = Person(caller, kind, profile_id=caller.bind(phone).profile_id).with_secret()
    before = caller.begin(phone)
    if replaced:
        other = Phone()
        other.device_id = phone.device_id
        caller.bind(other, new_profile_id(), replace_existing=True)
    else:
        caller.revoke(phone.binding)
    assert caller.begin(phone).denial.reason == "BINDING_REVOKED"
    for secret in [person.wrong] * (BUDGET + 1) + [person.right]:
        answer = caller.submit(phone, before, secret=secret)
        assert (answer.outcome, answer.denial.reason) == (evaluation_pb2.OUTCOME_FAILED, "BINDING_REVOKED")
    assert person.standing().failures == 0
    assert person.attempt(person.right).outcome == SUCCEEDED


def test_what_was_guessed_before_a_revocation_is_not_forgotten_after_it(caller):
    """The profile keeps what was counted, and guesses after the revocation add nothing."""
    phone = Phone()
    person = Person(caller, profile_id=caller.bind(phone).profile_id).with_secret()
    opened = caller.begin(phone)
    answers = [caller.submit(phone, opened, secret=person.wrong) for _ in range(2)]
    assert [each.attempts_left for each in answers] == [4, 3]
    caller.revoke(phone.binding)
    assert caller.submit(phone, opened, secret=person.wrong).denial.reason == "BINDING_REVOKED"
    assert person.standing().failures == 2



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
    return person.caller.beginning(person.phone, person.policy, profile_id=person.profile_id)


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
