"""A user's settings as stored and as sent."""

import pytest
from pydantic import ValidationError

from webapp.accounts.schemas import Registration, SettingsChanges, UserSettings


def test_settings_have_defaults() -> None:
    assert UserSettings.of(None) == UserSettings.of({}) == UserSettings()


def test_what_cannot_be_read_falls_back_alone() -> None:
    found = UserSettings.of({"theme": "neon", "timezone": "Europe/Lisbon", "from_the_future": 1})
    assert (found.theme, found.timezone) == ("system", "Europe/Lisbon")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "/etc/localtime", "UTC\x00", "x" * 65])
def test_time_zones_are_real(zone: str) -> None:
    with pytest.raises(ValidationError):
        SettingsChanges(timezone=zone)


def test_a_registration_judges_the_password_with_the_address() -> None:
    with pytest.raises(ValidationError, match="e-mail address"):
        Registration(email="averylongname@example.com", password="averylongname")
    assert Registration(email=" Ann@Example.com", password="kettle orbit").email == "ann@example.com"
