"""What callgrind counted: reads its files (valgrind's manual, "Callgrind Format Specification")."""

import re
from collections import Counter
from dataclasses import dataclass, field

#: A name that was given before is written by its number alone: "(7)" after "(7) malloc".
_NAME = re.compile(r"(\(\d+\))(?: (.*))?$")
_FUNCTION_KEYS = ("fn", "cfn")
_OBJECT_KEYS = ("ob", "cob")


@dataclass(frozen=True)
class Profile:
    #: Instructions of each function itself.
    own: Counter = field(default_factory=Counter)
    #: The same by the file that has them: the program, or a library.
    own_of_objects: Counter = field(default_factory=Counter)
    #: (caller, function): how often it was called, and the instructions until it returned.
    calls: Counter = field(default_factory=Counter)
    inclusive: Counter = field(default_factory=Counter)

    def calls_of(self, names):
        return sum(count for (_, function), count in self.calls.items() if function in names)


def read(path):
    profile, functions, objects = Profile(), {}, {}
    caller = callee = place = None
    is_cost_of_call = False
    with open(path) as lines:
        for line in map(str.rstrip, lines):
            key, separator, value = line.partition("=")
            if separator and key in _FUNCTION_KEYS:
                number, name = _NAME.match(value).groups()
                name = functions.setdefault(number, name)
                caller, callee = (name, callee) if key == "fn" else (caller, name)
            elif separator and key in _OBJECT_KEYS:
                number, name = _NAME.match(value).groups()
                name = objects.setdefault(number, name)
                place = name if key == "ob" else place
            elif separator and key == "calls":
                profile.calls[caller, callee] += int(value.split()[0])
                is_cost_of_call = True
            elif line and line[0] in "0123456789+-*":
                cost = int(line.split()[1])
                if is_cost_of_call:
                    profile.inclusive[caller, callee] += cost
                else:
                    profile.own[caller] += cost
                    profile.own_of_objects[place] += cost
                is_cost_of_call = False
    return profile
