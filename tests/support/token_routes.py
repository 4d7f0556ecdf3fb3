"""Which endpoints take a token, and with which scope: a new one fails in tests/test_access_matrix.py until it is in
`token_routes.json`.

Under the scopes of which a token needs any one. `all` takes a token without scopes (or a service's), `session` takes
none. Pages are not listed, since no token counts there, and neither is what everybody may call.
"""

import json
from pathlib import Path

TABLE: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text())


def rows() -> dict[str, str]:
    """Return what the table says, by method and address."""
    return {route: scopes for scopes, routes in TABLE.items() for route in routes}
