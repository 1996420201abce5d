"""What a flood of refusals leaves in the audit log, and what support sees of it (R37, R41)."""

from support.caller import all_at_once, new_caller
from support.phone import Phone
from support.stubs import administration_pb2, evaluation_pb2, types_pb2

#: So many of the same name and answer at once, as THREATS.md has it, and so many of all names of one caller.
BURST = 10
CALLER_BURST = 1_024
#: More than the seconds that a test takes: each makes room for one more.
SECONDS = 100


def kinds(caller, kind, binding_id=None):
    found = caller.list_events(administration_pb2.EventFilter(application_id=caller.application_id, kinds=[kind]))
    return [event for event in found if binding_id in (None, event.binding_id)]


def test_support_sees_the_posture_of_a_denial_that_is_no_event(start):
    caller, phone = new_caller(start()), Phone()
    caller.bind(phone)
    denied = phone.posture(passcode_set=False)
    for _ in range(BURST):
        assert caller.begin(phone, posture=denied).denial.reason == "PASSCODE_NOT_SET"
    phone.os_version = "17.9"
    newer = phone.posture(passcode_set=False)
    assert caller.begin(phone, posture=newer).denial.reason == "PASSCODE_NOT_SET"
    assert len(kinds(caller, "evaluation.denied")) == BURST
    beginning = caller.beginning(phone)
    beginning.ClearField("posture")
    explained = caller.explain(beginning)
    assert explained.answer.denial.reason == "PASSCODE_NOT_SET"
    assert explained.posture.posture.os_version == "17.9"
    assert not explained.posture.proven
    assert list(caller.get_profile(phone.binding.profile_id).postures) == [explained.posture]


def test_denials_of_bindings_that_are_made_up_are_bounded_and_a_known_ones_failures_are_all_there(start):
    caller, phone = new_caller(start()), Phone()
    caller.bind(phone)
    made_up = [caller.beginning(phone, binding_id=f"made-up-{number}") for number in range(CALLER_BURST + 600)]
    answers = all_at_once(caller.evaluations.BeginEvaluation, made_up)
    assert {answer.denial.reason for answer in answers} == {"BINDING_UNKNOWN"}
    assert len(caller.events()) <= 1 + CALLER_BURST + SECONDS
    for _ in range(4):
        assert caller.submit_wrong(phone, caller.begin(phone)).outcome == evaluation_pb2.OUTCOME_TRY_AGAIN
    assert len(kinds(caller, "evaluation.failed", phone.binding.binding_id)) == 4
