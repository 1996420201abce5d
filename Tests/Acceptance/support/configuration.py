"""Configurations that are wrong, and what must be said of them."""

from .server import run

BAD_CONFIGURATION = 78

#: A mark stands before each word that is wrong; then, in that order, what is said about it. It is not in the file.
MARK = "‸"


def write(path, text):
    path.write_text(text)
    return path


def marked(path, text):
    """Writes the text without its marks, and answers where they stood, as "FILE:LINE:COLUMN: "."""
    places = []
    for number, line in enumerate(text.split("\n"), start=1):
        parts = line.split(MARK)
        column = 1
        for part in parts[:-1]:
            column += len(part)
            places.append(f"{path}:{number}:{column}: ")
    write(path, text.replace(MARK, ""))
    return places


def check_complaints(path, text, *complaints):
    """`check-config` says just this, each at its place."""
    places = marked(path, text)
    assert len(places) == len(complaints)
    checked = run("check-config", path)
    assert checked.returncode == BAD_CONFIGURATION
    assert checked.stdout == ""
    lines = checked.stderr.splitlines()
    assert len(lines) == len(complaints), checked.stderr
    for line, place, complaint in zip(lines, places, complaints, strict=True):
        assert line.startswith(place)
        assert complaint in line
