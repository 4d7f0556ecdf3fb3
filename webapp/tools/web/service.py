"""The installation's search engine, as admins set it up, cached for a few seconds in each process."""

import asyncio
from threading import Lock

from cachetools import TLRUCache, cached

from webapp.db.base import after_commit, db, now
from webapp.errors import Invalid
from webapp.providers.key_encryption import Secrets, seal, unseal
from webapp.tools.models import SINGLE_ROW_ID, WebAccess
from webapp.tools.schemas import WebAccessFields
from webapp.tools.toolset import Tool, ToolFailed
from webapp.tools.web.definitions import Engine, web_tools
from webapp.tools.web.providers import PAGES_ONLY, PROVIDERS

CACHE_SECONDS = 10.0
TEST_SECONDS = 20.0


@cached(TLRUCache(1, lambda _key, _tools, moment: moment + CACHE_SECONDS), lock=Lock())
def web_of_site() -> list[Tool]:
    """Return the tools of what is set up, read at most CACHE_SECONDS ago; none if the web is off."""
    row = access()
    return web_tools(engine_of(row)) if row is not None and row.is_enabled else []


def access() -> WebAccess | None:
    """Return the settings of an admin, if there are any."""
    return db.session.get(WebAccess, SINGLE_ROW_ID)


def set_access(fields: WebAccessFields) -> WebAccess:
    """Change the given fields. Raises Invalid for an engine without its URL or its key."""
    row = access()
    if row is None:
        row = WebAccess(access_id=SINGLE_ROW_ID, provider=fields.provider or PAGES_ONLY, address="", key_set=False)
        db.session.add(row)
    moved = fields.provider not in (None, row.provider) or fields.address not in (None, row.address)
    if moved and row.key_set and fields.api_key is None:
        raise Invalid.field("api_key", "must be entered again when the engine changes: a key belongs to one server")
    row.provider = fields.provider or row.provider
    row.address = row.address if fields.address is None else fields.address
    if fields.api_key is not None:
        row.secrets, row.key_set = seal(Secrets(fields.api_key)), bool(fields.api_key)
    row.is_enabled = bool(row.is_enabled) if fields.is_enabled is None else fields.is_enabled
    provider = PROVIDERS.get(row.provider)
    if provider is not None and not (row.address or provider.address):
        raise Invalid.field("address", "is needed for this engine")
    if provider is not None and provider.needs_key and not row.key_set:
        raise Invalid.field("api_key", "is needed for this engine")
    row.updated_at = now()
    db.session.flush()
    after_commit(web_of_site.cache_clear)
    return row


def engine_of(row: WebAccess | None) -> Engine | None:
    """Return the engine as set up, whether on or off."""
    provider = PROVIDERS.get(row.provider) if row is not None else None
    if row is None or provider is None:
        return None
    return Engine(row.provider, row.address or provider.address, unseal(row.secrets).api_key)


async def search_test(engine: Engine) -> str:
    """Search for something; returns a sentence about the results. Raises ToolFailed."""
    try:
        async with asyncio.timeout(TEST_SECONDS):
            hits = await engine.search("weather")
    except TimeoutError:
        raise ToolFailed("The engine did not answer in time.") from None
    if not hits:
        raise ToolFailed("The engine answered but found nothing for a common word.")
    return f"It works. First of {len(hits)} found: {hits[0].url}"
