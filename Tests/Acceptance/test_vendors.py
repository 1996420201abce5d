"""Whose word on a phone counts for whom (R8): another vendor's application neither locks nor unlocks it."""

import signal

import grpc
import pytest

from support.caller import new_caller, passcode
from support.configuration import check_complaints
from support.errors import refused
from support.phone import Phone
from support.stubs import bindings_pb2, evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
ACME = {"vendors": {"acme": ["shop", "bank"]}}


def same_phone(phone):
    """What anybody makes who knows its id: another key, the same name."""
    other = Phone()
    other.device_id = phone.device_id
    return other


def left(caller, phone):
    return caller.can_evaluate(phone).biometry_attempts_left


def bound(server, application_id, phone):
    caller = new_caller(server, application_id)
    caller.bind(phone, "alice")
    return caller


def test_an_application_that_names_a_victims_phone_does_not_lock_it_elsewhere(start):
    server = start(configuration=ACME)
    phone = Phone()
    bank = bound(server, "bank", phone)
    forged = same_phone(phone)
    game = bound(server, "game", forged)
    game.fail(forged, 5)
    assert left(game, forged) == 0
    assert left(bank, phone) == 5
    assert bank.login(phone).outcome == SUCCEEDED


def test_an_application_that_names_a_victims_phone_does_not_unlock_it_elsewhere(start):
    server = start(configuration=ACME)
    phone = Phone()
    bank = bound(server, "bank", phone)
    bank.fail(phone, 5)
    forged = same_phone(phone)
    game = bound(server, "game", forged)
    assert left(game, forged) == 5
    game.unlock_device(phone.device_id)
    game.set_secret("alice", passcode("2468"))
    answer = game.submit(forged, game.begin(forged, "deviceOwnerAuthentication"), secret=passcode("2468"))
    assert answer.outcome == SUCCEEDED
    assert game.login(forged).outcome == SUCCEEDED
    assert left(bank, phone) == 0
    [standing] = bank.get_profile("alice").devices
    assert standing.biometry_locked_out
    bank.unlock_device(phone.device_id)
    assert left(bank, phone) == 5


def test_the_applications_of_one_vendor_share_what_they_know(start):
    server = start(configuration=ACME)
    phone = Phone()
    bank = bound(server, "bank", phone)
    own = same_phone(phone)
    shop = bound(server, "shop", own)
    shop.fail(own, 5)
    assert left(bank, phone) == 0
    bank.unlock_device(phone.device_id)
    assert left(shop, own) == 5


@pytest.mark.parametrize(
    "configuration",
    [{"reflection": True}, {"vendors": {"shop": ["bank"]}}],
    ids=["no vendors", "a vendor with an application's name"],
)
def test_an_application_in_no_group_is_its_own_vendor(start, configuration):
    server = start(configuration=configuration)
    phone = Phone()
    bank = bound(server, "bank", phone)
    forged = same_phone(phone)
    shop = bound(server, "shop", forged)
    shop.fail(forged, 5)
    assert left(bank, phone) == 5


def test_a_lock_from_before_the_first_configuration_file_holds(start):
    server = start()
    phone = Phone()
    bank = bound(server, "bank", phone)
    bank.fail(phone, 5)
    server.terminate()
    server = start(configuration=ACME)
    bank = new_caller(server, "bank")
    assert left(bank, phone) == 0
    bank.unlock_device(phone.device_id)
    assert left(bank, phone) == 5
    server.terminate()
    server = start(configuration=ACME)
    assert left(new_caller(server, "bank"), phone) == 5


def test_a_reload_regroups_and_says_whose_counts_stay_behind(start):
    server = start(configuration=ACME)
    phone = Phone()
    bank = bound(server, "bank", phone)
    bank.fail(phone, 3)
    server.write_configuration({"vendors": {"acme": ["shop"], "trust": ["bank"]}})
    server.process.send_signal(signal.SIGHUP)
    assert "applications=bank" in server.next_error("applications changed their vendor")
    assert left(bank, phone) == 5


