"""What proofs of keys cost a service: bindings with App Attest and with Android's certificates, and logins by passkeys.

CPU is the server's own. A binding's proof is what it takes beyond a bare binding, in V. The proofs are as long as real ones: App
Attest's certificates are of P-384, as Apple's, and Android's chain has five, of which all but the phone's own are known after the
first binding. Bindings come one after another; kinds of bindings take turns, because the speed of a rented machine drifts.

The last figure is what 100 attested bindings a second, half of them App Attest's and half Android's, do to the p99 of logins at half
of what a closed loop of them reaches. Alone and beside take turns, and the median counts. The proofs are made before, so that the
phones take no CPU from the service but for their signatures.
"""

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import grpc

import budgets
import service
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from service import Service, cpu_nanoseconds, verification_microseconds
from support.android import AndroidPhone, Maker, certificate, common_name
from support.apple import APP_ID, Apple, ApplePhone
from support.caller import Caller
from support.phone import Phone
from support.stubs import bindings_pb2

APPLICATION = "touchstone-load"
#: Of each kind and turn; the first few read certificates that are known from then on.
BINDINGS = int(os.environ.get("BINDINGS", "150"))
TURNS = int(os.environ.get("TURNS", "4"))
BINDINGS_PER_SECOND = 100
LOAD_SECONDS = int(os.environ.get("SECONDS", "10"))
#: The load client's start and its warm-up, and as much at its end.
START_SECONDS = 3
CONNECTIONS, STREAMS = 8, 10
#: As touchstone-load's passkeys need it (docs/LOAD.md).
PASSKEYS = "{rp_id: load.example, origins: [https://load.example]}"


class LongChain(Maker):
    """A make of phones with a chain of five: the key, the phone's keystore, two authorities, the root."""

    def __init__(self):
        super().__init__()
        names = [common_name(f"Maker CA {number}") for number in (1, 2)]
        keys = [ec.generate_private_key(ec.SECP384R1()) for _ in names]
        self.authorities = []
        issuer_name, issuer_key = self._root_name, self._root_key
        for name, key in zip(names, keys, strict=True):
            self.authorities.insert(0, certificate(name, issuer_name, key, issuer_key, is_authority=True))
            issuer_name, issuer_key = name, key
        self.keystore = certificate(self.keystore_name, issuer_name, self.keystore_key, issuer_key, is_authority=True)

    def chain(self, key, description, keystore=None):
        chain = [self.leaf(key, description), keystore or self.keystore, *self.authorities, self.root]
        return [c.public_bytes(Encoding.DER) for c in chain]


