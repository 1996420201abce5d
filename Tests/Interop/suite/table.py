"""The results: what was played against whom, and how it went."""

from dataclasses import dataclass

from .processes import Outcome


@dataclass(frozen=True)
class NotApplicable:
    reason: str


class Table:
    """A row for each case, a column for each pairing."""

    def __init__(self, name):
        self.name = name
        self.cells = {}

    def enter(self, row, column, result):
        self.cells[row, column] = result
        if isinstance(result, Outcome) and not result.passed:
            print(f"FAIL {row}, {column}:\n    {result.output.replace(chr(10), chr(10) + '    ')}", flush=True)

    @property
    def failures(self):
        return [cell for cell, result in self.cells.items() if isinstance(result, Outcome) and not result.passed]

    def markdown(self):
        """Reasons of what does not apply stand below, by number."""
        rows, columns = ordered(row for row, _ in self.cells), ordered(column for _, column in self.cells)
        reasons = ordered(result.reason for result in self.cells.values() if isinstance(result, NotApplicable))
        lines = [[self.name, *columns], ["---"] * (len(columns) + 1)]
        lines += [[row, *(self.text(row, column, reasons) for column in columns)] for row in rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = "\n".join(f"- n.a. {number}: {reason}" for number, reason in enumerate(reasons, 1))
        return f"{table}\n\n{notes}\n" if notes else f"{table}\n"

    def text(self, row, column, reasons):
        match self.cells.get((row, column)):
            case None:
                return ""
            case NotApplicable(reason):
                return f"n.a. {reasons.index(reason) + 1}"
            case Outcome(passed=True):
                return "pass"
            case _:
                return "**FAIL**"


def ordered(values):
    """Each once, in the order of their first appearance."""
    return list(dict.fromkeys(values))
