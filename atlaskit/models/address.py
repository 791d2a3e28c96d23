"""The address of an endpoint: what it must look like, whether it is this machine, and its proxy."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from atlaskit.errors import InputError, printable, reason


@dataclass(frozen=True)
class Address:
    """A checked base URL, in its parts."""

    url: str
    scheme: str
    netloc: str
    """Host and port, as in the URL."""
    host: str

    @property
    def is_local(self) -> bool:
        """Whether the host is this machine, under any of its usual names."""
        return _is_loopback(self.host)

    def proxy(self) -> str | None:
        """Return the proxy that the environment names for this address, or None.

        A proxy is never used for this machine, which it could not reach.

        Raises:
            InputError: If there is a proxy and the host is an IPv6 address, which it cannot take.
        """
        if self.is_local or proxy_bypass(self.host) or proxy_bypass(self.netloc):
            return None
        proxies = getproxies()
        proxy = proxies.get(self.scheme) or proxies.get("all")
        if proxy and ":" in self.host:
            raise InputError(f"{self.url} cannot be reached through a proxy by its IPv6 address: use the host's name.")
        return proxy


def parse_address(base_url: str) -> Address:
    """Check an endpoint's base URL and split it.

    Raises:
        InputError: If it is not an http or https URL without credentials, query and fragment.
    """
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except (ValueError, UnicodeError) as error:
        raise InputError(f"{printable(base_url)} is not an address ({reason(error)}).") from error
    if parts.username or parts.password:
        raise InputError("An endpoint's address must not contain a user name or password: pass the key as api_key=.")
    if parts.query or parts.fragment:
        raise InputError(f"An endpoint's address must end with its path; got {printable(base_url)!r}.")
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"An endpoint's address must begin with http:// or https://; got {printable(base_url)!r}.")
    if not base_url.isascii() or not base_url.isprintable() or " " in base_url:
        raise InputError(
            f"An endpoint's address must consist of ASCII characters without blanks; got {printable(base_url)!r}."
        )
    return Address(base_url, parts.scheme, parts.netloc, host)


def _is_loopback(host: str) -> bool:
    host = host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            address = ipaddress.ip_address(socket.inet_aton(host))  # short forms such as 127.1
        except (OSError, ValueError):
            return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified
