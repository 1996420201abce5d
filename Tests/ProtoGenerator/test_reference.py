"""Protos/generate_api.py: docs/API.md has everything of the API, with links that lead somewhere."""

import re
from pathlib import Path

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from test_generator import compiled

import generate_api

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/API.md").read_text(encoding="utf-8")


def everything(tmp_path):
    names = sorted(str(path.relative_to(ROOT / "Protos")) for path in (ROOT / "Protos/touchstone").rglob("*.proto"))
    return [file for file in compiled(ROOT / "Protos", tmp_path, *names).file if file.name in names]


def test_every_method_field_and_value_is_on_the_page(tmp_path):
    for file in everything(tmp_path):
        for service in file.service:
            assert all(f"\n### {method.name}\n" in PAGE for method in service.method)
        for message in file.message_type:
            assert f"\n### {message.name}\n" in PAGE or f"`{message.name}`" in PAGE
            assert all(f"| `{field.name}` = {field.number} |" in PAGE for field in message.field)
        for enum in file.enum_type:
            assert all(f"| `{value.name}` = {value.number} |" in PAGE for value in enum.value)


def test_links_lead_to_one_heading_each():
    headings = [heading.lower().replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.*)$", PAGE)]
    assert len(headings) == len(set(headings))
    links = re.findall(r"\]\(#([^)]*)\)", PAGE)
    assert set(links) <= set(headings)
    assert len(links) > len(headings) / 2


def test_a_table_in_a_comment_stays_a_table():
    blocks = generate_api.prose(["Why not.", "  reason  code", "  A_TOO_OLD  -6", "", "ABORTED: again.", "  Later."])
    assert blocks == ["Why not.", "```text\n  reason  code\n  A_TOO_OLD  -6\n```", "- ABORTED: again.\n    Later."]


def test_markup_in_a_comment_is_text():
    assert generate_api.cell(["a | b", "<c> *d*"]) == r"a \| b \<c> \*d\*"


def test_a_type_is_named_as_the_protos_name_it():
    assert generate_api.scalar(Field(type=Field.TYPE_UINT32)) == "uint32"
