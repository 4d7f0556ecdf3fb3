"""Terms of words, in every language."""

import json

import numpy as np
import pytest

from testkit.processes import ROOT
from webapp.text.vocabulary import Vocabulary
from webapp.text.words import language_of, term_of, words


@pytest.mark.parametrize(
    "forms",
    [("runs", "running"), ("bicycle", "Bicycles"), ("child", "child's"), ("January", "january"), ("l'année", "année")],
)
def test_forms_of_a_word_share_a_term(forms):
    vocabulary = Vocabulary()
    assert len({int(number[0]) for number in vocabulary.number(forms)}) == 1


@pytest.mark.cases("told", "asked", "language")
def test_forms_meet_in_their_own_language(told, asked, language):
    vocabulary = Vocabulary()
    (numbers,) = vocabulary.number([told])
    assert language_of(words(told)) == language_of(words(asked)) == language
    found = {number for word in words(asked) for number in vocabulary.find(word, language) or ()}
    assert found & set(numbers.tolist())


@pytest.mark.cases("text", "language")
def test_scripts_say_the_language(text, language):
    assert language_of(words(text)) == language


def test_a_word_is_found_whatever_the_language_of_the_question():
    vocabulary = Vocabulary()
    vocabulary.number(["Ich fahre mit dem Zug nach Berlin und dann weiter.", "The train to Berlin was late."])
    assert vocabulary.find("berlin", "english") == vocabulary.find("berlin", "german") != []


def test_vocabulary_leaves_out_stop_words_and_finds_without_adding():
    vocabulary = Vocabulary()
    (numbers,) = vocabulary.number(["What is the weather in Oslo, and why?"])
    assert len(numbers) == 2
    assert vocabulary.find("the") == [] and vocabulary.find("unknown") is None
    size = vocabulary.size
    assert vocabulary.find("weathers") == vocabulary.find("weather") == [0]
    assert vocabulary.size == size
    for language, listed in json.loads((ROOT / "webapp/text/stop_words.json").read_text("utf-8")).items():
        assert not [word for word in listed for token in words(word) if term_of(str, token, language)], language


def test_vocabulary_completes_prefixes():
    vocabulary = Vocabulary()
    vocabulary.number(["workshop workshops work worm the"])
    assert vocabulary.starting_with("work") == [*vocabulary.find("work"), *vocabulary.find("workshop")]
    assert vocabulary.starting_with("th") == []


def test_vocabulary_forgets_unused_terms():
    vocabulary = Vocabulary()
    vocabulary.number(["alpha secret beta the"])
    vocabulary.keep(np.array([True, False, True]))
    assert (vocabulary.find("alpha"), vocabulary.find("secret"), vocabulary.find("beta")) == ([0], None, [1])
    assert vocabulary.starting_with("sec") == [] and vocabulary.size == 2


@pytest.mark.cases("text", "word", "found")
def test_words_inside_others_are_found(text, word, found):
    vocabulary = Vocabulary()
    vocabulary.number(["Something else entirely"])
    assert vocabulary.find_compounds(word) == []
    (numbers,) = vocabulary.number([text])
    inside = vocabulary.find_compounds(word)
    assert bool(inside) is found and set(inside) <= set(numbers.tolist())