class Site:
    """A service that trusts these makers, and a caller of it."""

    def __init__(self, directory, **options):
        directory.mkdir()
        self.apple, self.maker = Apple(new_key=lambda: ec.generate_private_key(ec.SECP384R1())), LongChain()
        configuration = f"""
attestation:
  roots:
    apple: {self.apple.write_roots(directory / "apple.pem")}
    android: {self.maker.write_roots(directory / "android.pem")}
applications:
  {APPLICATION}:
    app_ids: [{APP_ID}]
    passkeys: {PASSKEYS}
"""
        self.service = Service(directory, configuration=configuration, **options)
        self.caller = new_caller(self.service.address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.service.stop()


def new_caller(address):
    return Caller(grpc.insecure_channel(address), APPLICATION)


def bare(site, name):
    phone = Phone()
    begun = site.caller.begin_binding(phone, name)
    return site.caller.completion(phone, begun, keys=phone.hardware_keys(begun.signing_input))


def by_app_attest(site, name):
    phone = ApplePhone(site.apple)
    begun = site.caller.begin_binding(phone, name)
    keys = phone.hardware_keys(begun.signing_input)
    request = site.caller.completion(phone, begun, keys=keys)
    request.app_attest.CopyFrom(phone.attestation(begun, keys))
    return request


def by_chain(site, name):
    phone = AndroidPhone(site.maker)
    begun = site.caller.begin_binding(phone, name)
    return site.caller.completion(phone, begun, keys=phone.attested_keys(begun.signing_input))


def binding_microseconds(site, kind, turn):
    """The server's CPU for one CompleteBinding."""
    requests = [kind(site, f"{kind.__name__}-{turn}-{index}") for index in range(BINDINGS)]
    begin = cpu_nanoseconds(site.service.pid)
    for request in requests:
        assert site.caller.bindings.CompleteBinding(request).binding.binding_id
    return (cpu_nanoseconds(site.service.pid) - begin) / len(requests) / 1e3


def measure_bindings(directory, verification):
    figures = {}
    with Site(directory / "bindings") as site:
        kinds = (bare, by_app_attest, by_chain)
        # The first ones teach the service the makers' certificates.
        for kind in kinds:
            site.caller.bindings.CompleteBinding(kind(site, f"{kind.__name__}-first"))
        costs = {kind: [] for kind in kinds}
        for turn in range(TURNS):
            for kind in kinds:
                costs[kind].append(binding_microseconds(site, kind, turn))
        medians = {kind: statistics.median(found) for kind, found in costs.items()}
    for kind, cost in medians.items():
        print(f"{kind.__name__:<16}{cost:>10.0f} µs a binding, {cost / verification:.1f} V", flush=True)
    figures["app_attest_binding"] = (medians[by_app_attest] - medians[bare]) / verification
    figures["android_binding"] = (medians[by_chain] - medians[bare]) / verification
    return figures


# Logins


def login_microseconds(directory, credential):
    scenario = directory / f"{credential}.yaml"
    scenario.write_text(f"credential: {credential}\nflows: [{{actions: login}}]\n")
    with Site(directory / f"login-{credential}-{time.monotonic_ns()}", is_on_one_core=True) as site:
        load = site.service.load("--scenario", scenario, "--connections", CONNECTIONS, "--streams", STREAMS)
        return service.server_microseconds(service.report(load, is_saturating=True))


def measure_passkeys(directory, verification):
    costs = {credential: [] for credential in ("p256", "passkey", "hybrid")}
    for _ in range(TURNS):
        for credential, found in costs.items():
            found.append(login_microseconds(directory, credential))
    medians = {credential: statistics.median(found) for credential, found in costs.items()}
    for credential, cost in medians.items():
        print(f"login, {credential:<10}{cost:>9.1f} µs, {cost / verification:.2f} V", flush=True)
    return {"passkey_login": (medians["passkey"] - medians["p256"]) / verification}


# Bindings beside logins


def bind_steadily(address, requests, has_begun):
    """In a process of its own, at the lowest priority: all that the phones do was done before.

    `requests`: serialized.
    """
    os.nice(19)
    caller = new_caller(address)
    messages = [bindings_pb2.CompleteBindingRequest.FromString(request) for request in requests]
    pending, begin = [], time.monotonic()
    for index, message in enumerate(messages):
        time.sleep(max(0.0, begin + index / BINDINGS_PER_SECOND - time.monotonic()))
        pending.append(caller.bindings.CompleteBinding.future(message))
        if index == BINDINGS_PER_SECOND // 10:
            has_begun.set()
    for call in pending:
        assert call.result().binding.binding_id


def login_p99(site, rate, requests=()):
    # gRPC does not survive a fork.
    context = multiprocessing.get_context("spawn")
    has_begun = context.Event()
    process = context.Process(target=bind_steadily, args=(site.service.address, requests, has_begun))
    if requests:
        process.start()
        has_begun.wait()
    load = site.service.load(
        "--rate", f"{rate:.0f}", "--connections", CONNECTIONS, "--streams", STREAMS, duration=f"{LOAD_SECONDS}s"
    )
    found = service.report(load)["p99_us"]
    if requests:
        process.join()
        if process.exitcode != 0:
            sys.exit("attested bindings failed beside the logins")
    return found


def attested(site, turn):
    """Enough for the load's time, its start and its end, serialized. Their tickets live for two minutes."""
    count = BINDINGS_PER_SECOND * (LOAD_SECONDS + 2 * START_SECONDS)
    kinds = (by_app_attest, by_chain)
    requests = [kinds[index % 2](site, f"beside-{turn}-{index}") for index in range(count)]
    return [request.SerializeToString() for request in requests]


def measure_beside(directory):
    with Site(directory / "beside") as site:
        # As many as ever can come: a busy machine refuses some, early.
        options = ["--connections", CONNECTIONS, "--streams", STREAMS, "--allow-errors"]
        rate = service.report(site.service.load(*options), is_saturating=True)["rate"] / 2
        alone, beside = [], []
        for turn in range(TURNS):
            requests = attested(site, turn)
            alone.append(login_p99(site, rate))
            beside.append(login_p99(site, rate, requests))
            print(f"{rate:.0f} logins/s: p99 {alone[-1] / 1e3:.1f} ms alone, {beside[-1] / 1e3:.1f} ms beside", flush=True)
    return {"attested_beside": statistics.median(beside) / statistics.median(alone)}


def measure():
    verification = verification_microseconds()
    print(f"V = {verification:.1f} µs")
    with tempfile.TemporaryDirectory(prefix="touchstone-attestation-") as name:
        directory = Path(name)
        return {
            **measure_bindings(directory, verification),
            **measure_passkeys(directory, verification),
            **measure_beside(directory),
        }


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
