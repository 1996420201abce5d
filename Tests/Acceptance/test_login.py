"""Evaluations and their attempts (R5-R11, R33-R37)."""

import base64
import os

import grpc
import pytest
from google.protobuf.json_format import MessageToDict

from support.caller import COFFEE, all_at_once, gesture, new_caller, new_profile_id, passcode, wait_until
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone, raw_signature, with_high_s
from support.stubs import bindings_pb2, evaluation_pb2, types_pb2

PARALLEL_ATTEMPTS = 50

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
FAILED = evaluation_pb2.OUTCOME_FAILED
CANCELED = evaluation_pb2.OUTCOME_CANCELED
FALLBACK = evaluation_pb2.OUTCOME_FALLBACK
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT


def test_a_login(caller, phone):
    opened = caller.begin(phone)
    assert opened.signing_input != caller.begin(phone).signing_input
    assert list(opened.factors) == [BIOMETRY]
    assert opened.domain_state == types_pb2.DOMAIN_STATE_VERDICT_UNCHANGED
    assert opened.presentation.localized_reason == "Log in to the acceptance test"
    assert not opened.HasField("denial")

    answer = caller.submit(phone, opened)
    assert answer.outcome == SUCCEEDED
    assert answer.la_error == types_pb2.LA_ERROR_UNSPECIFIED
    assert answer.result == evaluation_pb2.RESULT_SUCCESS
    assert answer.profile_id == phone.binding.profile_id
    assert answer.token
    assert caller.get_binding(phone.binding.binding_id).HasField("last_used_at")


def test_a_login_by_the_device_owner(caller):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    opened = caller.begin(phone)
    assert list(opened.factors) == [BIOMETRY, DEVICE_OWNER]
    assert caller.submit(phone, opened, factor=DEVICE_OWNER).outcome == SUCCEEDED


@pytest.mark.parametrize("form", [raw_signature, with_high_s], ids=["raw", "high s"])
def test_every_form_of_a_signature_is_taken(caller, phone, form):
    opened = caller.begin(phone)
    proof = phone.proof(opened.signing_input)
    proof.signature = form(proof.signature)
    assert caller.submit(phone, opened, key=proof).outcome == SUCCEEDED


def test_the_other_form_of_a_used_signature_is_a_replay(caller, phone):
    opened = caller.begin(phone)
    proof = phone.proof(opened.signing_input)
    assert caller.submit(phone, opened, key=proof).outcome == SUCCEEDED
    proof.signature = raw_signature(with_high_s(proof.signature))
    assert_invalid_context(caller.submit(phone, opened, key=proof))


# An evaluation serves once (R35)


def test_a_success_is_not_repeated(caller, phone):
    opened = caller.begin(phone)
    request = caller.attempt(phone, opened)
    assert caller.evaluations.SubmitAttempt(request).outcome == SUCCEEDED
    assert_invalid_context(caller.evaluations.SubmitAttempt(request))
    assert_invalid_context(caller.submit(phone, opened))


def test_of_parallel_identical_attempts_one_succeeds(server, caller, phone):
    request = caller.attempt(phone, caller.begin(phone))
    callers = [caller, *(new_caller(server, caller.application_id) for _ in range(3))]
    calls = [
        callers[index % len(callers)].evaluations.SubmitAttempt.future(request) for index in range(PARALLEL_ATTEMPTS)
    ]
    answers = [call.result() for call in calls]
    assert sum(answer.outcome == SUCCEEDED for answer in answers) == 1
    for answer in answers:
        if answer.outcome != SUCCEEDED:
            assert_invalid_context(answer)


def test_of_parallel_attempts_with_signatures_of_their_own_one_succeeds(caller, phone):
    opened = caller.begin(phone)
    requests = [caller.attempt(phone, opened) for _ in range(PARALLEL_ATTEMPTS)]
    answers = all_at_once(caller.evaluations.SubmitAttempt, requests)
    assert sum(answer.outcome == SUCCEEDED for answer in answers) == 1
    assert sum(bool(answer.token) for answer in answers) == 1


def test_other_evaluations_stay_open(caller, phone):
    opened = [caller.begin(phone) for _ in range(8)]
    answers = all_at_once(caller.evaluations.SubmitAttempt, [caller.attempt(phone, each) for each in opened])
    assert [answer.outcome for answer in answers] == [SUCCEEDED] * len(opened)


