"""Rendered Markdown is remembered within bounds, and is what rendering it anew would give."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from webapp.markdown import render, render_stored
from webapp.markdown.rendering import HtmlCache


@given(st.lists(st.text(max_size=40), max_size=12))
def test_it_is_the_same_as_rendered_anew(texts: list[str]) -> None:
    rendered = HtmlCache(capacity=200, largest=100)
    for text in [*texts, *texts]:
        assert rendered.html(text) == render(text)
        assert 0 <= rendered.size <= 200


def test_a_text_is_rendered_once(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr("webapp.markdown.rendering.render", lambda text: asked.append(text) or render(text))
    rendered = HtmlCache()
    assert [rendered.html("**a**"), rendered.html("**a**"), rendered.html("b")] == [*[render("**a**")] * 2, render("b")]
    assert asked == ["**a**", "b"]


def test_the_longest_unseen_is_given_up_and_the_excessive_never_kept(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr("webapp.markdown.rendering.render", lambda text: asked.append(text) or text)
    rendered = HtmlCache(capacity=10, largest=6)
    for text in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "too long", "too long"):
        rendered.html(text)
    assert asked == ["aaaa", "bbbb", "cccc", "bbbb", "too long", "too long"]
    assert rendered.size == 8


def test_many_threads_keep_the_size_true() -> None:
    rendered = HtmlCache(capacity=300)
    with ThreadPoolExecutor(8) as pool:
        texts = [f"**{number % 40}**" for number in range(2_000)]
        assert list(pool.map(rendered.html, texts)) == [render(text) for text in texts]
    assert rendered.size == sum(map(len, rendered._cache.values())) <= 300


def test_stored_messages_use_it() -> None:
    assert render_stored("*x*") is render_stored("*x*")
