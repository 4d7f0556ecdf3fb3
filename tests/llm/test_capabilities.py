"""Remembering what servers accept."""

import pytest

from webapp.llm.capabilities import Capabilities

URL = "http://user:secret@host/v1"


class BrokenStore:
    def get(self, key):
        raise ConnectionError("gone")

    def set(self, key, value, ex):
        raise ConnectionError("gone")


class CountingStore(dict):
    reads = 0

    def get(self, key):
        self.reads += 1
        return super().get(key)

    def set(self, key, value, ex):
        self[key] = value


def test_features_are_kept_by_address_and_model():
    known = Capabilities()
    known.refuse(URL, "m", "tools")
    known.refuse(URL, "m", "stream_options")
    known.set_structured_mode(URL, "m", "text")
    assert not known.accepts(URL, "m", "tools")
    assert not known.accepts(URL, "m", "stream_options")
    assert known.structured_mode(URL, "m") == "text"
    assert known.accepts(URL, "other", "tools")
    assert known.accepts("http://other/v1", "m", "tools")


def test_a_broken_store_costs_nothing_but_sharing():
    known = Capabilities(BrokenStore())
    known.refuse(URL, "m", "tools")
    assert not known.accepts(URL, "m", "tools")
    assert known.accepts(URL, "other", "tools")


def test_the_store_is_asked_once_and_shared():
    store = CountingStore()
    Capabilities(store).refuse(URL, "m", "tools")
    reader = Capabilities(store)
    store.reads = 0
    for _ in range(5):
        assert not reader.accepts(URL, "m", "tools")
        assert reader.accepts(URL, "unknown", "tools")
    assert store.reads == 2
    assert "secret" not in str(store)


@pytest.mark.parametrize("value", ["[]", "null", "not json", '{"refused": 3, "structured": "nonsense"}'])
def test_nonsense_in_the_store_is_ignored(value):
    class Store(dict):
        def get(self, key):
            return value

        def set(self, key, value, ex): ...

    known = Capabilities(Store())
    assert known.accepts(URL, "m", "tools")
    assert known.structured_mode(URL, "m") is None
