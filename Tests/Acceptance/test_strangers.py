"""Revoked, unknown, wrong: nothing that a stranger is told tells them apart (R10, R36, R37)."""

import base64
import contextlib
import os
import re
import sqlite3

import pytest
from google.protobuf.json_format import MessageToDict

from support.caller import all_at_once, gesture, new_caller, new_profile_id, passcode
from support.data_directory import database
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.server import Server
from support.stores import ON_POSTGRESQL
from support.stubs import bindings_pb2, evaluation_pb2, types_pb2

#: The fewest that a configuration may bound them to.
STAND_INS = 10_000
PLATFORM_DIFFERS = "PLATFORM_DIFFERS"

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
FAILED = evaluation_pb2.OUTCOME_FAILED
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Not the one that other tests share: so many strangers leave their caller no room for events of refusals (R41)."""
    server = Server(tmp_path_factory.mktemp("strangers") / "data")
    yield server
    server.close()


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
    """All that is said of six wrong ones, and of who is asked then; but for how much of the minute is left, also in words."""
    phone = Phone()
    opened = caller.begin(phone, profile_id=profile_id)
    seen = [caller.submit(phone, opened, secret=secret) for _ in range(6)]
    seen.append(caller.begin(phone, profile_id=profile_id))
    told = [shape(each) for each in seen]
    for answer in [*told, *(fields["denial"] for fields in told if "denial" in fields)]:
        answer.pop("retryAfter", None)
        if "message" in answer:
            answer["message"]["text"] = re.sub(r"\d+ (seconds?|minutes?)", "a minute", answer["message"]["text"])
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


def test_no_unknown_binding_is_of_a_past_that_none_can_have(caller):
    """Nothing is counted or written for these questions, so one that only an unknown id answers would tell it for sure."""
    systems = {"ios": [*range(9, 19), 26], "macos": [*range(10, 16), 26], "android": [], "web": []}

    def ask(ids, platform, version):
        request = {"policy": "login", "application_id": caller.application_id}
        posture = Phone().posture(platform=platform, os_version=str(version), domain_state=b"a guess")
        requests = [
            evaluation_pb2.CanEvaluatePolicyRequest(**request, binding_id=each, posture=posture) for each in ids
        ]
        return dict(zip(ids, all_at_once(caller.evaluations.CanEvaluatePolicy, requests), strict=True))

    ids = [unknown_id() for _ in range(300)]
    taken = {
        platform: [each for each, answer in ask(ids, platform, 18).items() if answer.denial.reason != PLATFORM_DIFFERS]
        for platform in systems
    }
    assert sorted(each for of_one in taken.values() for each in of_one) == sorted(ids)
    for platform, majors in systems.items():
        unreleased = [version for version in range(8, 28) if version not in majors]
        for version in unreleased if majors else []:
            # A baseline of it would look changed under it, and changed with the system under the next one.
            before, after = ask(taken[platform], platform, version), ask(taken[platform], platform, version + 1)
            told = [each for each in before if before[each].domain_state != after[each].domain_state]
            assert told == [], (platform, version)


def test_two_applications_do_not_tell_which_ids_one_of_them_knows(caller, other_caller):
    """An id of one application is unknown in the other one, and answers as another phone there. So do ids unknown in both."""

    def told(each, binding_id):
        postures = [Phone().posture(platform=p, os_version="18.0", domain_state=b"a guess") for p in ("ios", "android")]
        requests = [
            evaluation_pb2.CanEvaluatePolicyRequest(
                policy="login", application_id=each.application_id, binding_id=binding_id, posture=posture
            )
            for posture in postures
        ]
        answers = [each.evaluations.CanEvaluatePolicy(request) for request in requests]
        return [(answer.denial.reason, answer.domain_state) for answer in answers]

    ids = [unknown_id() for _ in range(40)]
    assert any(told(caller, each) != told(other_caller, each) for each in ids)


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
        caller.fail(phone, failures)
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
    assert caller.fail(former, 5).outcome == LOCKED_OUT
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


@pytest.mark.skipif(ON_POSTGRESQL, reason="a million guesses are made in the file")
def test_one_applications_guesses_make_nobody_forget_anothers(start):
    """R37: reports verify nothing and are cheap, and two guesses on a binding that was forgotten would tell that it is
    unknown."""
    configuration = {"limits": {"stand_ins": STAND_INS}}
    server = start(configuration=configuration)
    phone, bank = Phone(), new_caller(server, "bank")
    binding_id = open_to_guesses(bank, phone)[0]
    assert [guess_at(bank, phone, binding_id) for _ in range(2)] == [4, 3]
    server.terminate()
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as connection, connection:
        [(latest,)] = connection.execute("SELECT stand_in_until FROM devices")
        connection.executemany(
            "INSERT INTO devices VALUES (?, 1, 0, 0, 1, ?)",
            ((f"\x01game\x01{number}", latest + number) for number in range(STAND_INS - 1)),
        )
        connection.execute("INSERT INTO stand_in_counts VALUES (1, 'game', ?)", (STAND_INS - 1,))

    server = start(configuration=configuration)
    game, bank = new_caller(server, "game"), new_caller(server, "bank")
    for each in open_to_guesses(game, phone):
        guess_at(game, phone, each)
    assert guess_at(bank, phone, binding_id) == 2
    server.terminate()
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as connection:
        assert connection.execute("SELECT count(*) FROM devices").fetchone() == (STAND_INS,)
        counts = connection.execute("SELECT application_id, number FROM stand_in_counts ORDER BY 1").fetchall()
        assert counts == [("bank", 1), ("game", STAND_INS - 1)]


@pytest.mark.skipif(ON_POSTGRESQL, reason="thousands of guesses are made in the file")
def test_a_reload_gives_the_applications_that_it_names_a_share_of_the_stand_ins(start):
    """R37: guesses in invented applications push out none of theirs."""
    configuration = {"limits": {"stand_ins": STAND_INS}, "vendors": {"acme": ["shop"]}}
    server = start(configuration=configuration)
    phone, bank = Phone(), new_caller(server, "bank")
    guessed = open_to_guesses(bank, phone)[:2]
    assert [guess_at(bank, phone, each) for each in guessed] == [4, 4]
    server.terminate()
    invented = [f"invented-{number}" for number in range(STAND_INS - 2)]
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as connection, connection:
        [(latest,)] = connection.execute("SELECT max(stand_in_until) FROM devices")
        connection.executemany(
            "INSERT INTO devices VALUES (?, 1, 0, 0, 1, ?)", ((f"\x01{each}\x01b", latest + 1) for each in invented)
        )
        connection.executemany("INSERT INTO stand_in_counts VALUES (1, ?, 1)", ((each,) for each in invented))

    server = start(configuration=configuration)
    server.reload(configuration | {"vendors": {"acme": ["shop"], "bank": ["bank"]}})
    # The bank has more stand-ins than any other application, and would lose one if it had no share of its own.
    game, bank = new_caller(server, "game"), new_caller(server, "bank")
    guess_at(game, phone, open_to_guesses(game, phone)[0])
    assert [guess_at(bank, phone, each) for each in guessed] == [3, 3]


def open_to_guesses(caller, phone):
    """Unknown bindings for which an evaluation opens."""
    return [each for each, told in strangers(caller, phone.posture()).items() if "denial" not in told]


def guess_at(caller, phone, binding_id):
    opened = caller.begin(phone, binding_id=binding_id)
    return caller.submit(phone, opened, report=types_pb2.LA_ERROR_AUTHENTICATION_FAILED).attempts_left


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
