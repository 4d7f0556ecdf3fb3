"""Pages in the reader's language: their texts, numbers and markup, and which language it is."""

import re

import pytest
from markupsafe import Markup

from webapp.i18n import LANGUAGES
from webapp.i18n.marks import say, say_n
from webapp.i18n.request_language import translate, use_language


def render(app, source, code="de", **values):
    with app.test_request_context(), use_language(code):
        return app.jinja_env.in_language().from_string(source).render(values)


def test_a_page_has_the_texts_of_its_language(app):
    source = '{{ _("Save") }} · {{ f(_("Save")) }} · {{ _(later) }} · {{ _("no such text") }}'
    assert render(app, source, f=str.upper, later="Save") == "Speichern · SPEICHERN · Speichern · no such text"
    assert render(app, source, "en", f=str.upper, later="Save") == "Save · SAVE · Save · no such text"


def test_nothing_stays_nothing_in_every_language(app):
    assert render(app, '{{ _("") }}{{ _(empty) }}', empty=say("")) == ""


def test_a_text_that_is_also_the_first_form_of_a_plural_is_translated(app):
    text = render(
        app, """{{ _("Forget this for good?") }}|{{ ngettext("Forget this for good?", "Forget these for good?", 1) }}"""
    )
    alone, one = text.split("|")
    assert alone == one != "Forget this for good?"


@pytest.mark.parametrize(("count", "text"), [(0, "0 Dateien"), (1, "1 Datei"), (2, "2 Dateien")])
def test_a_number_takes_its_plural_form(app, count, text):
    assert render(app, '{{ ngettext("%(num)s file", "%(num)s files", n) }}', n=count) == text


def test_markup_stays_markup_and_values_are_escaped(app):
    source = """{{ _("%(text)s is %(size)s", text=name, size=size) }}
    {%- set said = html_text("<b>%(name)s</b> left", name=name) %} {{ said }}"""
    text = render(app, source, name="<Ada>", size=Markup("<i>3</i>"))
    assert text == "&lt;Ada&gt; is <i>3</i> <b>&lt;Ada&gt;</b> left"
    assert render(app, '{{ _(later) }} {{ _("%(a)s", a=later) }}', later="<b>") == "&lt;b&gt; &lt;b&gt;"


def test_every_language_shows_a_page(app):
    for code, language in LANGUAGES.items():
        page = app.test_client().get("/register", headers={"Accept-Language": f"{language.tag};q=0.9, xx;q=1"}).text
        assert f'<html lang="{language.tag}"' in page
        assert (' dir="rtl"' in page.partition("<head>")[0]) == (code == "ar"), code


def test_the_palette_is_looked_through_in_the_language_of_the_page(browser):
    """Some of its commands were found by English words only."""

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
