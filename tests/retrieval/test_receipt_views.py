"""What receipts say, in words."""

import pytest

from webapp.i18n import catalogs
from webapp.retrieval.receipt_views import ShownItem
from webapp.retrieval.receipts import Line

CATALOGS = [catalogs.read(code) for code in catalogs.CODES]


@pytest.mark.parametrize(
    "reason", ["words", "words nearby", "meaning", "words and meaning", "words nearby and meaning"]
)
def test_why_search_found_something_is_said_in_the_readers_language(reason: str) -> None:
    said = ShownItem(Line("message", 1, None, "retrieved", 1, 1.0, reason, True, "current", "Tides")).reason
    assert said.lower() != reason, "not the name it is stored under"
    for catalog in CATALOGS:
        message = catalog.get(said)
        assert message is not None and message.string
