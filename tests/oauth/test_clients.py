"""What programs may say of themselves; where people may be sent."""

import pytest
from pydantic import ValidationError

from webapp.oauth.clients import Metadata, form_target, is_document_id, is_registered, redirect_label, redirect_problem

GOOD = [
    *("https://claude.ai/api/mcp/auth_callback", "http://127.0.0.1:33418/", "http://localhost/callback"),
    *("http://[::1]:5/x?y=z", "com.example.app:/oauth", "org.example.some-app://oauth/callback"),
    "cursor://anysphere.cursor-retrieval/oauth/user-x/callback",
]
BAD = [
    *("", "callback", "/callback", "http://example.org/callback", "http://127.0.0.1.example.org/"),
    *("http://localhost@example.org/", "https://", "https://example.org/#there", "https://me:pw@example.org/"),
    *("javascript:alert(1)", "data:text/html,x", "view-source:https://example.org/", "view-source://example.org/"),
    *("jar:https://example.org/x!/y", "app:/callback", "intent://example.org/#Intent", "chrome-extension://abcdef/x"),
    *("com.:/callback", ".com:/callback", "com..example:/callback", "file:///etc/passwd", "https://exa mple.org/"),
    *("https://example.org\\@evil.example/", "https://example.org/\n", "https://ex\u00e4mple.org/"),
    *("https://example.org:port/", "https://example.org/" + "x" * 1_000),
    *("https://example.org;sandbox/", "https://example.org,script-src/", "https://example.org'/"),
]


@pytest.mark.parametrize("uri", GOOD)
def test_places_to_be_sent_to(uri):
    assert redirect_problem(uri) == ""
    assert is_registered(uri, [uri])


@pytest.mark.parametrize("uri", BAD)
def test_places_that_nobody_is_sent_to(uri):
    assert redirect_problem(uri)
    with pytest.raises(ValidationError):
        Metadata(redirect_uris=[uri])
    assert not is_registered(uri, [uri])  # by a program of earlier days


def test_only_the_port_of_the_own_machine_may_differ():
    registered = ["http://127.0.0.1:1/cb", "https://a.example/cb"]
    assert is_registered("http://127.0.0.1:40000/cb", registered)
    others = ["http://127.0.0.1:40000/other", "http://localhost:1/cb", "http://127.0.0.1:1/cb?x=1"]
    others += ["https://a.example:444/cb", "https://a.example/cb/", "http://127.0.0.1:1/cb#x"]
    assert not [uri for uri in others if is_registered(uri, registered)]


def test_what_people_are_told():
    assert redirect_label("http://localhost:9/cb") == "this computer"
    assert redirect_label("https://claude.ai/cb") == "claude.ai"
    assert redirect_label("com.example.app:/y") == "an app (com.example.app:)"
    assert form_target("https://claude.ai:8/cb?x") == "https://claude.ai:8"
    assert form_target("com.example.app:/y") == "com.example.app:"


@pytest.mark.parametrize("client_id", ["https://client.example/oauth.json", "https://client.example:8443/a/b"])
def test_ids_that_are_addresses(client_id):
    assert is_document_id(client_id)


OTHER_IDS = [
    *("https://client.example/", "https://client.example", "http://client.example/x", "https://client.example/x?y"),
    *("https://client.example/x#y", "https://client.example/../x", "https://u@client.example/x", "abc"),
    *("https://client.example/" + "x" * 255, "https://[/x"),
]


@pytest.mark.parametrize("client_id", OTHER_IDS)
def test_ids_that_are_no_addresses(client_id):
    assert not is_document_id(client_id)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"redirect_uris": []},
        {"redirect_uris": ["https://a.example/"] * 21},
        {"redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "private_key_jwt"},
        {"redirect_uris": ["https://a.example/"], "grant_types": ["client_credentials"]},
        {"redirect_uris": ["https://a.example/"], "response_types": ["token"]},
        {"redirect_uris": ["https://a.example/"], "client_name": "x" * 101},
        {"redirect_uris": "https://a.example/"},
    ],
)
def test_what_cannot_be_registered(said):
    with pytest.raises(ValidationError):
        Metadata.model_validate(said)
