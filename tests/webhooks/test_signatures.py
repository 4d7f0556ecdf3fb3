"""Signatures as the specification's own example has them."""

from webapp.webhooks import signatures


def test_the_example_of_the_specification() -> None:
    signed = signatures.signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secrets_and_ids_differ() -> None:
    assert len({signatures.new_secret() for _ in range(50)} | {signatures.new_event_id() for _ in range(50)}) == 100
    assert signatures.signature(signatures.new_secret(), "evt_1", 1, b"{}").startswith("v1,")


def test_tries_end() -> None:
    assert [signatures.wait_after(n) for n in (1, len(signatures.WAITS), len(signatures.WAITS) + 1)] == [
        5,
        72_000,
        None,
    ]
