"""IP addresses of the open internet; pure. Checked before any request to an address that somebody entered."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# A cloud's metadata service, although the address is public: it gives credentials to the machine that asks.
_METADATA = {ipaddress.ip_address("168.63.129.16")}
_OTHERS = [ipaddress.ip_network(net) for net in ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "5f00::/16")]


def is_public(text: str) -> bool:
    """Return whether an IP address is on the open internet: not of this machine, its network or a cloud's metadata
    service, nor an IPv6 form of such an IPv4 address. False for what is not an address.
    """
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    carried: list[Address] = [*_carried(address)]
    return address.is_global and all(map(_is_open, carried or [address]))


def _carried(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, ipaddress.IPv6Address):
        found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        yield from (one for one in found if one is not None)
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
