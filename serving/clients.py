"""Identifies clients by the address of their connection."""

import ipaddress
import urllib.parse

_IPV6_HOST_BITS = 64  # providers give each customer a network of at least 2^64 addresses


def from_address(address: str) -> str:
    """The client at an address: an IPv4 address, or the network that an IPv6 address belongs to.

    Headers such as X-Forwarded-For are not used: every client can write them.

    Args:
        address: an IP address. Anything else, such as the path of a Unix socket, is a client of its own.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 128 - _IPV6_HOST_BITS), strict=False))


def from_peer(peer: str) -> str:
    """The client of a gRPC call.

    Args:
        peer: as gRPC writes it: ipv4:127.0.0.1:50000 or ipv6:[::1]:50000, percent-encoded.
    """
    address = urllib.parse.unquote(peer).partition(":")[2].rpartition(":")[0]
    return from_address(address.strip("[]"))
