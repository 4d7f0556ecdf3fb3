"""Addresses that somebody else chose: never inside this network, unless a setting allows it. Asked in `http_client`."""

import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from webapp.errors import Invalid
from webapp.i18n.marks import N_, Sentence, say

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# A cloud's metadata service, although the address is public: it gives credentials to the machine that asks.
_METADATA = {ipaddress.ip_address("168.63.129.16")}
_OTHERS = [
    ipaddress.ip_network(net)
    for net in ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "5f00::/16", "fec0::/10", "3fff::/20")
]


_LOCAL = ("localhost", "ip6-localhost", "ip6-loopback")
_LOCAL_SUFFIXES = tuple(f".{name}" for name in ("localhost", "localdomain", "local", "internal", "lan", "home.arpa"))
"""Names that exist only in one's own network."""
LOCAL_ADDRESS = N_("The address is within this server's own network.")
UNKNOWN = N_("There is no host with this name.")
NO_TLS = N_("The connection could not be encrypted: the server does not use HTTPS, or its certificate is not accepted.")
TIMEOUT = N_("It did not answer in time.")
SILENT = N_("Nothing answers at this address.")
LOST = N_("The connection broke.")
REASONS = (LOCAL_ADDRESS, UNKNOWN, NO_TLS, TIMEOUT, SILENT, LOST, N_("It answered with more than %(bytes)s bytes."))
"""Why an address that is one cannot be asked, for whoever kept it in English."""


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_public(text: str) -> bool:
    """Return whether an IP address, also in an IPv6 form, is on the open internet; False for an invalid one."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    addresses: list[Address] = [*_embedded_addresses(address)]
    return address.is_global and all(map(_is_open, addresses or [address]))


def _embedded_addresses(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, ipaddress.IPv6Address):
        addresses = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        yield from (item for item in addresses if item is not None)
        if address in _NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _is_open(address: Address) -> bool:
    return (
        address.is_global
        and not (address.is_multicast or address.is_reserved or address.is_unspecified)
        and address not in _METADATA
        and not any(address in network for network in _OTHERS)
        and not (address.version == 6 and int(address) >> 32 == 0)  # ::a.b.c.d, obsolete
    )


class _RequestProblem(Exception):
    @property
    def reason(self) -> Sentence:
        """Return the text, which can be said in the reader's language."""
        text = self.args[0]
        return text if isinstance(text, Sentence) else say(text)


class RequestRefused(_RequestProblem):
    """A URL that may not be requested; the text says why, for the person who entered it."""


class RequestFailed(_RequestProblem):
    """A server that did not answer properly; the text says how, but quotes nothing of the answer."""


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Addresses that may be reached although they are inside this network: host names and networks."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "AllowedHosts":
        """From a comma-separated list such as `10.0.0.0/8, hooks.lan`. Raises ValueError for an invalid network."""
        hosts, networks = set(), []
        for item in filter(None, (part.strip().lower() for part in text.split(","))):
            if "/" in item or ":" in item or item.replace(".", "").isdigit():
                networks.append(ipaddress.ip_network(item))
            else:
                hosts.add(plain_host(item))
        return cls(frozenset(hosts), tuple(networks))


def check_url(url: str) -> SplitResult:
    """Return the parts of a URL. Raises RequestRefused for a malformed one or one of other schemes."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise RequestRefused("This is not an address.") from None
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0 or not url.isprintable() or " " in url:
        raise RequestRefused(
            say("The address must begin with %(scheme)s or %(other)s.", scheme="https://", other="http://")
        )
    if parts.username or parts.password or parts.fragment:
        raise RequestRefused("The address must have neither a password nor a fragment.")
    try:
        parts.hostname.encode("idna" if not parts.hostname.isascii() else "ascii")
    except UnicodeError:
        raise RequestRefused("This is not a host name.") from None
    return parts


def check_host(url: str, allowed: AllowedHosts) -> None:
    """Raise RequestRefused for an address that is malformed or plainly inside this network; names are not looked up."""
    host = plain_host(check_url(url).hostname or "")
    if host in allowed.hosts:
        return
    try:
        check_address(_number(host), allowed)
    except ValueError:
        if host in _LOCAL or host.endswith(_LOCAL_SUFFIXES):
            raise RequestRefused(LOCAL_ADDRESS) from None


def with_scheme(address: str) -> str:
    """Return an address with its scheme, where that was left out: http within one's own network, otherwise https."""
    if "://" in address or address.isdigit() or address.startswith(("http:", "https:")):  # nothing to complete
        return address
    try:
        check_host(f"https://{address}", AllowedHosts())
    except RequestRefused:
        return f"http://{address}"
    return f"https://{address}" if "." in address.partition("/")[0] else f"http://{address}"


def check_outside_url(field: str, url: str, allowed: AllowedHosts) -> str:
    """Return an address as it is. Raises Invalid, for this field, where `check_host` refuses it."""
    try:
        check_host(url, allowed)
    except RequestRefused as error:
        raise Invalid.field(field, error.reason) from None
    return url


def _number(host: str) -> str:
    """Return an IPv4 address as connecting reads `127.1` or `2130706433`; any other host unchanged."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host


def plain_host(host: str) -> str:
    """Return a host's name as it is looked up: in ASCII and lower case, without a final dot."""
    return (host if host.isascii() else host.encode("idna").decode()).lower().rstrip(".")


def check_address(address: str, allowed: AllowedHosts) -> None:
    """Raise RequestRefused for an IP address inside this network, ValueError for what is not an address."""
    plain = ipaddress.ip_address(address.partition("%")[0])
    if not is_public(address) and not any(plain in network for network in allowed.networks):
        raise RequestRefused(LOCAL_ADDRESS)
