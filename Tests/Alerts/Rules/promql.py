"""The names of metrics in a query."""

import re

#: With what stands in their parentheses, which are labels.
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_WORDS = {"and", "or", "unless", "offset", "bool", "by", "without", "on", "ignoring", "group_left", "group_right"}


def metric_names(query):
    query = re.sub(r'"(?:[^"\\]|\\.)*"', "", query)
    # Labels, ranges and steps.
    query = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", query)
    query = _GROUPING.sub(" ", query)
    # A function's name stands before a parenthesis, also before `sum by (job) (…)`, whose labels are gone.
    found = re.findall(r"(?<![\w:$])([a-zA-Z_:][\w:]*)(?!\s*\(|[\w:])", query)
    return {name for name in found if name not in _WORDS}


def family(name, known):
    """That of a histogram's buckets, sum or count; else the name itself."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if base in known else name