def test_invalidate_ends_an_evaluation_for_good(caller, phone):
    opened = caller.begin(phone)
    caller.invalidate(opened)
    caller.invalidate(opened)
    assert_invalid_context(caller.submit(phone, opened))


def test_an_expired_evaluation_is_an_invalid_context(start):
    caller = new_caller(start(configuration={"evaluation_lifetime_seconds": 1}))
    phone = Phone()
    caller.bind(phone)
    opened = caller.begin(phone)
    wait_until(opened.expires_at)
    assert_invalid_context(caller.submit(phone, opened))


@pytest.mark.parametrize("setting", ["evaluation_lifetime_seconds", "token_lifetime_seconds"])
@pytest.mark.parametrize(("changed", "outcome"), [(False, SUCCEEDED), (True, INVALID_CONTEXT)])
def test_an_evaluation_holds_under_the_settings_it_was_begun_under(start, setting, changed, outcome):
    """R36: whoever shortens a lifetime does not want what was begun before to outlive it."""
    server = start(configuration={setting: 600})
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    login = caller.begin(phone)
    payment = caller.begin(phone, "payment", transaction=COFFEE)
    server.terminate()

    caller = new_caller(start(configuration={setting: 599 if changed else 600}), "shop")
    assert caller.submit(phone, login).outcome == outcome
    assert caller.submit(phone, payment).outcome == outcome


def test_a_tampered_evaluation_is_invalid_at_every_byte(caller, phone):
    opened = caller.begin(phone)
    sealed = opened.evaluation
    tampered = [sealed[:index] + bytes([sealed[index] ^ 1]) + sealed[index + 1 :] for index in range(len(sealed))]
    tampered += [sealed[:-1], sealed + b"\x00", b"\x00", bytes(len(sealed))]
    requests = [caller.attempt(phone, opened, evaluation=each) for each in tampered]
    for answer in all_at_once(caller.evaluations.SubmitAttempt, requests):
        assert_invalid_context(answer)
    assert caller.submit(phone, opened).outcome == SUCCEEDED


def test_an_evaluation_is_nothing_to_another_application(phone, caller, other_caller):
    opened = caller.begin(phone)
    assert_invalid_context(other_caller.submit(phone, opened))
    other_caller.invalidate(opened)
    assert caller.submit(phone, opened).outcome == SUCCEEDED


def test_a_signature_serves_its_own_evaluation_alone(caller, phone):
    first, second = caller.begin(phone), caller.begin(phone)
    assert caller.submit(phone, second, key=phone.proof(first.signing_input)).outcome == TRY_AGAIN


# Failures and lockout (R4, R7, R8, R10)


def test_three_wrong_proofs_end_an_evaluation_and_five_lock_the_device(caller, phone):
    opened = caller.begin(phone)
    answers = [caller.submit_wrong(phone, opened) for _ in range(3)]
    assert [(answer.outcome, answer.la_error, answer.attempts_left) for answer in answers] == [
        (TRY_AGAIN, -1, 4),
        (TRY_AGAIN, -1, 3),
        (FAILED, -1, 2),
    ]
    assert all(answer.result == evaluation_pb2.RESULT_FAILED for answer in answers)
    assert_invalid_context(caller.submit(phone, opened))

    opened = caller.begin(phone)
    answers = [caller.submit_wrong(phone, opened) for _ in range(2)]
    assert [(answer.outcome, answer.la_error, answer.attempts_left) for answer in answers] == [
        (TRY_AGAIN, -1, 1),
        (LOCKED_OUT, -8, 0),
    ]
    assert not any(answer.token or answer.profile_id for answer in answers)

    denial = caller.begin(phone).denial
    assert (denial.la_error, denial.reason) == (-8, "BIOMETRY_LOCKOUT")
    assert not caller.can_evaluate(phone).can_evaluate


def test_a_success_sets_the_count_to_zero(caller, phone):
    opened = caller.begin(phone)
    for _ in range(2):
        assert caller.submit_wrong(phone, opened).outcome == TRY_AGAIN
    assert caller.can_evaluate(phone).biometry_attempts_left == 3
    assert caller.submit(phone, opened).outcome == SUCCEEDED
    assert caller.can_evaluate(phone).biometry_attempts_left == 5


