"""The one session of this Blender, its timer, and what the panels show of it."""

import time
import traceback
from collections import deque

import bpy

from . import scene_facts, sharing
from .link_session import LinkSession

TICK_SECONDS = 0.05
# Due at the next turn of the main loop: Blender draws and handles input in between.
READING_SECONDS = 0.001
IDLE_SECONDS = 0.5
START_SECONDS = 0.1
MAX_SENDING = 4


class Running:
    """Lives from register to unregister; `session` is there from connect to disconnect."""

    def __init__(self, version):
        self.session = None
        self.note = ""
        self._note_stays = False
        self._note_of = None  # (document, whether it was linked)
        self.last_status = None  # of the link, after a disconnect
        self._version = version
        self._files = deque()
        self._sending = 0
        self._shown = None
        self._render_began = 0.0
        self._render_done = False

    def connect(self, settings):
        if self.session is not None:
            self.disconnect("the link was started again")
        session = LinkSession(settings, self._version)
        session.on_render_began = self._began_render
        session.on_rendered = self._finished_render
        session.start()
        self.session = session
        self.say("")
        self._files.clear()
        self._sending = 0
        if not bpy.app.background:
            bpy.app.timers.register(self._tick, first_interval=START_SECONDS, persistent=True)

    def disconnect(self, reason="the user disconnected", clear=True):
        session, self.session = self.session, None
        if bpy.app.timers.is_registered(self._tick):
            bpy.app.timers.unregister(self._tick)
        if session is not None:
            session.stop(reason, clear)
            self.last_status = session.link.status()
            # A share that the stop has cut off is not shown any more.
            self.say("")

    def say(self, text, stays=False):
        """Shows a text in the sidebar until another document is opened or the link is lost.
        `stays`: also after that loss."""
        self.note, self._note_stays = text, stays

    def pump(self):
        """For scripts with a loop of their own: in background mode Blender has no timers."""
        if self.session is not None:
            self.session.tick()
            self._drop_old_note()
            self._after_render()
            self._send_files()

    def flush(self, timeout):
        """Pumps until the server has everything; False when it had not in time."""
        deadline = time.monotonic() + timeout
        while self.session is not None:
            self.pump()
            if self.session.settled and not self._files and self.session.link.flush(0.05):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return False

    def apply(self, settings):
        if self.session is not None:
            self.session.apply(settings)

    def shared(self, name, upload):
        """The end of an upload, told on whatever thread it was noticed."""
        if upload.uri:
            self.say("Shared " + name)
        else:
            self.say("%s not shared: %s" % (name, upload.error), stays=True)

    def _drop_old_note(self):
        document = bpy.data.filepath or scene_facts.unsaved_name()
        before, self._note_of = self._note_of, (document, self.session.link.connected)
        if before is None or before == self._note_of:
            return
        if before[0] != document or not (self._note_stays or self.session.link.connected):
            self.say("")

    def _tick(self):
        if self.session is None:
            return None
        try:
            self.pump()
            self._redraw_when_told()
        except Exception:
            # A timer that raises is taken away by Blender, and the link would look frozen.
            self.say("an update failed: the system console has the reason", stays=True)
            traceback.print_exc()
            return IDLE_SECONDS
        if self.session.reading:
            return READING_SECONDS
        return TICK_SECONDS if self.session.link.connected else IDLE_SECONDS

    def _redraw_when_told(self):
        link = self.session.link
        shown = (link.status(), link.pictured_at, self.session.has_render, self.note, link.notes,
                 self.session.settings.scene)
        if shown == self._shown:
            return
        self._shown = shown
        for window in bpy.context.window_manager.windows:
            for area in window.screen.areas:
                if area.type in ("VIEW_3D", "PREFERENCES"):
                    area.tag_redraw()

    def _began_render(self):
        self._render_began = time.time()

    def _finished_render(self):
        self._render_done = True
        if bpy.app.background:
            self._after_render()

    def _after_render(self):
        """A render ends on its own thread: its files are looked for on the next tick."""
        if not self._render_done:
            return
        self._render_done = False
        if not self.session.settings.renders:
            return
        self._files.extend(sharing.rendered_files(bpy.context.scene, self._render_began))
        if not self._files:
            self._try(sharing.share_render_result, self.session.link, self.shared)

    def _send_files(self):
        """A few at a time: the link holds no long queue of uploads."""
        while self._files and self._sending < MAX_SENDING:
            path = self._files.popleft()
            self._sending += 1
            if not self._try(sharing.share_file, self.session.link, path, self._sent):
                self._sending -= 1

    def _sent(self, name, upload):
        self._sending -= 1
        self.shared(name, upload)

    def _try(self, send, *arguments):
        try:
            send(*arguments)
            return True
        except sharing.CannotShare as error:
            self.say("not shared: " + str(error), stays=True)
            return False
