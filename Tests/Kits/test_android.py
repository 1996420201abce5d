"""The kit for Android, as its jar: its vectors and flows on a JVM, and an app on a JVM that its README alone describes, with a service."""

import hashlib
import os
import re
import shutil
import subprocess

import pytest
from conftest import KITS, ROOT, VECTORS
from cryptography.hazmat.primitives.serialization import load_der_public_key
from support import java
from support.android import BIOMETRIC, PACKAGE, PASSWORD, KeyDescription, Maker
from support.certificates import Authority
from support.credentials import Key
from support.java import compiled, run
from support.pages import blocks_of
from support.server import Server

KIT = ROOT / "kits/android"
#: The output of `make clients`.
CLIENTS = ROOT / ".build-clients"

@pytest.fixture(scope="module")
def jar():
    jars = sorted(KITS.glob("touchstone-kit-*.jar"))
    if not jars or shutil.which("javac") is None:
        pytest.exit(f"there is no jar in {KITS}, or no Java: run `make kits`", returncode=1)
    return jars[-1]


@pytest.fixture(scope="module")
def tests(jar, tmp_path_factory):
    """The classpath of the kit's own tests."""
    work = tmp_path_factory.mktemp("tests")
    stubs = compiled(work / "stubs", "", *KIT.glob("src/test/stubs/android/security/keystore/*.java")).rstrip(":")
    return compiled(work / "classes", f"{jar}:{stubs}", *KIT.glob("src/test/java/touchstone/kit/*.java"))


def test_it_decides_the_vectors_and_its_flows(tests):
    names = [f"touchstone.kit.{file.stem}" for file in sorted(KIT.glob("src/test/java/touchstone/kit/*Test.java"))]
    printed = run("java", f"-Dvectors={VECTORS}", "-classpath", tests, "touchstone.kit.Runner", *names)
    passed, failed = map(int, re.search(r"(\d+) passed, (\d+) failed", printed).groups())
    assert failed == 0 and passed >= 30
    tested = {f'decide("{file.stem}"' for file in VECTORS.glob("*.json")}
    text = (KIT / "src/test/java/touchstone/kit/VectorsTest.java").read_text()
    assert all(call in text for call in tested)


def test_the_jar_has_no_stub_and_runs_on_java_11(jar):
    names = run("jar", "--list", "--file", jar).split()
    assert {name.split("/")[0] for name in names} == {"META-INF", "touchstone"} and "META-INF/LICENSE" in names
    assert "major version: 55" in run("javap", "-verbose", "-classpath", jar, "touchstone.kit.TouchID")
    needed = run("jdeps", "--multi-release", "11", "--ignore-missing-deps", "--print-module-deps", jar).strip()
    assert needed == "java.base"


def test_a_second_build_makes_the_same_bytes(jar, tmp_path):
    for number in range(2):
        run(KIT / "build", tmp_path / str(number), env={"SOURCE_DATE_EPOCH": "1790000000"})
    first, second = ([file.read_bytes() for file in sorted((tmp_path / name).iterdir())] for name in "01")
    assert first == second and len(first) == 2


def test_the_activity_of_its_readme_has_forty_lines():
    (activity,) = blocks_of(KIT / "README.md", "kotlin")
    assert len(activity.strip().splitlines()) <= 45


@pytest.fixture
def service(tmp_path):
    """A service that knows the shop by its key and the phone's hardware by its root; and how to start a program beside it."""
    authority, key, maker = Authority(tmp_path), Key(), Maker()
    certificate = authority.issue_server()
    signer = hashlib.sha256(b"signer").hexdigest()
    configuration = {
        "tls": {"certificate": str(certificate.file), "key": str(certificate.key_file)},
        "callers": [{"name": "shop", "applications": ["shop"], "methods": "*", "keys": [key.digest]}],
        "attestation": {"roots": {"android": str(maker.write_roots(tmp_path / "roots.pem"))}},
        "applications": {"shop": {"attestation": "required", "packages": [{"name": PACKAGE, "signers": [signer]}]}},
    }
    with Server(tmp_path / "data", configuration=configuration) as server:
        yield server, authority, key, maker


def test_an_app_by_its_readme_enables_logs_in_pays_changes_a_finger_and_recovers(service, tests, jar, tmp_path):
    server, authority, key, maker = service
    (relay,) = blocks_of(KIT / "README.md", "java")
    (tmp_path / "Relay.java").write_text(relay)
    (client,) = CLIENTS.glob("touchstone-client-*.jar")
    path = compiled(tmp_path / "app", f"{tests}:{client}:{java.libraries()}", tmp_path / "Relay.java", KIT / "src/test/service/Shop.java")
    program = subprocess.Popen(
        [*java.program(tmp_path / "library"), "-classpath", path, "Shop", server.address, authority.file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(tmp_path / "errors").open("w"),
        text=True,
        env={"PATH": os.environ["PATH"], "TOUCHSTONE_KEY": key.text},
    )
    lines = []
    with program:
        for line in program.stdout:
            word, *rest = line.split()
            if word == "attest":
                program.stdin.write(attested(maker, *rest) + "\n")
                program.stdin.flush()
            else:
                lines.append(line.strip())
        assert program.wait(java.SECONDS) == 0, (tmp_path / "errors").read_text()
    assert lines == [
        "status: not-enabled",
        "enable: done",
        "login: done",
        "pay: done",
        "consumed: true",
        "two wrong fingers: done",
        "cancel: stay",
        "the first prompt's button is Chinese: true",
        "the button, and the phone's passcode: done",
        "status after a new finger: bind-again",
        "login after a new finger: done [bind-again]",
        "bind again: done",
        "login after that: done",
        "lockout, and the phone's passcode: done",
        "login after the lockout: done",
        "lockout, and no passcode of the phone: stay",
        "a wrong passcode of the service: try-again FACTOR_PASSCODE",
        "its message is Chinese: true",
        "a passcode of the service: done",
        "enable on Android 10: done",
        "lockout there: use-factor FACTOR_PASSCODE",
        "a passcode there: done",
        "login there after the lockout: done",
        "a backend that lies: stop other-transaction",
        "status on another installation: reinstalled",
        "login there: bind-again",
        "enable there: done",
        "login after the shop revoked it: bind-again",
        "its message is Chinese: true",
        "status after that: not-enabled",
        "enable once more: done",
        "status at the end: not-enabled",
    ]


def attested(maker, kind, public_key, challenge):
    """The hardware's certificates of a key, in hexadecimal digits."""

    class Certified:
        """Only its public half is known here."""

        def public_key(self):
            return load_der_public_key(bytes.fromhex(public_key))

    authenticators = BIOMETRIC if kind == "biometry" else PASSWORD
    description = KeyDescription(bytes.fromhex(challenge), authenticators=authenticators)
    return " ".join(certificate.hex() for certificate in maker.chain(Certified(), description))
