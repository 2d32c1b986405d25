"""The one session of this Blender, its timer, and what the panels show of it."""

import time
import traceback

import bpy

from . import note_panel, notes, sharing
from .link_session import LinkSession

TICK_SECONDS = 0.05
# Due at the next turn of the main loop: Blender draws and handles input in between.
READING_SECONDS = 0.001
IDLE_SECONDS = 0.5
START_SECONDS = 0.1


class Running:
    """Lives from register to unregister; `session` is there from connect to disconnect."""

    def __init__(self, server):
        self.session = None
        self.server = server  # which outlives a disconnect
        self.note, self.place = "", ""  # a sentence for the sidebar, and the panel that it belongs to
        self.last_status = None  # of the link, after a disconnect
        self._shown = None
        self._render_done = False

    def connect(self, settings):
        if self.session is not None:
            self.disconnect("the link was started again")
        session = LinkSession(settings)
        session.on_rendered = self._finished_render
        session.start()
        self.session = session
        self.say("")
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

    def say(self, text, place="link"):
        """Shows a sentence in the panel "link", "notes" or "setup", in place of the one before."""
        self.note, self.place = text, place

    def said(self, place):
        return [self.note] if self.note and self.place == place else []

    def pump(self):
        """For scripts with a loop of their own: in background mode Blender has no timers."""
        if self.session is None:
            return
        self.session.tick()
        self._share_render()

    def flush(self, timeout):
        """Pumps until the server has everything; False when it had not in time."""
        deadline = time.monotonic() + timeout
        while self.session is not None:
            self.pump()
            if self.session.settled and self.session.link.flush(0.05):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return False

    def apply(self, settings):
        if self.session is not None:
            self.session.apply(settings)

    def shared(self, name, upload):
        """The end of an upload."""
        self.say("Shared " + name if upload.uri else "%s not shared: %s" % (name, upload.error))

    def _tick(self):
        if self.session is None:
            return None
        try:
            self.pump()
            self._redraw_when_told()
        except Exception:
            # A timer that raises is taken away by Blender, and the link would look frozen.
            self.say("an update failed: the system console has the reason")
            traceback.print_exc()
            return IDLE_SECONDS
        if self.session.reading:
            return READING_SECONDS
        return TICK_SECONDS if self.session.link.connected else IDLE_SECONDS

    def _redraw_when_told(self):
        link, manager = self.session.link, bpy.context.window_manager
        note_panel.sync_list(manager, notes.all_shown()[0])
        shown = (link.status(), link.pictured_at, self.note, link.notes, link.clients,
                 self.session.settings.scene, self.server.failure)
        if shown == self._shown:
            return
        self._shown = shown
        for window in manager.windows:
            for area in window.screen.areas:
                if area.type in ("VIEW_3D", "PREFERENCES"):
                    area.tag_redraw()

    def _finished_render(self):
        self._render_done = True
        if bpy.app.background:
            self._share_render()

    def _share_render(self):
        """A render ends on its own thread: its result is shared on the next tick."""
        is_done, self._render_done = self._render_done, False
        if is_done and self.session.settings.renders:
            try:
                sharing.share_render_result(self.session.link, self.shared)
            except sharing.CannotShare as error:
                self.say("not shared: %s" % error)
