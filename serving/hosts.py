"""Protects the REST API from pages in a browser on this machine.

Such a page can send requests to any address. A request that it sends to another site has the page's address as its
Origin. A page can also make its own name resolve to this machine (DNS rebinding); then the Host is that name.
"""

import ipaddress

from serving.errors import Code, ServingError

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def allowed_names(listening_host: str, names: tuple[str, ...]) -> frozenset[str]:
    """The names that clients may use for the server; empty if any name is allowed.

    Args:
        listening_host: the address at which the server listens.
        names: the names that the settings allow.
    """
    if not names and listening_host not in LOCAL_NAMES:
        return frozenset()  # proxies and load balancers use names that the server does not know
    return frozenset(name.lower() for name in (*LOCAL_NAMES, listening_host, *names))


def check(host: str | None, origin: str | None, names: frozenset[str]) -> None:
    """Checks the headers of a request.

    Args:
        host: the header Host, if the request has one.
        origin: the header Origin, if the request has one.
        names: from `allowed_names`.

    Raises:
        ServingError: the request comes from a page of another site, or uses a name that is not the server's.
    """
    if origin is not None and not _is_own_origin(_authority(origin), host, names):
        raise ServingError(Code.PERMISSION_DENIED, "requests from pages of other sites are refused")
    if host is not None and names and _name(host) not in names and not _is_address(_name(host)):
        message = f"the server has no name {_name(host)[:100]}: --allowed-hosts adds names"
        raise ServingError(Code.PERMISSION_DENIED, message)


def _is_own_origin(authority: str, host: str | None, names: frozenset[str]) -> bool:
    """Pages of this server, and of the names that the settings allow. Other servers on this machine are other sites."""
    return (host is not None and authority == host.lower()) or _name(authority) in names - LOCAL_NAMES


def _authority(origin: str) -> str:
    """Name and port of an origin such as http://localhost:8501; "" for the origin null and for what is no origin."""
    scheme, separator, authority = origin.partition("://")
    return authority.lower() if separator and scheme in ("http", "https") else ""


def _name(authority: str) -> str:
    """The name without port, brackets and final dot."""
    name, separator, port = authority.lower().rpartition(":")
    if not separator or not port.isdigit():
        name = authority.lower()
    return name.strip("[]").rstrip(".")


def _is_address(name: str) -> bool:
    """Whether the name is an IP address. DNS rebinding needs a name; Kubernetes probes use the address of the pod."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
