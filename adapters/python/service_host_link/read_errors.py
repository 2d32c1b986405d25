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


REASONS = ("minimised", "no_window", "blank", "permission", "not_found")


class NoPicture(ReadError):
    """There is no picture to be had; `reason`: minimised, no_window, blank, permission
    or not_found (there is no such camera or object)."""

    def __init__(self, reason, message=""):
        if reason not in REASONS:
            raise ValueError("reason must be one of " + ", ".join(REASONS))
        ReadError.__init__(self, message or reason)
        self.code = reason


Picture = collections.namedtuple("Picture", "png title width height view")
Picture.__new__.__defaults__ = (None,)
Picture.__doc__ = """A PNG file, and the title and size in pixels of the window that it shows.

`png`: bytes, or a function that returns them, which the thread of the link calls: packing takes no
time of the main thread then.

The size is that of the window, also when the picture was scaled down. `view`: a dict with what
the application needs to draw the same again; it gets it back in a shot."""

PICTURE_TARGETS = ("window", "viewport")
