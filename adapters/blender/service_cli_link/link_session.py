"""One connection's worth of work: what changed in Blender goes out, what is asked is answered."""

import os
import time
from contextlib import contextmanager

import bpy

from . import object_facts, pictures, scene_facts
from .changes import Changes
from .identity import Identities
from .operator_watch import OperatorTurns, OperatorWatch
from .scene_reader import EVERYTHING, MEMBERS, NAMES
from .scene_watch import SceneWatch
from .service_host_link import Busy, Console, HostLink, NotFound, OfferedObjects
from .values import name_of

# So many ticks after a file was loaded, Blender no longer speaks of the one before.
LOADING_TICKS = 2


class LinkSession:
    """From connect to disconnect. Everything but `mark` and the render calls: main thread only."""

    def __init__(self, settings, clock=time.monotonic, make_link=HostLink):
        self.settings = settings
        self.rendering = False
        self.on_rendered = lambda: None
        self._clock = clock
        self._marked = False
        self._document = None  # as it was told; None also for one that was just opened
        self._key = None
        self._unheard = False
        self._file = None  # as it was before the save
        self._skipped_frames = False  # True: frames were played whose objects were not read
        self._loading = 0  # ticks
        self.identities = Identities()
        self._changes = Changes(self)
        self._operators = OperatorWatch(self._act)
        self._turns = OperatorTurns()
        # Both together name a server anywhere, as its operator chose it.
        url, token = (os.environ.get("SERVICE_HOST_" + name) for name in ("URL", "TOKEN"))
        self.link = make_link(
            "blender",
            app_version=bpy.app.version_string,
            mode="background" if bpy.app.background else "gui",
            display_name="Blender " + bpy.app.version_string,
            url=url if token else None,
            token=token if url else None,
            on_read=self._read,
            on_refresh=self._refresh,
            turns=self._turns,
            shows_notes=True,
        )
        self.console = Console(self.link, "blender")
        self._objects = OfferedObjects(
            self.link, object_facts.SCHEME, object_facts.DESCRIPTION, object_facts.MIME)
        self._watch = self._make_watch()

    def _make_watch(self):
        return SceneWatch(self.link, self.settings.detail, self._clock, self.identities,
                          self._document_now, self._tell_objects)

    def _tell_objects(self, reader):
        if self.settings.objects:
            self._objects.tell(reader.listed() if reader.listing_changed else None)
            reader.listing_changed = False

    def start(self):
        self._turns.install()
        self._changes.install()
        scene_facts.file_exists.cache_clear()
        self._offer()
        self.link.start()

    def stop(self, reason, clear=True):
        """`clear`: nothing that was shared stays on the server, except artefacts and the audit."""
        self._turns.remove()
        self._changes.remove()
        self.console.share(False)
        self.link.stop(reason, clear=clear)
        self.link.pump()  # what was cut off ends, so that files made for it go

    def apply(self, settings):
        """Switches of what is shared take effect at once."""
        before, self.settings = self.settings, settings
        if before.scene and not settings.scene:
            self.link.set_scene(None)
            self.link.set_document(None)
            self._document = None
        self._offer()
        if before[:3] != settings[:3]:  # the detail, and whether scene and objects are shared
            self._watch = self._make_watch()

    def tick(self):
        """What the timer does, and `service_cli_link.pump()` in background mode."""
        self.link.pump()
        self._loading = max(self._loading - 1, 0)
        if self.busy:
            if bpy.app.is_job_running("RENDER"):
                return
            self.render_ended("render.end")  # one that never said how it ended
        # Blender evaluates a change later, with a window right after its timers. A scene read before
        # that would have half of the change.
        if bpy.app.background or not self.settled or self._key != _cheap_key():
            bpy.context.view_layer.update()
        if self.settings.actions:
            self._operators.look()
        self._look()
        if self.settings.scene:
            self._watch.tick(scene_facts.is_playing())

    @property
    def busy(self):
        """A render reads the scene on its own thread: leave it alone meanwhile."""
        return self.rendering and not bpy.app.background

    @property
    def settled(self):
        """Nothing is left to collect."""
        return not self._marked and (self._watch.settled or not self.settings.scene)

    @property
    def reading(self):
        """Something waits to be read: tick soon. Playback comes first."""
        return self.settings.scene and not self.busy and self._watch.busy and not scene_facts.is_playing()

    @property
    def failure(self):
        return self._watch.failure

    def lacks(self, name):
        """The scene has no object of this name, as far as it was read."""
        return self._watch.lacks(name)

    def changed(self, items, look):
        """`items`: objects by name that changed; `look`: what else may have."""
        self._objects.touch(items)
        if self.busy:
            self._marked = True
        elif self.settings.scene:
            self._watch.changed(items, look)

    def frame_changed(self, touched):
        is_playing = scene_facts.is_playing()
        # Objects are read now and then, if they are few. All are read once playback stops.
        items, look = touched() if not is_playing or self._watch.rested else ({}, EVERYTHING)
        if is_playing and look == EVERYTHING:
            self._skipped_frames = True
            self._watch.changed({}, MEMBERS, may_read=False)
        else:
            self.changed(items, max(look, MEMBERS))

    def mark(self):
        """From any thread: the next tick has to look."""
        self._marked = True

    @contextmanager
    def unheard(self):
        """What the add-on does itself is nothing that was done in Blender."""
        self._unheard = True
        try:
            yield
        finally:
            self._unheard = False

    def saves(self):
        self._file = _file_now()

    def happened(self, action):
        if self._unheard:
            return
        params = {}
        if action.startswith("file."):
            scene_facts.file_exists.cache_clear()
            params = {"path": bpy.data.filepath}
            if action == "file.save" and _file_now() == self._file:
                action, params = "file.save_copy", {"copy_of": bpy.data.filepath}
        if action == "file.load":
            self._operators.start_over()
            self._loading = LOADING_TICKS
            self._document = None
            self._watch.forget()
            self.identities.start_over()
        self._act(action, params)
        if self.busy:
            self._marked = True
            return
        self.changed({}, MEMBERS if action.startswith("file.save") else EVERYTHING)
        self._look()

    def render_began(self):
        self.rendering = True
        self.link.set_busy("rendering")
        self._act("render.start", {})

    def render_ended(self, action):
        self.rendering = False
        self.link.set_busy(None)
        self._act(action, {})
        self._marked = True
        if action == "render.complete":
            self.on_rendered()

    def _look(self):
        """The few things that change without any notice of Blender's."""
        self._tell_document()
        before, self._key = self._key, _cheap_key()
        self._skipped_frames = self._skipped_frames and self._key[-1]
        if before is None:
            return
        if self._key[:3] != before[:3]:
            self._watch.forget()
        if self._marked:
            self._marked = False
            self.changed({}, EVERYTHING)
        elif self._key != before:
            self.changed({}, EVERYTHING if before[-1] else MEMBERS)  # all that played

    def _tell_document(self):
        if not self.settings.scene:
            return
        document = self._document_now()
        before, self._document = self._document, document
        if document == before:
            return
        saved_from = None
        if before is not None and before["path"] != document["path"]:
            saved_from = before["path"] or before["name"]
        self.link.set_document(document["path"], document["name"], document["modified"], saved_from)

    def _document_now(self):
        return scene_facts.open_document(self._loading > 0)

    def _read(self, uri):
        if not self.settings.objects:
            raise NotFound("details of objects are switched off in the preferences of the add-on")
        if self.busy:
            raise Busy("Blender is rendering")
        if bpy.app.background:
            bpy.context.view_layer.update()
        text = object_facts.read(self._objects.id_of(uri), self.identities)
        if text is None:
            raise NotFound(uri)
        return [{"uri": uri, "mimeType": object_facts.MIME, "text": text}]

    def _refresh(self):
        if not self.settings.scene:
            return True  # a reader asked just before it was switched off
        if self.busy:
            raise Busy("Blender is rendering")
        bpy.context.view_layer.update()  # what scripts changed is told of now
        self._look()
        if self._skipped_frames:
            raise Busy("Blender is playing an animation")
        return self._watch.refresh()

    def _picture(self, target, max_width, max_bytes, shot=None):
        if self.busy:
            raise Busy("Blender is rendering")
        with self.unheard():
            return pictures.take(target, max_width, max_bytes, shot)

    def _offer(self):
        self._objects.offer(self.settings.objects)
        if not self.settings.picture:
            self.link.deny_capture()
        elif not bpy.app.background:
            self.link.provide_capture(self._picture, ("window", "viewport"), shots=True)
        self.console.share(self.settings.console)

    def _act(self, action, params):
        if self.settings.actions:
            self.link.record(action, params=params)


def _file_now():
    """The open file: a save changes it, and a copy that is saved elsewhere does not."""
    path = bpy.data.filepath
    found = os.stat(path) if os.path.isfile(path) else None
    return path, found and (found.st_ino, found.st_size, found.st_mtime_ns)


def _cheap_key():
    context = bpy.context
    return (
        bpy.data.filepath,
        name_of(context.scene),
        name_of(context.view_layer, "name"),
        bpy.data.is_dirty,
        context.mode,
        scene_facts.is_playing(),
    )
