"""The stream renderer: what it gives, and that it does not look again at what is finished."""

import pytest

from webapp.markdown import StreamRenderer, render, rendering, streaming

REPLY = "# Title\n\nA *paragraph* with `code`.\n\n```python\nprint('a')\n```\n\n- one\n- two\n\nThe end."


def test_a_reply_word_by_word() -> None:
    renderer = StreamRenderer()
    page = ""
    for character in REPLY:
        update = renderer.feed(character)
        page += "".join(update.finished_html)
        assert update.tail_html is not None
    last = renderer.finish()
    assert page + "".join(last.finished_html) == render(REPLY)
    assert last.tail_html == ""
    assert renderer.finish().finished_html == []


def test_the_tail_is_shown_as_far_as_it_goes() -> None:
    renderer = StreamRenderer()
    assert renderer.feed("Some **bo").tail_html == "<p>Some <strong>bo</strong></p>\n"
    assert renderer.feed("ld**").tail_html == "<p>Some <strong>bold</strong></p>\n"
    update = renderer.feed("\n\n```py\nx = '")
    assert update.finished_html == ["<p>Some <strong>bold</strong></p>\n"]
    assert update.tail_html is not None and 'data-lang="py"' in update.tail_html


def test_finished_text_is_never_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    split = streaming.split_stable

    def counting(text: str) -> tuple[list[str], str]:
        seen.append(len(text))
        return split(text)

    monkeypatch.setattr(streaming, "split_stable", counting)
    renderer = StreamRenderer()
    for _ in range(2_000):
        renderer.feed("A short paragraph of words.\n\n")
    assert max(seen) < 100


@pytest.mark.parametrize("line", ["- item of one endless list\n", "x = 1\n", "| 1 | 2 |\n", "word "])
def test_one_endless_block_costs_linear_work(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = 0
    inner = rendering.render_growing

    def counting(text: str, code: object) -> object:
        nonlocal rendered
        rendered += len(text)
        return inner("", code)

    monkeypatch.setattr(streaming, "render_growing", counting)
    monkeypatch.setattr(streaming, "split_stable", lambda text: ([], text))
    start = {"x = 1\n": "```python\n", "| 1 | 2 |\n": "| a | b |\n|--|--|\n"}.get(line, "")
    renderer = StreamRenderer()
    renderer.feed(start)
    for _ in range(100_000 // len(line)):
        renderer.feed(line)
    assert rendered < 100_000 * 2 * streaming.CODE_GROWTH + streaming.SHORT_TAIL**2 / len(line)


def test_growing_code_is_coloured_and_complete() -> None:
    renderer = StreamRenderer()
    renderer.feed("```python\n")
    html = ""
    for number in range(200):
        html = str(renderer.feed(f"value_{number} = {number}\n").tail_html or html)
    assert '<span class="n">value_0</span>' in html
    assert "value_199" in html
    final = renderer.feed("```\n").finished_html[0]
    assert '<span class="n">value_199</span>' in final


@pytest.mark.parametrize("piece", ["![", "[", "[a]["])
def test_brackets_that_open_nothing_are_not_rendered_over_and_over(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = 0
    inner = streaming.render_growing

    def counting(text: str, code: object) -> object:
        nonlocal rendered
        rendered += text.count("[")
        return inner("", code)

    monkeypatch.setattr(streaming, "render_growing", counting)
    renderer, total = StreamRenderer(), 0
    while total < 20_000:
        renderer.feed(piece * 40)
        total += 40 * piece.count("[")
    # The short tail is shown as it grows; from there on the whole costs no more than a few times its length.
    assert rendered < 4 * total + streaming.MANY_BRACKETS**2 / 40
