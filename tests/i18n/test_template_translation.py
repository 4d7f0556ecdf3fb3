"""Texts of templates become constants of a language's templates when they are compiled."""

import re
from collections.abc import Iterator

import pytest
from flask import Flask

from webapp.i18n import LANGUAGES
from webapp.i18n.marks import say, say_n
from webapp.i18n.request_language import translate
from webapp.i18n.template_translation import split_placeholders
from webapp.templating import Environment

GERMAN = {"Save": "Sichern", "%(name)s’s book": "Buch von %(name)s", "<b>%(num)s</b> left": "noch <b>%(num)s</b>"}
PLURALS = {("%(num)s word", "%(num)s words"): ["%(num)s Wort", "%(num)s Wörter"]}


class Catalog:
    """A catalog as gettext makes it, of a few words."""

    plural = staticmethod(lambda count: int(count != 1))

    def __init__(self) -> None:
        self._catalog = {**GERMAN}
        for (message, _), forms in PLURALS.items():
            self._catalog |= {(message, at): form for at, form in enumerate(forms)}

    def ugettext(self, message: str) -> str:
        return self._catalog.get(message, message)


@pytest.fixture
def english() -> Environment:
    return Environment(Flask(__name__), autoescape=True)


@pytest.fixture
def german() -> Iterator[Environment]:
    environment = Environment(Flask(__name__), autoescape=True)
    environment.language, environment.texts = "de", Catalog()
    environment.globals["_"] = environment._translate
    yield environment


def generated(environment: Environment, source: str) -> str:
    code = environment.compile(source, "a.html", "a.html", raw=True)
    return "\n".join(line for line in code.splitlines() if "debug_info" not in line)


@pytest.mark.parametrize(
    ("plain", "marked"),
    [
        ("<p>Save</p>", '<p>{{ _("Save") }}</p>'),
        ("{{ name }}’s book", '{{ _("%(name)s’s book", name=name) }}'),
        ("{{ name }}’s book", "{% trans %}{{ name }}’s book{% endtrans %}"),
        ('<i title="Save">5 %</i>', '<i title="{{ _("Save") }}">{{ _("5 %%") }}</i>'),
        ('{{ f("Save", "no " ~ x) }}', '{{ f(_("Save"), _("no %(x)s", x=x)) }}'),
        ("{{ 'a' if b else 'c' }}", "{{ _('a') if b else _('c') }}"),
    ],
)
def test_english_costs_nothing(english, plain, marked):
    """A marked template is compiled to what the same one without marks is compiled to."""
    assert generated(english, marked) == generated(english, plain)


def test_a_language_has_templates_of_its_own(german):
    source = '{{ _("Save") }} {{ _("%(name)s’s book", name=name) }} {{ f(_("Save")) }} {{ _(later) }} {{ _("other") }}'
    shown = german.from_string(source).render(name="<Ada>", f=str.upper, later="Save")
    assert shown == "Sichern Buch von &lt;Ada&gt; SICHERN Sichern other"
    assert "gettext" not in generated(german, '{{ _("Save") }}')


@pytest.mark.parametrize(("count", "said"), [(0, "0 Wörter"), (1, "1 Wort"), (2, "2 Wörter")])
def test_a_number_takes_its_plural_form(german, count, said):
    for source in (
        '{{ ngettext("%(num)s word", "%(num)s words", n) }}',
        '{% set said = ngettext("%(num)s word", "%(num)s words", n) %}{{ said }}',
        "{% trans num=n %}{{ num }} word{% pluralize %}{{ num }} words{% endtrans %}",
    ):
        assert german.from_string(source).render(n=count) == said


def test_markup_stays_markup_and_values_are_escaped(german):
    source = '{% set said = _("<b>%(num)s</b> left", num=n) %}{{ said }}'
    assert german.from_string(source).render(n="<") == ("noch <b>&lt;</b>")


def test_a_text_is_cut_at_its_placeholders():
    assert list(split_placeholders("%(a)s is 5%% of %(b)s")) == [("", "a"), (" is 5% of ", None), ("", "b")]
    assert list(split_placeholders("")) == [("", None)]


def test_every_language_shows_a_page(app):
    for code, language in LANGUAGES.items():
        page = app.test_client().get("/register", headers={"Accept-Language": f"{language.tag};q=0.9, xx;q=1"}).text
        assert f'<html lang="{language.tag}"' in page
        assert (' dir="rtl"' in page.partition("<head>")[0]) == (code == "ar"), code


def test_the_palette_is_looked_through_in_the_language_of_the_page(login, user):
    """Some of its commands were found by English words only."""
    browser = login(user)

    def words_of(tag: str) -> list[str]:
        return re.findall(r'data-words="([^"]+)"', browser.get("/", headers={"Accept-Language": tag}).text)

    english = words_of("en")
    for own in (words_of(language.tag) for code, language in LANGUAGES.items() if code != "en"):
        assert len(own) == len(english) > 15
        assert not set(own) & set(english)


def test_the_browser_chooses(app):
    cases = {"de-AT,de;q=0.8,en;q=0.5": "de", "nl, fr;q=0.4": "fr", "zh-TW": "zh-Hans", "pt-PT": "pt-BR", "xx": "en"}
    for asked, code in cases.items():
        page = app.test_client().get("/register", headers={"Accept-Language": asked}).text
        assert f'<html lang="{code}"' in page, asked


def test_a_sentence_of_a_service_is_english_and_remembers_its_parts(app):
    said = say("There is no %(name)s.", name="Ada")
    assert said == "There is no Ada."
    many = say_n("%(num)s file", "%(num)s files", 3)
    assert many == "3 files"
    assert say_n("%(num)s file", "%(num)s files", 1) == "1 file"
    with app.test_request_context(headers={"Accept-Language": "en"}):
        assert translate(said) == "There is no Ada."
        assert translate(many) == "3 files"
        assert translate("") == ""