def test_who_binds_anew_after_a_regrouping_ends_a_lockout(start):
    """The phone was locked before in the old group, where its locks have higher numbers."""
    server = start(configuration=ACME)
    phone = Phone()
    bank = bound(server, "bank", phone)
    for _ in range(3):
        bank.fail(phone, 5)
        bank.bind(phone, "alice")
        assert left(bank, phone) == 5
    bank.fail(phone, 5)
    bank.unlock_device(phone.device_id)
    bank.bind(phone, "alice")
    server.write_configuration({"vendors": {"acme": ["shop"], "trust": ["bank"]}})
    server.process.send_signal(signal.SIGHUP)
    server.next_error("applications changed their vendor")
    bank.fail(phone, 5)
    assert left(bank, phone) == 0
    bank.bind(phone, "alice")
    assert left(bank, phone) == 5


def test_ones_own_account_on_the_same_id_ends_the_lockout_within_the_vendor(start):
    """As bindings.proto says, until attestation proves which phone it is."""
    server = start(configuration=ACME)
    phone = Phone()
    bank = bound(server, "bank", phone)
    forged = same_phone(phone)
    shop = new_caller(server, "shop")
    shop.bind(forged, "mallory")
    bank.fail(phone, 5)
    shop.bind(forged, "mallory")
    assert left(bank, phone) == 5


# Guessable ids

GUESSABLE = {
    "a short one": "0123456789abcde",
    "a short one of two-byte letters": "é" * 7 + "a",
    "a padded number": "0000000000000042",
    "a padded number behind a word": "phone-0000000042",
    "zeros in the form of a UUID": "00000000-0000-0000-0000-000000000001",
    "ones in the form of a UUID": "11111111-1111-1111-1111-111111111111",
    "a row of digits": "1234567890123456",
    "a number behind a word": "phone-1234567890",
    "a number of 16 digits": "4929184736205817",
    "a MAC address": "a4:83:e7:2f:9b:01",
    "a MAC address behind words": "carol-iphone-15-a483e72f9b01",
    "an e-mail address": "alice@mail.example.com",
    "a name and a model": "carol-iphone-15-pro",
    "a row of hexadecimal digits": "0123456789abcdef",
    "one letter": "x" * 40,
    "the profile": "carol@shop.example.com",
    "hardly more than the profile": "Phone-CAROL@shop.example.com",
}


@pytest.mark.parametrize("device_id", GUESSABLE.values(), ids=GUESSABLE)
def test_a_device_id_that_can_be_guessed_is_refused(caller, device_id):
    phone = Phone()
    phone.device_id = device_id
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="device_id"):
        caller.begin_binding(phone, "carol@shop.example.com")


@pytest.mark.parametrize(
    "device_id",
    ["6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42", "3fa9c1b2d4e5f607", "GYvKCm1aQx6mJ8Vn0pWd2A", "b9e4c0d1-carol-7d1f2a6e"],
    ids=["a UUID", "64 bits in hexadecimal digits", "128 bits in base64", "random with the profile in it"],
)
def test_a_random_device_id_is_taken(caller, device_id):
    phone = Phone()
    phone.device_id = device_id
    assert isinstance(caller.begin_binding(phone, "carol"), bindings_pb2.BeginBindingResponse)


# What a configuration may not say

WRONG = {
    "no mapping": ("vendors: ‸[shop, bank]", "vendors must be a mapping"),
    "no list": ("vendors: {acme: ‸shop}", "vendors.acme must be a list"),
    "nobody": ("vendors: {acme: ‸[]}", "vendors.acme must be 1 to"),
    "an empty id": ('vendors: {acme: [shop, ‸""]}', "an application in vendors.acme is empty"),
    "a reserved id": ("vendors: {acme: [shop, ‸x/payment]}", "an application in vendors.acme must not end in /payment"),
    "an application twice": (
        "vendors:\n  acme: [shop, bank]\n  trust: [vault, ‸bank]",
        '"bank" is in vendors.acme already: an application has one vendor',
    ),
    "another word": ("‸vendor: {acme: [shop]}", 'did you mean "vendors"'),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, case):
    check_complaints(tmp_path / "touchstone.yaml", *case)
