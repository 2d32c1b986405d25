"""Short texts: names, times and paths."""

import datetime
import re

from .limits import MAX_NAME, MAX_TEXT

_CONTROL = re.compile("[\x00-\x1f\x7f]")


def one_line(text, limit=MAX_NAME):
    """Fit for one line: no control characters, at most so many UTF-16 units; None when empty."""
    if text is None:
        return None
    units = _CONTROL.sub(" ", str(text)).encode("utf-16-le", "surrogatepass")
    return units[:2 * limit].decode("utf-16-le", "ignore") or None


def omit_none(**members):
    return {name: value for name, value in members.items() if value is not None}


def rfc3339(value):
    """RFC 3339 of seconds since the epoch or a datetime (without zone: local); texts stay."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        value = datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    text = value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def whole_text(text):
    """A path that was cut would be another path: what cannot be told counts as unknown."""
    return str(text) if text is not None and one_line(text, MAX_TEXT) == str(text) else None
