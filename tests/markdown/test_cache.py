"""Rendered Markdown is remembered within bounds."""

from collections.abc import Iterator

import pytest

from webapp.markdown import render, render_stored
from webapp.markdown.rendering import LARGEST


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the texts that are rendered, from an empty cache on."""
    texts: list[str] = []
    render_stored.cache.clear()
    monkeypatch.setattr("webapp.markdown.rendering.render", lambda text: texts.append(text) or render(text))
    yield texts
    render_stored.cache.clear()


def test_a_text_is_rendered_once(asked: list[str]) -> None:
    assert [render_stored(text) for text in ("**a**", "**a**", "b")] == [*[render("**a**")] * 2, render("b")]
    assert asked == ["**a**", "b"]


def test_the_excessive_is_never_kept(asked: list[str]) -> None:
    long = "word " * (LARGEST // 5 + 1)
    assert render_stored(long) == render_stored(long) == render(long)
    assert asked == [long, long] and not render_stored.cache.currsize
