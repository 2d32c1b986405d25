"""How a connection ends."""

import collections


class Stopped(Exception):
    """stop() was called while nothing was linked."""


class ConnectFailed(Exception):
    """A connection that could not be opened. `final`: trying again is of no use."""

    def __init__(self, text, final=False):
        Exception.__init__(self, text)
        self.text, self.final = text, final


# How a connection ended. `delay`: seconds until the next try, None for the usual.
ConnectionEnd = collections.namedtuple("ConnectionEnd", "text final delay welcomed poor")


# What each close code of the server means: text, whether it is final, whether it counts as a
# failure.
CLOSE_MEANINGS = {
    1000: ("the server closed the link", False, False),
    1001: ("the server stops", False, False),
    1009: ("a message was larger than the server takes", False, True),
    1013: ("the answers of the server were not taken", False, True),
    4400: ("the server could not understand a message", False, True),
    4406: ("the server speaks no common version of the protocol", True, True),
    4408: ("the server missed the greeting", False, True),
    4409: ("a newer link of this application took its place", True, True),
    4423: ("taken: another application is linked there", False, True),
}


class ConnectionLost(Exception):
    """The connection is over. `poor`: the next try waits longer; `blame`: something that was sent
    was the reason."""

    def __init__(self, text, final=False, delay=None, poor=False, blame=False):
        Exception.__init__(self, text)
        self.text, self.final, self.delay, self.poor = text, final, delay, poor
        self.blame = blame