def test_the_count_is_the_devices_in_all_applications(caller, other_caller):
    phone, same_phone = Phone(), Phone()
    same_phone.device_id = phone.device_id
    caller.bind(phone)
    other_caller.bind(same_phone)
    opened = caller.begin(phone)
    for _ in range(3):
        caller.submit_wrong(phone, opened)
    assert other_caller.can_evaluate(same_phone).biometry_attempts_left == 2


def test_the_device_owner_ends_a_lockout(caller):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    lock_out(caller, phone)
    opened = caller.begin(phone)
    assert list(opened.factors) == [DEVICE_OWNER]
    assert caller.submit(phone, opened, factor=DEVICE_OWNER).outcome == SUCCEEDED
    assert caller.can_evaluate(phone).biometry_attempts_left == 5


def test_a_lockout_between_begin_and_submit(caller, phone):
    opened = caller.begin(phone)
    lock_out(caller, phone)
    answer = caller.submit(phone, opened)
    assert (answer.outcome, answer.la_error) == (LOCKED_OUT, -8)
    assert not answer.token


def test_of_parallel_wrong_proofs_five_are_counted(caller, phone):
    requests = []
    for _ in range(10):
        opened = caller.begin(phone)
        requests.append(caller.attempt(phone, opened, key=phone.wrong_proof(opened.signing_input)))
    outcomes = [answer.outcome for answer in all_at_once(caller.evaluations.SubmitAttempt, requests)]
    assert outcomes.count(TRY_AGAIN) == 4
    assert outcomes.count(LOCKED_OUT) == 6


@pytest.mark.parametrize(
    "signature",
    [
        bytes(64),
        b"\xff" * 64,
        b"\x30\x06\x02\x01\x01\x02\x01\x01",
        b"\x30\x06\x02\x01\x00\x02\x01\x00",
        b"\x30\x80\x02\x01\x01\x02\x01\x01\x00\x00",
    ],
    ids=["zeros", "over the order", "one and one", "zero and zero", "indefinite length"],
)
def test_a_signature_that_is_none_is_a_wrong_one(caller, phone, signature):
    opened = caller.begin(phone)
    proof = evaluation_pb2.KeyProof(signature=signature, factor=BIOMETRY)
    answer = caller.submit(phone, opened, key=proof)
    assert (answer.outcome, answer.la_error) == (TRY_AGAIN, -1)


# What the device reports (R10, R11, R21)


@pytest.mark.parametrize(
    ("la_error", "outcome", "result", "cost"),
    [
        (-1, TRY_AGAIN, evaluation_pb2.RESULT_FAILED, 1),
        (-2, CANCELED, evaluation_pb2.RESULT_CANCEL, 0),
        (-3, FALLBACK, evaluation_pb2.RESULT_FALLBACK, 0),
        (-4, CANCELED, evaluation_pb2.RESULT_OTHER, 0),
        (-5, FAILED, evaluation_pb2.RESULT_OTHER, 0),
        (-6, FAILED, evaluation_pb2.RESULT_OTHER, 0),
        (-7, FAILED, evaluation_pb2.RESULT_OTHER, 0),
        (-9, CANCELED, evaluation_pb2.RESULT_OTHER, 0),
        (-10, INVALID_CONTEXT, evaluation_pb2.RESULT_OTHER, 0),
        (-4711, FAILED, evaluation_pb2.RESULT_OTHER, 0),
    ],
)
def test_a_report_may_cost_and_never_grants(caller, phone, la_error, outcome, result, cost):
    answer = caller.submit(phone, caller.begin(phone), report=la_error)
    assert (answer.outcome, answer.result) == (outcome, result)
    assert not answer.token
    assert not answer.profile_id
    assert caller.can_evaluate(phone).biometry_attempts_left == 5 - cost


def test_after_a_cancel_the_evaluation_can_be_tried_again(caller, phone):
    opened = caller.begin(phone)
    assert caller.submit(phone, opened, report=types_pb2.LA_ERROR_USER_CANCEL).outcome == CANCELED
    assert caller.submit(phone, opened).outcome == SUCCEEDED


# Domain state (R22-R25)


