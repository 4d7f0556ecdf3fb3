"""Access to passages: the one predicate, for single passages and for columns of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOBODY = 0
"""The owner of documents: they belong to their space, whoever added them, so that only its members see them."""
NO_SPACE = 0
"""Space number of personal passages in columns."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The user who searches, with the spaces they are a member of; with `space_id` only that space's passages count.

    `only` are the spaces that the program the user searches through may see; NO_SPACE stands for passages in no space.
    """

    user_id: int
    member_of: frozenset[int] = frozenset()
    space_id: int | None = None
    only: frozenset[int] | None = None


def may_see(scope: Scope, owner_id: int, space_id: int | None, shared: bool) -> bool:
    """Tell whether a passage is visible: one's own, or shared in one's space; with `space_id` only that space's."""
    if scope.space_id is not None and space_id != scope.space_id:
        return False
    if scope.only is not None and (space_id or NO_SPACE) not in scope.only:
        return False
    return owner_id == scope.user_id or (shared and space_id is not None and space_id in scope.member_of)


def visible_rows(
    scope: Scope, owners: NDArray[Any], spaces: NDArray[Any], shared: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Apply `may_see` to columns (n each; NO_SPACE for none) and return a mask."""
    mask = owners == scope.user_id
    if scope.member_of:
        members = np.fromiter(scope.member_of, np.int64)
        mask = mask | (shared & (spaces != NO_SPACE) & np.isin(spaces, members))
    if scope.space_id is not None:
        mask = mask & (spaces == scope.space_id)
    if scope.only is not None:
        mask = mask & np.isin(spaces, np.fromiter(scope.only, np.int64))
    return np.asarray(mask, np.bool_)
