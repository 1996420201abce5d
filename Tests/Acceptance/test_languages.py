"""Texts for people, by accept-language (RFC 9110, 12.5.4) and by sensor (R20)."""

import re

import grpc
import pytest
from google.rpc import error_details_pb2

from support.caller import passcode, primary_login, seconds_from_now
from support.errors import detail
from support.phone import Phone
from support.stubs import types_pb2

ENGLISH, CHINESE = "en", "zh-Hans"

#: What is asked for, and what is answered. LanguageTests have the rest.
ASKED = {
    None: ENGLISH,
    "zh-CN": CHINESE,
    "fr, en;q=0.8, zh;q=0.9": CHINESE,
    "zh;q=2": ENGLISH,
    "x" * 4000: ENGLISH,
}

SENSORS = {
    types_pb2.BIOMETRY_TYPE_TOUCH_ID: ("Touch ID", "触控 ID"),
    types_pb2.BIOMETRY_TYPE_FACE_ID: ("Face ID", "面容 ID"),
    types_pb2.BIOMETRY_TYPE_OPTIC_ID: ("Optic ID", "Optic ID"),
}

HAN = re.compile("[\u4e00-\u9fff]")


def metadata(asked):
    return None if asked is None else [("accept-language", asked)]


def assert_in(language, message):
    assert message.locale == language
    assert message.text
    assert bool(HAN.search(message.text)) == (language == CHINESE), message.text


@pytest.mark.parametrize(("asked", "language"), ASKED.items(), ids=lambda value: repr(value)[:30])
def test_a_text_is_in_the_language_that_was_asked_for(caller, phone, asked, language):
    request = caller.beginning(phone, posture=phone.posture(passcode_set=False))
    denial = caller.evaluations.BeginEvaluation(request, metadata=metadata(asked)).denial
    assert denial.reason == "PASSCODE_NOT_SET"
    assert_in(language, denial.message)


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
@pytest.mark.parametrize(("sensor", "names"), SENSORS.items())
def test_it_names_the_sensor_as_its_maker_does(caller, language, sensor, names):
    phone = Phone()
    phone.biometry_type = sensor
    caller.bind(phone)
    opened = caller.begin(phone)
    wrong = caller.attempt(phone, opened, key=phone.wrong_proof(opened.signing_input))
    message = caller.evaluations.SubmitAttempt(wrong, metadata=metadata(language)).message
    assert_in(language, message)
    assert names[language == CHINESE] in message.text


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_every_outcome_but_a_success_has_a_text(caller, phone, language):
    def submitted(opened, **attempt):
        return caller.evaluations.SubmitAttempt(caller.attempt(phone, opened, **attempt), metadata=metadata(language))

    caller.set_secret(phone.binding.profile_id, passcode("2468"))
    opened = caller.begin(phone)
    for code in (-1, -2, -3, -4, -5, -6, -7, -9, -4711):
        assert_in(language, submitted(opened, report=code).message)
    for _ in range(6):
        assert_in(language, submitted(opened, secret=passcode("0001")).message)
    succeeded = submitted(opened)
    assert succeeded.token
    assert not succeeded.HasField("message")
    assert_in(language, submitted(opened).message)


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_buttons_are_in_the_language_too(caller, phone, language):
    opened = caller.evaluations.BeginEvaluation(caller.beginning(phone), metadata=metadata(language))
    assert opened.presentation.fallback_title == {ENGLISH: "Enter Password", CHINESE: "输入密码"}[language]


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_a_change_that_was_refused_has_a_text(caller, phone, language):
    profile_id = phone.binding.profile_id
    caller.set_secret(profile_id, passcode("2468"))
    change = caller.secret_change(profile_id, passcode("1357"), old_secret=passcode("0001"))
    answers = [caller.secrets.SetSecret(change, metadata=metadata(language)) for _ in range(6)]
    for answer in answers:
        assert_in(language, answer.denial.message)


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_a_status_about_the_person_has_a_text(caller, language):
    old = primary_login(authenticated_at=seconds_from_now(-6 * 60))
    changes = [
        caller.secret_change("profile-1", passcode("2468"), primary=old),
        caller.secret_change("profile-1", passcode("1111")),
        caller.secret_change("profile-1", passcode("2468"), confirmation=passcode("2469")),
    ]
    for change in changes:
        with pytest.raises(grpc.RpcError) as raised:
            caller.secrets.SetSecret(change, metadata=metadata(language))
        message = detail(raised.value, error_details_pb2.LocalizedMessage)
        assert (message.locale, bool(HAN.search(message.message))) == (language, language == CHINESE)
        assert not HAN.search(raised.value.details())
