"""The budgets of budgets.json, and whether measured figures keep them.

A threshold is what was reached on a quiet machine, with the margin of its kind of noise. If a budget is not reached yet, its
threshold is above it; where a figure is far better than its budget and varies much, the budget itself stands for what was reached.
"""

import json
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_suffix(".json")
_CONTENT = json.loads(_FILE.read_text())


@dataclass(frozen=True)
class Budget:
    name: str
    #: What is measured.
    title: str
    unit: str
    budget: float
    #: On a quiet machine, or the budget.
    reached: float
    #: The kind of noise: a key of the file's `noise`.
    noise: str
    #: The module that measures it.
    part: str

    @property
    def threshold(self):
        return self.reached * (1 + _CONTENT["noise"][self.noise]["margin"])

    def verdict(self, figure):
        if figure > self.threshold:
            return "FAIL"
        return "pass" if figure <= self.budget else "pass, over the budget"


BUDGETS = {name: Budget(name, **values) for name, values in _CONTENT["budgets"].items()}
#: In the order of the file, each once.
PARTS = list(dict.fromkeys(budget.part for budget in BUDGETS.values()))


def judge(figures):
    """Prints the figures, by the names of their budgets, beside these. Answers an exit code."""
    if not figures:
        return 0
    width = max(len(BUDGETS[name].title) for name in figures)
    print(f"\n{'at most':<{width}}{'budget':>12}{'threshold':>12}{'measured':>12}  unit")
    for name, figure in figures.items():
        budget = BUDGETS[name]
        print(
            f"{budget.title:<{width}}{budget.budget:>12.4g}{budget.threshold:>12.3g}{figure:>12.3g}  {budget.unit:<18}"
            f"{budget.verdict(figure)}",
            flush=True,
        )
    return 0 if all(figure <= BUDGETS[name].threshold for name, figure in figures.items()) else 1
