"""Prices of tokens in dollars: by the admin's prices if there are any, else by genai-prices, which works offline."""

from functools import lru_cache

MILLION = 1_000_000


def cost(
    model: str | None, tokens: tuple[int, int, int], own: tuple[float | None, float | None] | None = None
) -> float | None:
    """Dollars for tokens in, cached and out; None if the model's price is unknown.

    `own`: dollars per million tokens in and out, as an admin set them.
    """
    given, cached, made = tokens
    if own is not None and (own[0] is not None or own[1] is not None):
        return (given * (own[0] or 0) + made * (own[1] or 0)) / MILLION
    rates = _rates(model or "")
    if rates is None:
        return None
    cached = min(cached, given)
    return ((given - cached) * rates[0] + cached * rates[1] + made * rates[2]) / MILLION


@lru_cache(maxsize=512)
def _rates(model: str) -> tuple[float, float, float] | None:
    """Dollars per million tokens in, cached and out; None if unknown."""
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