@pytest.mark.parametrize("domain_state", [b"another finger", b""], ids=["other", "none"])
def test_a_changed_domain_state_needs_another_factor(caller, domain_state):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    opened = caller.begin(phone)
    answer = caller.submit(phone, opened, posture=phone.posture(domain_state=domain_state))
    assert answer.outcome == FACTOR_REQUIRED
    assert answer.domain_state == types_pb2.DOMAIN_STATE_VERDICT_CHANGED
    assert not answer.token
    assert caller.can_evaluate(phone).biometry_attempts_left == 5


def test_a_lock_that_the_phone_claims_hides_no_changed_finger(caller):
    """R22, R25: a key of user presence, unlocked by a new finger, under a policy that requires no domain state."""
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    locked = phone.posture(biometry_locked_out=True, domain_state=b"")
    opened = caller.begin(phone, posture=locked)
    assert opened.domain_state == types_pb2.DOMAIN_STATE_VERDICT_UNKNOWN_WHILE_LOCKED
    assert not opened.factors
    answer = caller.submit(phone, opened, factor=DEVICE_OWNER, posture=locked)
    assert (answer.outcome, answer.la_error) == (FACTOR_REQUIRED, -6)
    assert answer.message.text.startswith("Touch ID is paused after several tries.")
    # The phone's passcode ended the lock, and it has a domain state again: its owner loses nothing.
    assert caller.submit(phone, opened, factor=DEVICE_OWNER).outcome == SUCCEEDED


def test_a_change_that_was_undone_is_none(caller, phone):
    changed = caller.can_evaluate(phone, domain_state=b"another finger")
    assert changed.domain_state == types_pb2.DOMAIN_STATE_VERDICT_CHANGED
    assert caller.login(phone).outcome == SUCCEEDED


# Revoked, unknown, wrong: nothing tells them apart (R36, R37)


def test_revoked_between_begin_and_submit(caller, phone):
    opened = caller.begin(phone)
    caller.revoke(phone.binding)
    answer = caller.submit(phone, opened)
    assert (answer.outcome, answer.la_error) == (TRY_AGAIN, -1)
    assert not answer.token
    assert not answer.profile_id


#: A stranger's guesses at the OS: before and after that of any phone.
GUESSED_OS_VERSIONS = ["9.3.5", "99.0"]

#: So many that each kind of people is among them: one in fifty is of the rarest that are looked for.
STRANGERS = 1024

KEYS = {
    "current set": [bindings_pb2.KEY_PROTECTION_BIOMETRY_CURRENT_SET],
    "any": [bindings_pb2.KEY_PROTECTION_BIOMETRY_ANY],
    "and user presence": [
        bindings_pb2.KEY_PROTECTION_BIOMETRY_CURRENT_SET,
        bindings_pb2.KEY_PROTECTION_USER_PRESENCE,
    ],
    "and passcode": [
        bindings_pb2.KEY_PROTECTION_BIOMETRY_CURRENT_SET,
        bindings_pb2.KEY_PROTECTION_DEVICE_PASSCODE,
    ],
    "passcode": [bindings_pb2.KEY_PROTECTION_DEVICE_PASSCODE],
    "user presence": [bindings_pb2.KEY_PROTECTION_USER_PRESENCE],
    "bearer": [],
}

SECRETS = {
    "no secret": [],
    "passcode": [passcode("2468")],
    "gesture": [gesture(0, 1, 2, 5)],
    "both": [passcode("2468"), gesture(0, 1, 2, 5)],
}


@pytest.fixture(scope="module")
def people(server):
    """Phones of every kind of keys and secrets, by both, in one application."""
    caller = new_caller(server)
    phones = {}
    for keys_name, protections in KEYS.items():
        for secrets_name, secrets in SECRETS.items():
            phone = Phone(BIOMETRY, DEVICE_OWNER)
            bind_with(caller, phone, protections)
            for secret in secrets:
                caller.set_secret(phone.binding.profile_id, secret)
            phones[keys_name, secrets_name] = phone
    return caller, phones


def bind_with(caller, phone, protections):
    """Keys of these protections; none: a ProfileTouchID."""
    begun = caller.begin_binding(phone, new_profile_id())
    keys = phone.hardware_keys(begun.signing_input)[: len(protections)]
    for key, protection in zip(keys, protections, strict=True):
        key.protection = protection
    request = caller.completion(phone, begun, keys=keys, touch_id=None if keys else os.urandom(32))
    phone.binding = caller.bindings.CompleteBinding(request).binding


def guess(os_version):
    """Of somebody who has not seen the phone, nor its domain state."""
    return Phone().posture(os_version=os_version, domain_state=b"a guess")


