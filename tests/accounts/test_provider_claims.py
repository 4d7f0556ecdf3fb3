"""Claims of a provider, in the forms that providers send them: who it is, the address, the groups."""

import pytest

from webapp.accounts.identities import ProviderClaims
from webapp.config import Settings
from webapp.errors import Forbidden


def read(names: Settings | None = None, **claims: object) -> ProviderClaims:
    return ProviderClaims.of("https://id.example", {"sub": "ann-1", **claims}, names or Settings())


@pytest.mark.parametrize("sub", ["", " ", None, True, [], "x" * 300])
def test_who_has_no_name_at_the_provider_is_refused(sub):
    with pytest.raises(Forbidden):
        read(sub=sub)


@pytest.mark.parametrize(
    ("trust", "said", "is_verified"),
    [
        *[("claim", True, True), ("claim", "true", True), ("claim", "True", True), ("claim", 1, True)],
        *[("claim", False, False), ("claim", "false", False), ("claim", 0, False), ("claim", "no", False)],
        *[("claim", None, None), ("always", None, True), ("always", False, False)],
    ],
)
def test_an_address_counts_as_verified_as_the_admin_says(trust, said, is_verified):
    assert read(Settings(oidc_email_verified=trust), email_verified=said).is_email_verified is is_verified


ROLES = Settings(oidc_groups_claim="realm_access.roles")
PLACE = Settings(oidc_groups_claim="https://example.org/groups")


@pytest.mark.parametrize(
    ("names", "said", "groups"),
    [
        # Providers leave the claim out, or make it one word, where somebody has left all groups but one, or all.
        *[
            (None, {}, set()),
            (None, {"groups": []}, set()),
            (None, {"groups": None}, set()),
            (None, {"groups": ""}, set()),
        ],
        *[(None, {"groups": "readers"}, {"readers"}), (None, {"groups": ["/keepers"]}, {"/keepers", "keepers"})],
        *[(ROLES, {"realm_access": {"roles": ["a"]}}, {"a"}), (PLACE, {"https://example.org/groups": "a"}, {"a"})],
        (None, {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://graph.x"}}}, None),
        *[(None, {"hasgroups": True}, None), (None, {"groups": {}}, None), (None, {"groups": 7}, None)],
        (None, {"groups": [{"name": "keepers"}]}, None),
    ],
)
def test_groups_are_found_where_providers_put_them_and_else_not_known(names, said, groups):
    assert read(names, **said).groups == groups
