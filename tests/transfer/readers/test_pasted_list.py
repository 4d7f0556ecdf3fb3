"""Memories in plain text: what is one, what goes on with the one above, and what is only there to order them."""

from pathlib import Path

import pytest

from webapp.transfer.readers.pasted_list import PastedList
from webapp.transfer.sources import Upload


def read(path: Path, text: str) -> list[tuple[str, str | None]]:
    path.write_text(text, encoding="utf-8")
    with Upload(path, "list.txt") as upload:
        return [(one.content, one.at and one.at.date().isoformat()) for one in PastedList().read(upload)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lives in Ulm\nKeeps bees", ["Lives in Ulm", "Keeps bees"]),
        ("- Has two cats\n  named Ada and Bo\n- Likes tea\nWorks in Ulm", ["Has two cats named Ada and Bo", "Likes tea", "Works in Ulm"]),  # noqa: E501
        ("Works as a baker, since 2019,\nand likes it.\nHas a dog.", ["Works as a baker, since 2019, and likes it.", "Has a dog."]),  # noqa: E501
        ("# About me\n- Has cats\n\nHome\n====\n**Work**\n- Bakes", ["Has cats", "Home", "Bakes"]),
        ("- Family\n  - Has cats\n    and a dog\n- Work\n  - Bakes", ["Has cats and a dog", "Bakes"]),
        ("1、喜欢喝绿茶\n２．住在成都\n（3）对花生过敏\n①会下棋\n・猫がいる", ["喜欢喝绿茶", "住在成都", "对花生过敏", "会下棋", "猫がいる"]),  # noqa: E501
        ("a) Has cats\nb) Bakes", ["Has cats", "Bakes"]),
        ("Here is what I know:\n```\n• Has cats\n```", ["Has cats"]),
        ("3.5 litres of tea a day\n- Likes tea", ["Likes tea"]),
        ("|a|\n|-|\n| Has cats |", ["Has cats"]),
        ("---\n- Has cats\n***\n", ["Has cats"]),
    ],
)  # fmt: skip
def test_entries(tmp_path, text, expected):
    assert [content for content, _ in read(tmp_path / "list", text)] == expected


def test_dates_stand_in_brackets_and_in_cells(tmp_path):
    table = "| Memory | When |\n|:--|--:|\n| Has two cats | 2025-01-02 |\n| Likes tea | |\n"
    assert read(tmp_path / "list", table) == [("Has two cats", "2025-01-02"), ("Likes tea", None)]
    listed = "[2025-01-02] - Has cats\n- [unknown]: Likes tea\n3. [2025-01-04]. Bakes"
    assert read(tmp_path / "list", listed) == [("Has cats", "2025-01-02"), ("Likes tea", None), ("Bakes", "2025-01-04")]
