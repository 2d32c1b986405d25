"""The application's side of the host link of service-cli (sub-protocol dcc-host.v1).

Python 3.7 or newer, nothing but the standard library: copy it beside your add-on or script.
It runs inside the application (Blender, Maya, Houdini, a render script), tells a running
`service-cli serve` what there is to see, and answers what the server asks on behalf of clients.

    link = HostLink("maya", app_version="2025", on_read=read)
    link.start()                    # never blocks, never raises because of the network
    link.set_scene({"frame": 24})   # from any thread; the newest one wins
    link.pump()                     # on the main thread, now and then: answers the questions
    link.stop()

One thread owns the connection and all of its waiting, so that the application's main thread never
does. asyncio and multiprocessing are not used: together they crash Blender 3.4 as it ends. Proxies
are never used, and there is no TLS: the link does not leave the machine.

An application needs only the class HostLink. What it says is put into members of HostLink under
its lock. The thread (Worker) keeps trying to connect and has one Session for each connection,
which sends what waits there as soon as there is room.

`service-cli adapter python` writes the modules of this package (adapters/python in the repository
of service-cli) as one file.
"""

__version__ = "0.1.0"
__all__ = [
    "HostLink", "LinkStatus", "Turns", "Upload", "ReadError", "NotFound", "Busy", "Invalid",
    "Unsupported", "NoPicture", "Picture", "find_server",
]

from .limits import CLEARED, NOT_TOLD, OFF
from .link import HostLink
from .link_state import LinkStatus
from .read_errors import Busy, Invalid, NoPicture, NotFound, Picture, ReadError, Unsupported
from .server_search import find_server
from .turns import Turns
from .uploads import Upload
