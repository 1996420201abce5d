"""Fails for what DocC found, one line each, but for parameters without a description: those whose names say enough have none.

Usage: judge.py DIAGNOSTICS...    the files that `docc convert --diagnostics-file` wrote
"""

import json
import re
import sys

SELF_EVIDENT = re.compile(r"Parameter '[^']*' is missing documentation")


def main():
    found = 0
    for file in sys.argv[1:]:
        with open(file) as stream:
            diagnostics = json.load(stream)["diagnostics"]
        for diagnostic in diagnostics:
            if diagnostic["severity"] not in ("error", "warning") or SELF_EVIDENT.fullmatch(diagnostic["summary"]):
                continue
            found += 1
            place = diagnostic.get("source", "").removeprefix("file://")
            line = diagnostic.get("range", {}).get("start", {}).get("line", 1)
            print(f"{place}:{line}: {diagnostic['summary']}", file=sys.stderr)
    sys.exit(65 if found else 0)


main()
