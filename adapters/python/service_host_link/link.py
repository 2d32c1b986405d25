"""HostLink."""

import atexit
import collections
import os
import re
import threading
import time
import uuid

from . import __version__
from .addresses import Candidate, check_token, parse_url
from .backlog import Backlog
from .limits import CLEARED, DEFAULT_LIMITS, NOT_TOLD, OFF
from .link_callbacks import LinkCallbacks
from .link_notes import LinkNotes
from .link_offers import LinkOffers
from .link_reports import LinkReports, check_mode
from .link_state import LinkState
from .server_search import find_candidates
from .texts import omit_none, one_line
from .worker import Worker


class HostLink(LinkState, LinkReports, LinkOffers, LinkNotes, LinkCallbacks):
    """The link of one application. All but pump() may be called from any thread."""

    def __init__(self, dcc_type, app_version=None, mode="gui", display_name=None, pid=None,
                 url=None, token=None, registry_dir=None, on_read=None, on_list=None,
                 on_refresh=None, on_status=None, client_name="service-host-link", client_version=__version__,
                 env=os.environ, turns=None, shows_notes=False):
        """url and token given: only those. Else the environment, else the instance records.

        on_read(uri) -> contents: a list of {"uri", "mimeType", "text" or "blob"}; also one of
        them, a text, or bytes. on_list(scheme) -> descriptors. Both may raise NotFound, Busy,
        Invalid or Unsupported. on_refresh() hands over the newest scene, because a reader waits
        for it: True when that is done, False to be asked again by the next pump(). With it
        `scene_wanted` tells whether a client follows the scene; else one in 2 s is enough.
        shows_notes: the server tells of the notes of the open document and of its clients, see
        `notes` and `clients`.
        on_status(status). All are called from pump().

        turns: a Turns, for an application in which no other thread may run Python now and then."""
        if not isinstance(dcc_type, str) or not re.match(
                r"[a-z0-9][a-z0-9_-]{0,63}\Z", dcc_type):
            raise ValueError("dcc_type must be lower-case letters, digits, _ and -")
        check_mode(mode)
        self._app = omit_none(dcc_type=dcc_type, version=one_line(app_version),
                             display_name=one_line(display_name), pid=pid or os.getpid())
        self._client = {"name": one_line(client_name) or "service-host-link",
                        "version": one_line(client_version) or __version__}
        self._instance_id = uuid.uuid4().hex
        self._given = (url, token)
        self._registry_dir = registry_dir
        self._env = env
        self._turns = turns
        self._on_read, self._on_list, self._on_status = on_read, on_list, on_status
        self._on_refresh = on_refresh
        self._on_capture = None
        self._shows_notes = shows_notes

        # Everything below is guarded by the lock, which is held only for moments: no
        # serialising, no I/O and no foreign code inside.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._worker = None
        self._state = ("off", OFF, None, time.time())
        self._status_news = False
        self._errors = collections.OrderedDict()
        self._limits = dict(DEFAULT_LIMITS)
        self._server = {}
        self._server_needs_scene = False
        self._scene_wanted = True

        self._mode = mode
        self._document = None
        self._pictures = {"targets": []}
        self._pictured_at = None
        self._app_news = False
        self._busy = None
        self._scene_news = []  # what was handed over and is not serialised yet
        self._scene_text = None  # the newest scene, serialised
        self._scene_taken_by = None  # Candidate.key of the server that has it
        self._scene_work = False  # being serialised
        self._scene_unsent = False  # the newest scene could not be sent, or was refused
        self._scene_sent_to = None  # Candidate.key of the server that a scene was sent to last
        self._audit = Backlog()
        self._events = Backlog()
        self._buffers = collections.OrderedDict()
        self._producers = collections.OrderedDict()
        self._producer_news = collections.OrderedDict()  # scheme -> what to tell
        self._updated = collections.OrderedDict()
        self._uploads = collections.deque()
        self._upload = None  # the one being sent
        self._questions = collections.deque()
        self._note_jobs = collections.deque()
        self._notes = ([], None)
        self._clients = []
        self._not_yet = []  # questions for the next pump
        self._answers = collections.deque()
        self._finished = collections.deque()  # uploads whose on_done waits for pump
        self._main_seen = time.monotonic()
        self._pumps = False
        self._pumping = False

    def __repr__(self):
        return "<HostLink %s: %s>" % (self._app["dcc_type"], self._state[0])

    # Life

    def start(self):
        """Begins to look for the server and to stay linked to it. A second call does nothing."""
        with self._lock:
            if self._worker is not None and not self._worker.ended:
                return
            self._main_seen = time.monotonic()
            try:
                worker = self._worker = Worker(self)
                worker.start()
            except (OSError, RuntimeError) as error:
                self._worker = None
                self._set_state("refused", "The link cannot start (%s)." % type(error).__name__)
                return
        atexit.register(self._at_exit)

    def stop(self, reason="quit", timeout=1.0, clear=False):
        """Sends what is waiting, says bye and ends the thread, all within the timeout.

        clear: for a user who disconnects. The server removes the scene, the schemes and the event
        buffers of this application; without it they stay as they are when an application quits.
        While there is no connection, one more is tried within the timeout for the bye alone. When
        the server cannot be told, the status says so."""
        with self._lock:
            worker = self._worker
            self._worker = None
            was_sent = self._scene_sent_to is not None
            if clear:
                self._scene_news, self._scene_text, self._scene_unsent = [], None, False
        atexit.unregister(self._at_exit)
        if worker is not None and worker.owner == os.getpid():
            worker.stop(one_line(reason) or "quit", timeout, clear)
            if worker is not threading.current_thread():
                worker.join(max(0.0, timeout))
        with self._lock:
            told = worker is None or worker.told or self._scene_sent_to is None
            text = OFF
            if clear and was_sent:
                text = CLEARED if told else NOT_TOLD
            self._set_state("off", text)
            if clear:
                self._scene_sent_to = None
            for upload in [self._upload] + list(self._uploads):
                if upload is not None:
                    self._finish(upload, error="the link was stopped")
            for job in self._note_jobs:
                self._end_note(job, "the link was stopped")
            self._note_jobs.clear()
            self._notes = ([], None)
            self._uploads.clear()
            self._upload = None
            self._questions.clear()
            self._answers.clear()

    def _at_exit(self):
        self.stop("quit", 0.5)

    def flush(self, timeout=5.0):
        """Waits until the server took all that was handed over; False when it did not.

        For scripts: an application that people work in has nothing to wait for."""
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                if self.connected and self._settled():
                    return not self._scene_unsent
                left = deadline - time.monotonic()
                if left <= 0 or self._state[0] in ("off", "refused"):
                    return False
                if self._turns is None:
                    self._changed.wait(min(left, 0.1))
                    continue
            self._turns.lend(min(left, 0.02))

    def _settled(self):
        return (self.scene_settled and not self._audit and not self._events
                and not self._producer_news and not self._app_news and not self._updated
                and not self._note_jobs and not self._uploads and self._upload is None)

    def _search(self, own_server):
        """(candidates, reasons, whether to give up)"""
        url, token = self._given
        reasons = []
        if url or token:
            try:
                if not url or not token:
                    raise ValueError("a host URL and a host token must be given together")
                return [Candidate(parse_url(url), check_token(token), "given")], [], False
            except ValueError as error:
                return [], [str(error)], True
        found = find_candidates(
            self._app["dcc_type"], self._registry_dir, self._env, reasons, own_server)
        return found, reasons, False
