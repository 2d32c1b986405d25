"""The application's side of the host link of service-cli (sub-protocol dcc-host.v1).

Python 3.7 or newer, nothing but the standard library: copy this folder beside your add-on or
script, or into it, and import it from there. It runs inside the application, tells a running
`service-cli serve` what there is to see, and answers what the server asks on behalf of clients.

    link = HostLink("maya", app_version="2025", on_read=read)
    link.start()                    # never blocks, never raises because of the network
    link.set_scene({"frame": 24})   # from any thread; the newest one wins
    link.pump()                     # on the main thread, a few times a second
    link.stop()

HostLink(dcc_type, app_version, mode, display_name, url, token, registry_dir, on_read, on_refresh,
         env, turns, shows_notes)
    life: start, stop(reason, timeout, clear), flush(timeout), pump(budget_seconds),
        status() -> LinkStatus(state, text, url, last_error), connected, limits
    scene: set_scene(scene), patch_scene(members, objects, whole), scene_settled, need_scene,
        scene_wanted
    application: set_document(path, name, modified, saved_from), set_busy(text, silent_seconds),
        record(action, …), log(message, session_id, source, …), open_events(session_id, …)
    resources: register(scheme, resources, templates), updated(uri)
    pictures: provide_capture(callback, targets, shots), deny_capture(), pictured_at
    jobs: put_artefact(…), add_note(…), act_on_note(…), add_checkpoint(…) -> Job(done, error, uri,
        sha256, note); notes, clients
    Callbacks raise NotFound, Busy or NoPicture, and return a Picture.

For add-ons, beside it:
    OfferedObjects(link, scheme, description, mime): offer, touch(ids), tell(ids), uri, id_of
    Console(link, source): share(is_shared); what Python prints becomes events
    status_words(status, shares_scene, pictured_at) -> StatusWords(title, tone, lines)
    note_blocks(note, name_of) -> NoteBlocks(said, answer, changes); note_pictures(note, folder),
        is_open(note)
    json_text(value, replaced): text for patch_scene; clean_text(text): as it is in there
    Turns: for an application in which other threads must not run Python now and then
    find_server(dcc_type, registry_dir, env, reasons) -> (url, token) or None
    OFF, CLEARED, NOT_TOLD: texts of the state "off"

One thread owns the connection and all of its waiting, so that the application's main thread never
does. asyncio and multiprocessing are not used: together they crash Blender 3.4 as it ends. Proxies
are never used, and there is no TLS: the link does not leave the machine.
"""

__version__ = "0.1.0"

from .link import HostLink
from .requests import Busy, Job, NoPicture, NotFound, Picture, ReadError
from .scene import OfferedObjects
from .search import find_server
from .texts import (
    CLEARED, NOT_TOLD, OFF, Console, LinkStatus, NoteBlocks, NotJson, StatusWords, clean_text,
    is_open, json_text, note_blocks, note_pictures, status_words,
)
from .thread import Turns
