"""The small things that every page asks for hundreds of times give what their slow originals give."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from flask import current_app, g
from flask_wtf.csrf import generate_csrf
from werkzeug.routing import BuildError

from webapp.templating import asset, csrf, icon, url_for

ROOT = Path(__file__).resolve().parents[2]


def test_an_address_is_flasks_each_time(app):
    show, restore = "conversations_pages.show", "turn_pages.restore"
    cases: list[tuple[str, dict]] = [
        *(("conversations_pages.new", values) for values in ({}, {"into": None}, {"into": True})),
        *((show, {"conversation_id": 7, **more}) for more in ({}, {"at": 12, "before": 0}, {"said": "3-5 & more"})),
        *((show, values) for values in ({"at": 1, "conversation_id": 2}, {"conversation_id": 7, "_anchor": "m-1"})),
        (show, {"conversation_id": 2**63}),
        *((restore, values) for values in ({"message_id": 5, "version_id": 4}, {"version_id": 5, "message_id": 4})),
    ]
    for root in ("", "/some%20where"):
        with app.test_request_context(environ_overrides={"SCRIPT_NAME": root}):
            for endpoint, values in cases:
                expected = current_app.url_for(endpoint, **values)
                assert [url_for(endpoint, **values) for _ in range(3)] == [expected] * 3
                assert expected.startswith(root or "/")


def test_an_address_within_a_blueprint_and_an_unknown_one(app):
    with app.test_request_context("/c/7"):
        assert url_for(".new") == current_app.url_for("conversations_pages.new")
        for _ in range(2):
            with pytest.raises(BuildError):
                url_for("conversations_pages.show", message=3)


def test_icons_follow_the_root_and_are_escaped(app):
    for root in ("", "/somewhere"):
        with app.test_request_context(environ_overrides={"SCRIPT_NAME": root}):
            shown = icon("x", "icon-small")
            assert shown == (
                '<svg class="icon icon-small" aria-hidden="true" focusable="false">'
                f'<use href="{asset("vendor/icons.svg")}#x"></use></svg>'
            )
            assert f'href="{root}/static/' in shown
            assert "<b>" not in icon("<b>", '"><b>')


def test_every_icon_that_is_named_is_drawn():
    """One that the sprite does not have shows as an empty place."""
    drawn = set(re.search(r"const ICONS = `([^`]+)`", (ROOT / "static" / "build.js").read_text())[1].split())
    named = set()
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        for call in re.findall(r"\bicon\(([^()]*)\)", text):
            first = re.sub(r"== *'[^']*'", "", call.split(",")[0])
            named |= set(re.findall(r"""["']([a-z0-9-]+)["']""", first))
        for block in re.findall(r"{% for glyph, .*? %}", text, re.DOTALL):
            named |= set(re.findall(r"""\(["']([a-z0-9-]+)["'],""", block))
    assert len(named) > 50
    assert {name for name in named if not name.endswith("-")} <= drawn


def test_no_paragraph_is_closed_by_a_block_within():
    """A browser closes it there, and what follows stands outside, without its style."""
    blocks = r"(?:form|div|ul|ol|dl|details|section|table|fieldset|h\d)\b"
    broken = re.compile(rf"<p\b[^>]*>(?:(?!</p>|<p\b).)*?<{blocks}", re.DOTALL)
    found = [file.name for file in (ROOT / "templates").rglob("*.html") if broken.search(file.read_text())]
    assert found == []


def test_every_search_beside_the_sidebars_says_what_it_searches():
    """There are two on such a page, and whoever lists its landmarks could not tell them apart."""
    found = [
        form
        for path in (ROOT / "templates").rglob("*.html")
        for form in re.findall(r"<form[^>]*role=.search.[^>]*>", path.read_text())
    ]
    unnamed = {re.search(r'class="([^"]+)"', form)[1] for form in found if "aria-label=" not in form}
    assert unnamed == {"side-search", "palette-field"}


def test_the_field_holds_the_token_of_the_request(app):
    with app.test_request_context():
        token = generate_csrf()
        assert csrf() == csrf() == f'<input type="hidden" name="csrf_token" value="{token}">'
        assert g.csrf_token == token


def test_templates_share_the_globals_and_keep_their_own(app):
    environment = app.jinja_env
    assert environment.get_template("base.html").globals is environment.globals
    own = environment.from_string("{{ word }}", globals={"word": "own"})
    assert own.render() == "own"
    assert "word" not in environment.globals


def test_a_template_that_reads_a_renamed_field_fails_its_test(app):
    """Of the suite's application (tests/support/missing_attributes.py); a key that a mapping lacks is just empty."""
    template = app.jinja_env.from_string("{{ row.title }}")
    assert template.render(row={}) == template.render(row=SimpleNamespace(title="")) == ""
    with pytest.raises(AttributeError, match="title"):
        template.render(row=SimpleNamespace(name="Walk"))