def strangers(caller, posture, policy="login", *, count=STRANGERS, named="binding_id"):
    """What is answered for so many that nobody knows, by id: of a binding or (`named`) of a profile."""
    ids = [unknown_id() if named == "binding_id" else new_profile_id() for _ in range(count)]
    requests = [caller.beginning(Phone(), policy, posture=posture, **{named: each}) for each in ids]
    return dict(zip(ids, map(shape, all_at_once(caller.evaluations.BeginEvaluation, requests)), strict=True))


@pytest.mark.parametrize("os_version", GUESSED_OS_VERSIONS)
@pytest.mark.parametrize("policy", ["login", "deviceOwnerAuthentication"])
def test_every_answer_for_a_known_binding_is_one_for_unknown_ones_too(people, policy, os_version):
    caller, phones = people
    posture = guess(os_version)
    unknown = strangers(caller, posture, policy).values()
    for kind, phone in phones.items():
        assert shape(caller.begin(phone, policy, posture=posture)) in unknown, kind


@pytest.mark.parametrize("os_version", GUESSED_OS_VERSIONS)
def test_an_unknown_binding_goes_on_like_a_known_one_with_a_wrong_key(caller, os_version):
    """Those that begin like a phone with a key are locked out like one that begins so: by either key, or a bearer's."""
    posture = guess(os_version)
    known = []
    for protections in (KEYS["current set"], KEYS["user presence"], KEYS["bearer"]):
        phone = Phone(BIOMETRY, DEVICE_OWNER)
        bind_with(caller, phone, protections)
        known.append(dialogue(caller, phone, phone.binding.binding_id, posture))
    assert outcomes(known[0]) == ["TRY_AGAIN", "TRY_AGAIN", "FAILED", "TRY_AGAIN", "LOCKED_OUT"]
    beginnings = strangers(caller, posture, count=256)
    alike = [each for each, beginning in beginnings.items() if beginning == known[0][0]][:16]
    assert alike
    unknown = [dialogue(caller, Phone(), each, posture) for each in alike]
    assert [each for each in unknown if each not in known] == []
    assert known[0] in unknown


