"""A browser in a few words, from its User-Agent."""

from webapp.i18n.marks import say

# The more specific first: every browser calls itself Mozilla and most call themselves Safari.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def describe_agent(agent: str) -> str:
    """“Firefox on Linux”, which pages can translate; an unknown browser is called by its first word."""
    browser = next((name for mark, name in _BROWSERS if mark in agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    if not browser:
        words = agent.replace("/", " ").split()
        browser = words[0][:40] if words else say("Unknown browser")
    return say("%(browser)s on %(system)s", browser=browser, system=system) if system else browser
