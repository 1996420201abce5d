"""Texts for people, by accept-language (RFC 9110, 12.5.4; R20)."""

import re

import pytest

ENGLISH, CHINESE = "en", "zh-Hans"

#: What is asked for, and what is answered. LanguageTests have the rest.
ASKED = {
    None: ENGLISH,
    "zh-CN": CHINESE,
    "fr, en;q=0.8, zh;q=0.9": CHINESE,
    "zh;q=2": ENGLISH,
    "x" * 4000: ENGLISH,
}

HAN = re.compile("[\u4e00-\u9fff]")


@pytest.mark.parametrize(("asked", "language"), ASKED.items(), ids=lambda value: repr(value)[:30])
def test_a_text_is_in_the_language_that_was_asked_for(caller, phone, asked, language):
    request = caller.beginning(phone, posture=phone.posture(passcode_set=False))
    metadata = None if asked is None else [("accept-language", asked)]
    denial = caller.evaluations.BeginEvaluation(request, metadata=metadata).denial
    assert (denial.reason, denial.message.locale) == ("PASSCODE_NOT_SET", language)
    assert bool(HAN.search(denial.message.text)) == (language == CHINESE), denial.message.text
