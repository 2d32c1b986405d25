"""The address of one object: blender-object://<name>, percent-encoded UTF-8."""

from urllib.parse import quote, unquote_to_bytes

SCHEME = "blender-object"
PREFIX = SCHEME + "://"


def object_uri(name):
    return PREFIX + quote(name, safe="")


def object_name(uri):
    """The name in an address; None when it is none of ours."""
    if uri[: len(PREFIX)].lower() != PREFIX:
        return None
    rest = uri[len(PREFIX) :].split("#", 1)[0].split("?", 1)[0]
    try:
        name = unquote_to_bytes(rest).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return name or None
