"""An attribute that a template reads and its object does not have is an error: Jinja renders it as nothing, so that a
renamed field would be missing from a page without anybody noticing.
"""

from collections.abc import Mapping
from typing import Any

from jinja2 import Undefined
from jinja2.utils import missing


class MissingAttribute(Undefined):
    """Jinja's undefined value, which may be a variable or a mapping's key, but no object's attribute."""

    __slots__ = ()

    def __init__(self, hint: str | None = None, obj: Any = missing, name: str | None = None, *rest: Any) -> None:
        super().__init__(hint, obj, name, *rest)
        if obj is not missing and not isinstance(obj, Mapping | Undefined):
            raise AttributeError(self._undefined_message)
