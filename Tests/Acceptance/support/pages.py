"""The code in the repository's pages."""


def blocks_of(page, language):
    """The code of that language in a page, block by block."""
    return [block.split("```")[0] for block in page.read_text(encoding="utf-8").split(f"```{language}\n")[1:]]
