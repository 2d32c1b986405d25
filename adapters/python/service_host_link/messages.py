"""Messages of the server, and contents for it."""

import base64
import collections
import json

from .frames import ProtocolError
from .texts import one_line


class Question(object):
    """A request of the server that has no answer yet."""

    def __init__(self, id, kind, subject, deadline):
        # Of a picture the subject is (target, max_width, max_bytes, shot).
        self.id, self.kind, self.subject, self.deadline = id, kind, subject, deadline
        self.dropped = False


_Error = collections.namedtuple("_Error", "code text retryable")


def error_of(message):
    code, text = message.get("code"), message.get("message")
    code = code if isinstance(code, str) else "internal"
    text = one_line(text, 300) if isinstance(text, str) else None
    return _Error(code, "%s (%s)" % (text, one_line(code, 64)) if text else one_line(code, 64),
                  message.get("retryable") is True or code == "limit")


def parse_message(text):
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError(4400, "a message that is not JSON")
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError(4400, "a message without a type")
    return message


def bounded_number(members, name, least, most, default):
    """A number within bounds; whatever else the other side says counts as the default."""
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return default
    return min(max(value, least), most)


def mcp_contents(value, uri):
    """What on_read returned, in the form of MCP."""
    if isinstance(value, (str, bytes, bytearray, dict)):
        value = [value]
    contents = []
    for item in value:
        if isinstance(item, str):
            item = {"text": item}
        elif isinstance(item, (bytes, bytearray)):
            item = {"blob": item}
        item = dict(item)
        if isinstance(item.get("blob"), (bytes, bytearray)):
            item["blob"] = base64.b64encode(item["blob"]).decode("ascii")
        item.setdefault("uri", uri)
        contents.append(item)
    return contents