@pytest.mark.parametrize("secrets", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("wrong", [passcode("0001"), gesture(8, 7, 6, 3)], ids=["passcode", "gesture"])
def test_an_unknown_profile_answers_as_a_known_one_with_a_wrong_secret(caller, secrets, wrong):
    """Who has no secret is as unknown as any."""
    phone = Phone()
    known = caller.bind(phone).profile_id
    for secret in secrets:
        caller.set_secret(known, secret)
    beginnings = strangers(caller, phone.posture(), count=256, named="profile_id")
    beginning = shape(caller.begin(phone, profile_id=known))
    assert beginning in beginnings.values()
    unknown = next(each for each, other in beginnings.items() if other == beginning)
    assert guesses(caller, unknown, wrong) == guesses(caller, known, wrong)


def guesses(caller, profile_id, secret):
    """All that is said of six wrong ones, and of who is asked then; but for how much of the minute is left."""
    phone = Phone()
    opened = caller.begin(phone, profile_id=profile_id)
    seen = [caller.submit(phone, opened, secret=secret) for _ in range(6)]
    seen.append(caller.begin(phone, profile_id=profile_id))
    told = [shape(each) for each in seen]
    for fields in told:
        fields.pop("retryAfter", None)
        fields.get("denial", {}).pop("retryAfter", None)
    return told


def test_an_unknown_binding_has_a_past_as_a_known_one_has(caller):
    """Whichever versions are guessed, one after the other: the verdicts fit one phone, bound once under one of them."""

    def verdicts(binding_id):
        phone = Phone()
        postures = [guess(str(version)) for version in range(9, 30)]
        return [caller.begin(phone, binding_id=binding_id, posture=posture).domain_state for posture in postures]

    known = [verdicts(phone.binding.binding_id) for phone in phones_of_every_past(caller)]
    unknown = [verdicts(unknown_id()) for _ in range(20)]
    assert [each for each in unknown if each not in known] == []
    assert any(types_pb2.DOMAIN_STATE_VERDICT_CHANGED_WITH_OS in each for each in unknown)


def test_a_revoked_binding_answers_as_an_active_one_with_a_wrong_key(caller):
    active, revoked = Phone(), Phone()
    caller.bind(active)
    caller.bind(revoked)
    caller.revoke(revoked.binding)
    seen = [dialogue(caller, phone, phone.binding.binding_id, guess("17.4")) for phone in (active, revoked)]
    assert seen[0] == seen[1]


# A revoked binding counts on nobody's phone (R10)


def lock_by_report(caller, phone, binding_id):
    """Two calls: what the attack takes."""
    opened = caller.begin(phone, binding_id=binding_id)
    return caller.submit(phone, opened, report=types_pb2.LA_ERROR_BIOMETRY_LOCKOUT)


@pytest.mark.parametrize("replaced", [False, True], ids=["revoked", "replaced"])
def test_a_revoked_binding_locks_its_phone_for_nobody(caller, other_caller, replaced):
    former = Phone()
    old = caller.bind(former, "former owner")
    if not replaced:
        caller.revoke(old)
    phone, elsewhere = Phone(), Phone()
    phone.device_id = elsewhere.device_id = former.device_id
    caller.bind(phone, "new owner", replace_existing=replaced)
    other_caller.bind(elsewhere)

    answer = lock_by_report(caller, former, old.binding_id)
    assert (answer.outcome, answer.la_error) == (LOCKED_OUT, -8)
    # As a locked phone answers, and that again and again.
    for _ in range(2):
        assert caller.begin(former, binding_id=old.binding_id).denial.reason == "BIOMETRY_LOCKOUT"
    assert caller.can_evaluate(phone).biometry_attempts_left == 5
    assert other_caller.can_evaluate(elsewhere).biometry_attempts_left == 5
    assert caller.login(phone).outcome == SUCCEEDED
    assert other_caller.login(elsewhere).outcome == SUCCEEDED


def test_a_revoked_bindings_wrong_proofs_cost_its_phone_nothing(caller, other_caller):
    former = Phone()
    old = caller.bind(former)
    opened = caller.begin(former)
    caller.revoke(old)
    elsewhere = Phone()
    elsewhere.device_id = former.device_id
    other_caller.bind(elsewhere)
    # Also in an evaluation from before the revocation, and with the right key.
    lefts = [caller.submit_wrong(former, opened).attempts_left, caller.submit(former, opened).attempts_left]
    assert lefts == [4, 3]
    for _ in range(3):
        answer = caller.submit_wrong(former, caller.begin(former, binding_id=old.binding_id))
    assert answer.outcome == LOCKED_OUT
    assert other_caller.can_evaluate(elsewhere).biometry_attempts_left == 5


@pytest.mark.parametrize("failures", range(1, 6))
@pytest.mark.parametrize("replaced", [False, True], ids=["revoked", "replaced"])
def test_a_revoked_binding_answers_on_from_where_it_was(caller, failures, replaced):
    """R37: an attempts_left that jumps would tell that it was revoked."""
    active, revoked = Phone(), Phone()
    for phone in (active, revoked):
        caller.bind(phone)
        fail(caller, phone, failures)
    binding_id = revoked.binding.binding_id
    if replaced:
        newer = Phone()
        newer.device_id = revoked.device_id
        caller.bind(newer, "new owner", replace_existing=True)
        assert caller.can_evaluate(newer).biometry_attempts_left == 5 - failures
    else:
        caller.revoke(revoked.binding)
    assert dialogue(caller, revoked, binding_id, guess("17.4")) == dialogue(
        caller, active, active.binding.binding_id, guess("17.4")
    )


def test_what_ends_a_phones_lock_ends_no_revoked_bindings(caller):
    """And what support does for the phone's owner tells the former one nothing."""
    former = Phone()
    old = caller.bind(former)
    lock_out(caller, former)
    caller.revoke(old)
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    phone.device_id = former.device_id
    caller.bind(phone)
    assert caller.can_evaluate(phone).biometry_attempts_left == 0
    caller.unlock_device(phone.device_id)
    assert caller.login(phone).outcome == SUCCEEDED
    assert caller.begin(former, binding_id=old.binding_id).denial.reason == "BIOMETRY_LOCKOUT"


def test_another_applications_binding_is_as_unknown_as_any(caller, other_caller, phone):
    owner_sees_before = caller.can_evaluate(phone).biometry_attempts_left
    posture = guess("99.0")
    told = dialogue(other_caller, Phone(), phone.binding.binding_id, posture)
    assert told[0] in strangers(other_caller, posture).values()
    assert caller.can_evaluate(phone).biometry_attempts_left == owner_sees_before


def unknown_id():
    """Of the form that the id of a binding has."""
    return base64.urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode()


def phones_of_every_past(caller):
    """Phones that were bound under any OS since domain state, and one that gave none."""
    phones = [Phone() for _ in range(9, 27)]
    for phone, version in zip(phones, range(9, 27), strict=True):
        phone.os_version = str(version)
    without_baseline = Phone()
    without_baseline.os_version, without_baseline.domain_state = "8.4", b""
    phones.append(without_baseline)
    for phone in phones:
        caller.bind(phone)
    return phones


def dialogue(caller, phone, binding_id, posture):
    """All that somebody without the key gets to see, through three wrong attempts, two more, and the lockout."""
    seen = []
    for wrong_attempts in (3, 2):
        opened = caller.begin(phone, binding_id=binding_id, posture=posture)
        seen.append(shape(opened))
        # A denial opens nothing.
        for _ in range(wrong_attempts if opened.evaluation else 0):
            seen.append(shape(caller.submit_wrong(phone, opened, posture=posture)))
    seen.append(shape(caller.begin(phone, binding_id=binding_id, posture=posture)))
    request = evaluation_pb2.CanEvaluatePolicyRequest(
        application_id=caller.application_id, policy="login", binding_id=binding_id, posture=posture
    )
    seen.append(shape(caller.evaluations.CanEvaluatePolicy(request)))
    return seen


def outcomes(told):
    """Of the attempts of a dialogue."""
    return [each["outcome"].removeprefix("OUTCOME_") for each in told if "outcome" in each]


def shape(message):
    """Every field of an answer, with the length in place of what is random, and no time of day."""
    fields = MessageToDict(message)
    for random in ("evaluation", "signingInput"):
        if random in fields:
            fields[random] = len(fields[random])
    assert ("expiresAt" in fields) == ("evaluation" in fields)
    fields.pop("expiresAt", None)
    return fields


# What the person is shown (R18)


@pytest.mark.parametrize(("os_version", "shown"), [("9.3.5", ""), ("10.0", "Not now"), ("17.4", "Not now")])
def test_a_title_of_ones_own_for_cancel_needs_ios_10(caller, phone, os_version, shown):
    posture = phone.posture(os_version=os_version)
    opened = caller.begin(phone, cancel_title="Not now", posture=posture)
    assert opened.presentation.cancel_title == shown
    assert caller.submit_wrong(phone, opened, posture=posture).presentation.cancel_title == shown


# Preconditions (R1, R6)


def test_can_evaluate_says_what_begin_does(caller, phone):
    answer = caller.can_evaluate(phone)
    assert answer.can_evaluate
    assert list(answer.factors) == [BIOMETRY]
    assert answer.biometry_attempts_left == 5
    denied = caller.can_evaluate(phone, passcode_set=False)
    assert not denied.can_evaluate
    assert denied.denial == caller.begin(phone, posture=phone.posture(passcode_set=False)).denial


@pytest.mark.parametrize("policy", ["deviceOwnerAuthenticationWithBiometrics", "deviceOwnerAuthentication", "login"])
def test_a_policy_can_be_asked_for_before_a_binding_exists(caller, policy):
    assert caller.can_evaluate(Phone(), policy).can_evaluate


def test_an_unknown_policy_is_refused(caller, phone):
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="policy"):
        caller.begin(phone, "logon")


def fail(caller, phone, times):
    for wrong_attempts in (min(times, 3), max(0, times - 3)):
        opened = caller.begin(phone)
        for _ in range(wrong_attempts):
            caller.submit_wrong(phone, opened)


def lock_out(caller, phone):
    """Five wrong proofs: three in one evaluation, two in the next."""
    for wrong_attempts in (3, 2):
        opened = caller.begin(phone)
        for _ in range(wrong_attempts):
            answer = caller.submit_wrong(phone, opened)
    assert answer.outcome == LOCKED_OUT


def assert_invalid_context(answer):
    assert (answer.outcome, answer.la_error) == (INVALID_CONTEXT, types_pb2.LA_ERROR_INVALID_CONTEXT)
    assert not answer.token
    assert not answer.profile_id
