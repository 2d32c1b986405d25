"""What callbacks return and raise."""

import collections


class ReadError(Exception):
    """Raised by on_read or on_list: clients see its message, unlike that of other exceptions."""

    code = "internal"


class NotFound(ReadError):
    """There is no such resource (any more)."""

    code = "not_found"


class Busy(ReadError):
    """The application cannot answer now (a modal dialog, a render); worth another try."""

    code = "busy"


class Invalid(ReadError):
    """The URI makes no sense to the application."""

    code = "invalid"


class Unsupported(ReadError):
    """The application does not do that."""

    code = "unsupported"


class NoPicture(ReadError):
    """There is no picture to be had; `reason`: minimised, no_window, blank or permission."""

    def __init__(self, reason, message=""):
        if reason not in ("minimised", "no_window", "blank", "permission"):
            raise ValueError("reason must be minimised, no_window, blank or permission")
        ReadError.__init__(self, message or reason)
        self.code = reason


Picture = collections.namedtuple("Picture", "png title width height")
Picture.__doc__ = """A PNG file, and the title and size in pixels of the window that it shows.

The size is that of the window, also when the picture was scaled down."""

PICTURE_TARGETS = ("window", "viewport")
