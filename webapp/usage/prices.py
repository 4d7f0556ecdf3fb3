"""Prices of tokens in dollars: by the admin's prices if there are any, else by genai-prices, which works offline."""

from functools import lru_cache

MILLION = 1_000_000


def cost(
    model: str | None, tokens: tuple[int, int, int], price: tuple[float | None, float | None] | None = None
) -> float | None:
    """Return dollars for tokens in, cached and out, at dollars per million as an admin set them; None if unknown."""
    input_count, cached, output_count = tokens
    if price is not None and (price[0] is not None or price[1] is not None):
        return (input_count * (price[0] or 0) + output_count * (price[1] or 0)) / MILLION
    rates = _rates(model or "")
    if rates is None:
        return None
    cached = min(cached, input_count)
    return ((input_count - cached) * rates[0] + cached * rates[1] + output_count * rates[2]) / MILLION


@lru_cache(maxsize=512)
def _rates(model: str) -> tuple[float, float, float] | None:
    """Return dollars per million tokens in, cached and out; None if unknown."""
    # Loaded on first use: it costs a web process 25 MB and most of a second that many never need.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    def price(**usage: int) -> float:
        return float(calc_price(Usage(**usage), model_ref=model).total_price)

    try:
        fresh = price(input_tokens=MILLION, output_tokens=0)
        cached = price(input_tokens=MILLION, cache_read_tokens=MILLION, output_tokens=0)
        return fresh, cached, price(input_tokens=0, output_tokens=MILLION)
    except (LookupError, ValueError):
        return None
