"""Validates a list of parts by CycloneDX's own library, which is a stranger to the script that wrote it."""

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main(path):
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(Path(path).read_text(encoding="utf-8"))
    if error is not None:
        sys.exit(f"{path}: {error}")
    print(f"{path} is valid CycloneDX 1.5")


main(*sys.argv[1:])
