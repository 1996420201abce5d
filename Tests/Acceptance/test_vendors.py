"""Whose word on a phone counts for whom (R8): another vendor's application neither locks nor unlocks it."""

import signal

import grpc
import pytest

from support.caller import new_caller, passcode
from support.errors import refused
from support.phone import Phone
from support.stubs import evaluation_pb2

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


def test_a_device_id_that_can_be_guessed_is_refused(caller):
    phone = Phone()
    phone.device_id = "a4:83:e7:2f:9b:01"
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="device_id"):
        caller.begin_binding(phone, "carol@shop.example.com")
