"""A binding that is not there is told so; of a profile's name, nothing that a stranger is told tells whether it is known
(R10, R36, R37)."""

import re

import pytest
from google.protobuf.json_format import MessageToDict

from support.caller import all_at_once, gesture, new_profile_id, passcode
from support.phone import Phone
from support.server import Server
from support.stubs import evaluation_pb2, types_pb2

#: So many that each kind of profile is among them: one in fifty is of the rarest that are looked for.
STRANGERS = 256

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
FAILED = evaluation_pb2.OUTCOME_FAILED


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Not the one that other tests share: so many strangers leave their caller no room for events of refusals (R41)."""
    server = Server(tmp_path_factory.mktemp("strangers") / "data")
    yield server
    server.close()


def test_a_missing_binding_is_told_so_and_counts_nothing(caller, other_caller, phone):
    """Not even the right passcode serves then, and six wrong ones lock nothing of the owner's."""
    caller.set_secret(phone.binding.profile_id, passcode("2468"))
    foreign = Phone()
    other_caller.bind(foreign)
    opened = caller.begin(phone)
    caller.revoke(phone.binding)
    for binding_id, reason in [
        (phone.binding.binding_id, "BINDING_REVOKED"),
        (foreign.binding.binding_id, "BINDING_UNKNOWN"),
        ("nobody", "BINDING_UNKNOWN"),
    ]:
        denial = caller.begin(phone, binding_id=binding_id).denial
        assert (denial.reason, denial.la_error) == (reason, types_pb2.LA_ERROR_BIOMETRY_NOT_AVAILABLE)
        assert "set it up again" in denial.message.text
    attempts = [caller.submit(phone, opened)]
    attempts += [caller.submit(phone, opened, secret=passcode("0001")) for _ in range(6)]
    for answer in attempts:
        assert (answer.outcome, answer.la_error, answer.denial.reason) == (FAILED, -6, "BINDING_REVOKED")
        assert not answer.token and not answer.profile_id and not answer.next_factors
    own = caller.begin(phone, profile_id=phone.binding.profile_id)
    assert caller.submit(phone, own, secret=passcode("2468")).outcome == SUCCEEDED


TYPED, DRAWN = passcode("2468"), gesture(0, 1, 2, 5)
#: The known profile's secrets, and the wrong one.
GUESSES = {
    "no secret": ([], passcode("0001")),
    "passcode": ([TYPED], passcode("0001")),
    "gesture": ([DRAWN], gesture(8, 7, 6, 3)),
    "both": ([TYPED, DRAWN], gesture(8, 7, 6, 3)),
}


def strangers(caller, posture):
    """The answers for so many unknown profiles, by their names."""
    ids = [new_profile_id() for _ in range(STRANGERS)]
    requests = [caller.beginning(Phone(), posture=posture, profile_id=each) for each in ids]
    return dict(zip(ids, map(shape, all_at_once(caller.evaluations.BeginEvaluation, requests)), strict=True))


@pytest.mark.parametrize(("secrets", "wrong"), GUESSES.values(), ids=GUESSES)
def test_an_unknown_profile_answers_as_a_known_one_with_a_wrong_secret(caller, secrets, wrong):
    """Who has no secret is as unknown as any."""
    phone = Phone()
    known = caller.bind(phone).profile_id
    for secret in secrets:
        caller.set_secret(known, secret)
    beginnings = strangers(caller, phone.posture())
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


def shape(message):
    """Every field of an answer, with the length in place of what is random, and no time of day."""
    fields = MessageToDict(message)
    for random in ("evaluation", "signingInput"):
        if random in fields:
            fields[random] = len(fields[random])
    assert ("expiresAt" in fields) == ("evaluation" in fields)
    fields.pop("expiresAt", None)
    return fields
