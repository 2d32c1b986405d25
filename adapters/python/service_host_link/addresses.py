"""The address of a server and the token for it."""

import hashlib
import re
import urllib.parse

from .limits import MAX_TOKEN_BYTES


class Address(object):
    """A host URL taken apart."""

    def __init__(self, host, port, path):
        self.host, self.port, self.path = host, port, path
        name = "[%s]" % host if ":" in host else host
        self.authority = "%s:%d" % (name, port)
        self.url = "http://%s%s" % (self.authority, path)

    @property
    def loopback(self):
        if self.host in ("localhost", "::1"):
            return True
        parts = self.host.split(".")
        return len(parts) == 4 and parts[0] == "127" and all(
            re.match(r"\d{1,3}\Z", part) and int(part) < 256 for part in parts)


def parse_url(url):
    """The Address; raises ValueError with a sentence that holds nothing of the URL's secrets."""
    if not isinstance(url, str) or re.search(r"[^\x21-\x7e]", url):
        raise ValueError("the host URL holds spaces or characters that a URL cannot have")
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as the resolver does: UnicodeError for an empty label
    except ValueError:
        raise ValueError("the host URL cannot be understood")
    if parts.scheme in ("https", "wss"):
        raise ValueError("TLS is not supported: the link is for http:// on this machine")
    if parts.scheme != "http":
        raise ValueError("the host URL must begin with http://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the host URL must not hold a user name or password")
    if not host or port == 0 or parts.query or parts.fragment:
        raise ValueError("the host URL must be like http://127.0.0.1:8765/host")
    return Address(host, port or 80, parts.path or "/host")


def check_token(token):
    if not re.match(r"[\x21-\x7e]{1,%d}\Z" % MAX_TOKEN_BYTES, token):
        raise ValueError("the host token holds spaces or characters that a header cannot carry")
    return token


class Candidate(object):
    """A server to try. Never shows its token."""

    def __init__(self, address, token, origin, instance_id=None):
        self.address = address
        self.origin = origin  # "given", "environment" or the file of the token
        self.instance_id = instance_id
        self._token = token

    @property
    def fixed(self):
        """No other token will come from there."""
        return self.origin in ("given", "environment")

    @property
    def key(self):
        """The same as long as it is the same run of a server."""
        return self.address.url, hashlib.sha256(self._token.encode("ascii")).hexdigest()

    def reveal(self):
        return self._token
