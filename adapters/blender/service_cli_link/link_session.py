"""One connection's worth of work: what changed in Blender goes out, what is asked is answered."""

import os
import time
import traceback
from contextlib import contextmanager

import bpy

from . import finite, object_detail, pictures, scene_facts, share, snapshot
from .actions import OperatorWatch
from .cadence import Cadence
from .changes import MAX_MOVED, Changes
from .console_tee import ConsoleTee
from .missing_files import MissingFiles
from .offered_objects import OfferedObjects
from .operator_turns import OperatorTurns
from .service_host_link import Busy, HostLink, NotFound
from .told_scene import ToldScene

CONSOLE_LINES = 2000
# So long after the last move everything is read: Blender does not say when hidden objects move too.
VERIFY_SECONDS = 1.0


class LinkSession:
    """From connect to disconnect. Everything but `mark` and the render calls: main thread only."""

    def __init__(self, settings, version, clock=time.monotonic, make_link=HostLink):
        self.settings = settings
        self.rendering = False
        self.failure = None
        self.has_render = None  # None: not looked yet
        self.on_render_began = _nothing
        self.on_rendered = _nothing
        self._clock = clock
        self._cadence = Cadence(clock)
        self._marked = True  # the first look
        self._objects = OfferedObjects()
        self._document = None
        self._key = None
        self._change_count = 0
        self._told = ToldScene()
        # Facts of objects by name, when nothing but them has changed; None: anything may have.
        self._moved = None
        self._verify_at = None
        self._collecting = False
        self._unheard = False
        self._loading = False
        self._missing = MissingFiles(clock)
        self._changes = Changes(self)
        self._operators = OperatorWatch(self._act)
        self._console = None
        self._turns = OperatorTurns()
        self.session_id = "blender-console-%d" % os.getpid()
        self.link = make_link(
            "blender",
            app_version=bpy.app.version_string,
            mode="background" if bpy.app.background else "gui",
            display_name="Blender " + bpy.app.version_string,
            url=settings.url or None,
            token=settings.token or None,
            registry_dir=settings.registry_dir or None,
            on_read=self._read,
            turns=self._turns,
            client_name="service-cli-blender",
            client_version=version,
        )

    def start(self):
        self._turns.install()
        self._changes.install()
        self._offer()
        self.link.start()

    def stop(self, reason, clear=True):
        """`clear`: nothing that was shared stays on the server, except artefacts and the audit."""
        self._turns.remove()
        self._changes.remove()
        self._close_console()
        self.link.stop(reason, clear=clear)
        self.link.pump()  # what was cut off ends, so that files made for it go

    def apply(self, settings):
        """Switches of what is shared take effect at once, an address at the next connect."""
        before, self.settings = self.settings, settings
        if before.objects and not settings.objects:
            self._objects.withdraw(self.link)
        if before.scene and not settings.scene:
            self.link.set_scene(None)
            self._told.forget()
            self.link.set_document(None)
            self._document = None
        self._offer()
        self._marked = True

    def tick(self):
        """What the timer does, and `service_cli_link.pump()` in background mode."""
        self.link.pump()
        if self.busy:
            if _render_runs():
                return
            self.render_ended("render.end")  # one that never said how it ended
        if bpy.app.background:
            bpy.context.view_layer.update()  # until then Blender itself does not know
        # For the sidebar alone; in background mode Blender prints the refused attempt.
        if self.has_render is None and not bpy.app.background:
            self.has_render = share.has_render_result()
        if self.settings.actions:
            self._operators.look()
        self._look()
        if self._wanted and self._cadence.due(self._moved is not None):
            self._publish()

    @property
    def busy(self):
        """A render reads the scene on its own thread: leave it alone meanwhile."""
        return self.rendering and not bpy.app.background

    @property
    def settled(self):
        """Nothing is left to collect."""
        return not self._marked and not self._cadence.dirty

    @property
    def _wanted(self):
        """False while the scene before is still on its way, or without a server."""
        return self.link.connected and self.link.scene_settled

    def changed(self, names, moved):
        """`moved`: the objects, when they moved and nothing else changed."""
        self._objects.touch(names)
        if self.busy or self._collecting:
            self._marked = True
            return
        self._collect_moved(moved)
        if self._cadence.changed(self._moved is not None) and self._wanted:
            self._publish()

    def _collect_moved(self, moved):
        """Reads what moved at once, because a reference to it may not live until it is told."""
        if moved is None or self._told.scene is None:
            self._moved = None
        if self._moved is None:
            return
        cleaner = finite.Cleaner()
        for item in moved:
            before = self._told.facts_of(item.name_full)
            if before is not None:
                self._moved[before["id"]] = snapshot.object_again(
                    item, before, cleaner, self.settings.detail)
        if cleaner.dropped or len(self._moved) > MAX_MOVED:
            self._moved = None

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

    def happened(self, action):
        if self._unheard:
            return
        if action == "file.load":
            self._operators.start_over()
            self._missing.forget()
            self.has_render = None
        elif action == "file.save":
            self._missing.forget()
        self._act(action, _path_of(action))
        self._marked = True
        if not self.busy:
            self._loading = action == "file.load"
            self._look()
            self._loading = False

    def render_began(self):
        self.rendering = True
        self.link.set_busy("rendering")
        self._act("render.start", {})
        self.on_render_began()

    def render_ended(self, action):
        self.rendering = False
        self.link.set_busy(None)
        self._act(action, {})
        self._marked = True
        self.has_render = None
        if action == "render.complete":
            self.on_rendered()

    def _look(self):
        """The few things that change without any notice of Blender's."""
        self._cadence.server_interval = self.link.limits.get("scene_min_interval_ms", 0) / 1000.0
        self._marked = self._marked or (self.settings.scene and self.link.need_scene)
        self._tell_document()
        key = _cheap_key()
        if self._verify_at is not None and self._clock() >= self._verify_at:
            self._marked = True
        if key != self._key or self._marked:
            self._key, self._marked = key, False
            self.changed((), None)

    def _tell_document(self):
        if not self.settings.scene:
            return
        document = self._document_now()
        if document != self._document:
            self._document = document
            self.link.set_document(document["path"], document["name"], document["modified"])

    def _document_now(self):
        return scene_facts.document(bpy, self._loading)

    def _publish(self):
        if self._collecting:
            return
        self._collecting = True
        started = self._clock()
        # A server that asks has no scene, although the link once handed one over.
        few = self._moved is not None and not self.link.need_scene
        try:
            if few:
                self._tell_moved()
            else:
                self._tell_scene()
            if self.settings.objects:
                self._objects.tell(self.link, renamed=not few)
            self.failure = None
        except Exception as error:
            self._failed(error)
        finally:
            self._collecting = False
            self._moved = {} if self.failure is None else None
            self._verify_at = self._clock() + VERIFY_SECONDS if few else None
            self._cadence.collected(self._clock() - started, few)

    def _failed(self, error):
        """Said once and not at each change; whatever Blender was doing goes on."""
        failure = "the scene could not be read: %s: %s" % (type(error).__name__, error)
        if failure != self.failure:
            self.failure = failure
            traceback.print_exc()

    def _tell_scene(self):
        if not self.settings.scene:
            return
        facts = (self._missing.warnings(bpy), self._document_now())
        scene = snapshot.collect(self.settings.detail, self.link.limits, *facts)
        if self._told.replace(scene) or self.link.need_scene:
            self._hand_over()

    def _tell_moved(self):
        """The same for a few objects, and for what changes without any notice of Blender's."""
        if not self.settings.scene:
            return
        members = {"document": finite.without_nothing(self._document_now())}
        members.update(snapshot.view())
        if self._told.change(self._moved.values(), members):
            self._hand_over()

    def _hand_over(self):
        self._change_count += 1
        self.link.set_scene(snapshot.stamped(self._told.scene, self._change_count), True)

    def _read(self, uri):
        if self.busy:
            raise Busy("Blender is rendering")
        if bpy.app.background:
            bpy.context.view_layer.update()
        text = object_detail.read(uri)
        if text is None:
            raise NotFound(uri)
        return [{"uri": uri, "mimeType": object_detail.MIME, "text": text}]

    def _picture(self, target, max_width, max_bytes):
        if self.busy:
            raise Busy("Blender is rendering")
        with self.unheard():
            return pictures.take(target, max_width, max_bytes)

    def _offer(self):
        if self.settings.objects:
            self._objects.offer(self.link)
        if not self.settings.picture:
            self.link.deny_capture()
        elif not bpy.app.background:
            self.link.provide_capture(self._picture, pictures.targets())
        if self.settings.console and self._console is None:
            self.link.open_events(self.session_id, maxlen=CONSOLE_LINES)
            self._console = ConsoleTee(self._say)
            self._console.install()
        elif not self.settings.console:
            self._close_console()

    def _close_console(self):
        if self._console is not None:
            self._console.remove()
            self._console = None

    def _say(self, stream, line):
        level = "warning" if stream == "stderr" else "info"
        self.link.log(line, self.session_id, source="blender", stream=stream, level=level)

    def _act(self, action, params):
        if self.settings.actions:
            self.link.record(action, params=params)


def _nothing():
    return None


def _render_runs():
    """Before Blender 3.3 there is no asking: it runs until it says that it ended."""
    is_running = getattr(bpy.app, "is_job_running", None)
    return is_running is None or is_running("RENDER")


def _path_of(action):
    return {"path": bpy.data.filepath} if action.startswith("file.") else {}


def _cheap_key():
    context = bpy.context
    windows = context.window_manager.windows
    screen = windows[0].screen if len(windows) else None
    return (
        bpy.data.filepath,
        bpy.data.is_dirty,
        context.scene.name_full,
        context.view_layer.name,
        context.mode,
        bool(screen is not None and screen.is_animation_playing),
    )
