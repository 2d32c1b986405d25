"""What the panels say about the link, as plain values: nothing here draws."""

import re
import textwrap
import time
from collections import namedtuple

from .service_host_link import OFF

# Measured in Blender 3.4 at the default font: letters are 7.3 pixels wide, 40 pixels are margins.
LETTER_PIXELS = 7.3
MARGIN_PIXELS = 40
LEAST_LETTERS = 16
MAX_LINES = 8

# Icons that are coloured in every version and theme.
GREY, GREEN, YELLOW, RED = "COLORSET_13_VEC", "COLORSET_03_VEC", "COLORSET_09_VEC", "COLORSET_01_VEC"

# By state of the link; titles of at most 20 letters fit beside an icon in the narrowest sidebar.
_TITLES = {
    "off": ("Not connected", GREY),
    "searching": ("No server found", YELLOW),
    "connecting": ("Connecting", YELLOW),
    "connected": ("Connected", GREEN),
    "waiting": ("Reconnecting", YELLOW),
    "refused": ("Refused", RED),
}

StatusView = namedtuple("StatusView", "title icon failed lines")
StatusView.__doc__ = """`failed`: it does not try again; `lines`: sentences below the buttons."""


def status_view(status, failure=None, pictured_at=None, note="", shares_scene=True):
    """`status` of the link, the last one after a Disconnect; None before the first Connect."""
    state = "off" if status is None else status.state
    title, icon = _TITLES[state]
    lines = []
    if status is None or status.text == OFF:
        lines.append("Nothing is shared.")
    elif state == "connected":
        lines.append("Server: " + re.sub(r"^http://|/host$", "", status.url or ""))
        if not shares_scene:
            lines.append("Scene not shared: it is off in the preferences.")
    else:
        lines.append(status.text)
        if status.text.startswith("Taken") or "taken:" in status.text:
            title = "Server taken"
    if state == "refused":
        lines.append("It does not try again: correct this, then press Connect.")
    if status is not None and state == "connected" and status.last_error:
        lines.append("Last error: " + str(status.last_error))
    if failure:
        lines.append(failure)
    if pictured_at is not None:
        at = time.strftime("%H:%M:%S", time.localtime(pictured_at))
        lines.append("Picture taken " + at)
    if note:
        lines.append(note)
    return StatusView(title, icon, state == "refused", lines)


def wrapped(text, width, ui_scale=1.0, most=MAX_LINES):
    """The text in lines that fit a region of so many pixels; "…" ends one of more than `most`
    lines. Long hashes are shortened."""
    text = re.sub(r"([0-9a-f]{8})[0-9a-f]{24,}", r"\1…", text)
    letters = max(LEAST_LETTERS, int((width / ui_scale - MARGIN_PIXELS) / LETTER_PIXELS))
    lines = [line for row in text.splitlines() for line in textwrap.wrap(row, letters)]
    if len(lines) > most:
        lines[most - 1:] = [lines[most - 1][:letters - 2] + " …"]
    return lines
