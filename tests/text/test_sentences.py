import pytest
from hypothesis import given, strategies as st

from webapp.text.quotes import Span
from webapp.text.sentences import clauses_of, is_question, sentence_around, sentences_of, whole_sentences_end


def texts(message):
    return [message[start:end] for start, end in sentences_of(message)]


@pytest.mark.cases("message", "sentences")
def test_sentences_end_as_their_script_has_it(message, sentences):
    assert texts(message) == sentences


@pytest.mark.parametrize(
    "asked",
    ["Really?", "真的吗？", "هل هذا صحيح؟", "Πού μένεις\u037e", "Իսկապե՞ս։", 'He asked "why?"', "Why? 👍🏽❤️", "Why?!"],
)
def test_a_question_ends_in_the_mark_of_its_script(asked):
    assert is_question(asked) is (asked != "Why?!")


@pytest.mark.parametrize("said", ["I live here.", "I came; I saw;", "", "42", "Nein!"])
def test_what_ends_otherwise_is_no_question(said):
    assert not is_question(said)


def test_a_quote_takes_all_the_sentences_it_touches():
    message = "I moved. I live in Bath now. What else?"
    start = message.index("moved")
    assert sentence_around(Span(start, start + 13), message) == Span(0, message.index(" What"))


def test_clauses_end_at_marks_and_pictures():
    message = "we have the keys 🎉 any tips, please? ¿y tú?"
    assert [message[a:b].strip() for a, b in clauses_of(message)] == [
        "we have the keys 🎉",
        "any tips,",
        "please?",
        "¿y tú?",
    ]


@given(st.text(max_size=300))
def test_sentences_are_in_order_and_leave_out_only_white_space(message):
    at = 0
    for start, end in sentences_of(message):
        assert at <= start < end and not message[at:start].strip()
        at = end
    assert not message[at:].strip()


@given(st.text(max_size=200))
def test_clauses_cover_a_text(message):
    assert "".join(message[a:b] for a, b in clauses_of(message)) == message


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hello there. And th", "Hello there."),
        ("Hello there.", "Hello there."),
        ('He said "yes." Then', 'He said "yes."'),
        ("你好。再", "你好。"),
        ("a line\nand a ha", "a line"),
        ("It costs 3.5 or so", ""),
        ("Once. " + "word " * 2_000, "Once."),
    ],
)
def test_where_a_text_that_is_cut_off_was_last_complete(text, kept):
    assert text[: whole_sentences_end(text)] == kept
