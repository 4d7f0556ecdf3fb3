"""Signatures as the specification's own example has them."""

from __future__ import annotations

from webapp.webhooks import signing


def test_the_example_of_the_specification() -> None:
    signed = signing.signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secrets_and_ids_differ() -> None:
    assert len({signing.new_secret() for _ in range(50)} | {signing.new_event_id() for _ in range(50)}) == 100
    assert signing.signature(signing.new_secret(), "evt_1", 1, b"{}").startswith("v1,")


def test_tries_end() -> None:
    assert [signing.wait_after(n) for n in (1, len(signing.WAITS), len(signing.WAITS) + 1)] == [5, 72_000, None]
