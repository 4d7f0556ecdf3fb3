"""Passkeys in Chromium with a virtual authenticator: added in Settings, signed in with, given up."""

from playwright.sync_api import BrowserContext, CDPSession, Page, expect

from tests.support.live import LiveServer

from .conftest import DESKTOP, serious_findings, sign_in

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def address(live_server: LiveServer, path: str) -> str:
    """An address by name: a bare IP address can have no passkeys."""
    return live_server.url.replace("127.0.0.1", "localhost") + path


def authenticator(context: BrowserContext, page: Page) -> tuple[CDPSession, str]:
    devices = context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    return devices, devices.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})["authenticatorId"]


def test_a_passkey_from_settings_to_signing_in(open_tab, user, live_server, contexts):
    tab = open_tab(None, DESKTOP)
    page = tab.page
    contexts.spoil(page.context)
    devices, device = authenticator(page.context, page)
    devices.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    page.goto(address(live_server, "/login"))
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("No passkey was used")  # the device has declined
    tab.forgive()
    sign_in(page, user)
    page.wait_for_url(address(live_server, "/"))

    devices.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": True})
    page.goto(address(live_server, "/settings/passkeys"))
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("Laptop")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_label("Name of the passkey")).to_have_value("Laptop")
    assert serious_findings(page) == []
    assert len(devices.send("WebAuthn.getCredentials", {"authenticatorId": device})["credentials"]) == 1

    page.context.clear_cookies()
    page.goto(address(live_server, "/login?next=/settings/passkeys"))
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(address(live_server, "/settings/passkeys"))
    expect(page.get_by_text("last used")).to_be_visible()
    page.get_by_role("button", name="Remove Laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("No passkeys yet.")).to_be_visible()
