"""Protos/buf.yaml and Protos/released.binpb: `make check-protos` refuses what would break a client of the last version."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROTOS = Path(__file__).parents[2] / "Protos"
BUF = Path(sys.executable).with_name("buf")


@pytest.fixture
def protos(tmp_path):
    return shutil.copytree(PROTOS, tmp_path / "Protos")


def judged(protos, *arguments):
    return subprocess.run([BUF, *arguments], cwd=protos, capture_output=True, text=True, timeout=60, check=False)


def change(protos, name, old, new):
    file = protos / "touchstone/v1" / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize("name, old, new", [
    ("types.proto", "  LAError la_error = 1;\n", ""),
    ("types.proto", "string payee = 3;", "string payee = 5;"),
    ("types.proto", "string payee = 3;", "bytes payee = 3;"),
    ("types.proto", "string payee = 3;", "string recipient = 3;"),
    ("evaluation.proto", "OUTCOME_LOCKED_OUT = 6;", "OUTCOME_LOCKED = 6;"),
    ("tokens.proto", "rpc ConsumeToken(", "rpc SpendToken("),
    ("tokens.proto", "touchstone/touchstonev1", "touchstone/v1"),
])
def test_a_change_that_breaks_a_client_is_refused(protos, name, old, new):
    change(protos, name, old, new)
    refused = judged(protos, "breaking", "--against", "released.binpb")
    assert refused.returncode == 100, refused.stderr
    assert f"touchstone/v1/{name}:" in refused.stdout


def test_an_addition_breaks_no_client(protos):
    change(protos, "types.proto", "string payee = 3;", "string payee = 3;\n  // New.\n  string city = 5;")
    passed = judged(protos, "breaking", "--against", "released.binpb")
    assert passed.returncode == 0, passed.stdout + passed.stderr


@pytest.mark.parametrize("name, old, new", [
    ("tokens.proto", "string jwk_set = 1;", "string jwkSet = 1;"),
    ("types.proto", "BIOMETRY_TYPE_VOICE", "VOICE"),
    ("tokens.proto", 'option java_package = "touchstone.v1"', 'option java_package = "other.v1"'),
    ("tokens.proto", "rpc GetSigningKeys(GetSigningKeysRequest)", "\n\n  rpc GetKeys(GetSigningKeysRequest)"),
])
def test_a_name_that_generators_do_not_expect_is_refused(protos, name, old, new):
    change(protos, name, old, new)
    assert judged(protos, "lint").returncode == 100
