"""The ways into an account besides its password: shown, and revoked, when the password is reset by mail."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from webapp.accounts import identities, passkeys, tokens
from webapp.i18n.marks import N_


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of access: its title, the names of what a user has of it, and what ends all of that."""

    title: str
    names: Callable[[int], Iterable[str]]
    end: Callable[[int], object]


def _end_tokens(user_id: int) -> None:
    for token in tokens.list_tokens(user_id):
        tokens.revoke_token(user_id, token.token_id)


def _end_passkeys(user_id: int) -> None:
    for passkey in passkeys.list_passkeys(user_id):
        passkeys.remove(user_id, passkey.passkey_id)


_KINDS = {
    "tokens": Kind(
        N_("API tokens"), lambda user_id: (token.name for token in tokens.list_tokens(user_id)), _end_tokens
    ),
    "passkeys": Kind(
        N_("Passkeys"), lambda user_id: (passkey.name for passkey in passkeys.list_passkeys(user_id)), _end_passkeys
    ),
    "providers": Kind(N_("Sign-in services"), identities.issuers_of, identities.unlink_providers),
}


def add_kind(name: str, kind: Kind) -> None:
    """Register a kind of access, to be listed and revoked with the others."""
    _KINDS[name] = kind


def list_access(user_id: int) -> dict[str, tuple[str, list[str]]]:
    """Return what there is: by the name of the kind, its title and the names of each thing."""
    kinds = {name: (kind.title, list(kind.names(user_id))) for name, kind in _KINDS.items()}
    return {name: (title, names) for name, (title, names) in kinds.items() if names}


def end_access(user_id: int, *, but: Collection[str] = ()) -> None:
    """End all access of a user, except for the kinds in `but`."""
    for name, kind in _KINDS.items():
        if name not in but:
            kind.end(user_id)
