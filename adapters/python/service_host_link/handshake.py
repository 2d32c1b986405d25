"""The HTTP upgrade to a WebSocket."""

import base64
import hashlib
import re

from .frames import ProtocolError
from .limits import PROTOCOL

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def parse_head(head):
    """(status, headers in lower case) of an HTTP answer. Raises ProtocolError."""
    lines = head.decode("latin-1").split("\r\n")
    match = re.match(r"HTTP/1\.1 (\d{3})(?: |\Z)", lines[0])
    if match is None:
        raise ProtocolError(1002, "its answer is not HTTP")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise ProtocolError(1002, "its answer is not HTTP")
        name = name.strip().lower()
        headers[name] = headers[name] + "," + value.strip() if name in headers else value.strip()
    return int(match.group(1)), headers


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode("ascii")


def check_upgrade(headers, key):
    """Raises ProtocolError when the answer 101 is not one to this very handshake."""
    if headers.get("upgrade", "").lower() != "websocket":
        raise ProtocolError(1002, "its answer upgrades to something else")
    if "upgrade" not in re.split(r"[,\s]+", headers.get("connection", "").lower()):
        raise ProtocolError(1002, "its answer does not upgrade the connection")
    if headers.get("sec-websocket-accept") != accept_of(key):
        raise ProtocolError(1002, "its answer is not one to this handshake")
    if headers.get("sec-websocket-protocol") != PROTOCOL:
        raise ProtocolError(1002, "it does not speak " + PROTOCOL)
    if "sec-websocket-extensions" in headers:
        raise ProtocolError(1002, "it uses an extension that was not requested")
