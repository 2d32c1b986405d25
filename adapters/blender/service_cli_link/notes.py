"""The notes of the open document: what is known of them, and what a person does about them."""

import getpass
import math

import bpy
from bpy.props import FloatVectorProperty, StringProperty
from mathutils import Vector

from . import panels, pictures, preferences, shots
from .service_host_link import NoPicture
from .values import name_of

MAX_TEXT = 4000  # maxNoteTextChars of the server
MAX_TARGETS = 100
DIALOG_PIXELS = 420


def all_shown():
    """(notes, folder of their pictures) as they are now: none while the link is down, or while the
    scene is not shared: the server then does not know the document."""
    session = _session()
    return session.link.notes if session is not None and session.settings.scene else ([], None)


def why_none():
    """A sentence for a person who looks for notes."""
    session = _session()
    if session is None or not session.link.connected:
        return "Not connected: notes are shown while the link is up."
    if not session.settings.scene:
        return "Notes need the scene and document, which are not shared: see the preferences."
    return "The server has told of no notes." if all_shown()[1] is None else "No notes"


def name_now(target):
    """Of the object of a note: it may have another name by now, or be gone."""
    session, first = _session(), str(target.get("was") or target.get("name"))
    if session is None:
        return first
    told = target.get("id")
    now = session.identities.name(target.get("uid")) or told
    if session.lacks(now):
        return "%s (gone)" % first
    name = target.get("name") if now == told else now
    return name if name == first else "%s (was %s)" % (name, first)


def can_note():
    """The server knows the open document."""
    session = _session()
    return session is not None and session.link.connected and session.settings.scene


def _session():
    return preferences.RUNNING.session if preferences.RUNNING is not None else None


# --- Operators


def _author():
    try:
        return getpass.getuser()
    except Exception:  # no name is known on this system
        return "a person"


def _told(done, failed):
    """For on_done: what became of it stands in the sidebar."""

    def told(job):
        if preferences.RUNNING is not None:
            text = done if job.error is None else "%s: %s" % (failed, job.error)
            preferences.RUNNING.say(text, "notes")

    preferences.RUNNING.say("Sending…", "notes")
    return told


class _Written:
    """Asks for a text before it does something."""

    # SKIP_SAVE: Blender would open the dialog with the text of the note before.
    text: StringProperty(
        name="Text", description="What you want", maxlen=MAX_TEXT, options={"SKIP_SAVE"}
    )

    @classmethod
    def poll(cls, _context):
        return can_note()

    def invoke(self, context, _event):
        return context.window_manager.invoke_props_dialog(self, width=DIALOG_PIXELS)

    def targets(self, _context):
        """Objects; None for what the note already has."""
        return None

    def draw(self, context):
        row = self.layout.row()
        row.activate_init = True  # typing goes straight in
        row.prop(self, "text", text="")
        targets = self.targets(context)
        if targets is not None:
            about = "About: " + (", ".join(name_of(each, "name") for each in targets) or "no object")
            scale = context.preferences.system.ui_scale
            for line in panels.wrapped(about, (DIALOG_PIXELS - panels.ICON_PIXELS) * scale, scale, 2):
                self.layout.label(text=line)

    def execute(self, context):
        text = self.text.strip()
        if not text:
            self.report({"WARNING"}, "A note needs a text")
            return {"CANCELLED"}
        self.send(context, preferences.RUNNING.session.link, text)
        return {"FINISHED"}


class SERVICE_CLI_OT_note_on_selection(_Written, bpy.types.Operator):
    """Note what should change in the selected objects; agents that are connected are told"""

    bl_idname = "service_cli.note_on_selection"
    bl_label = "Note on Selection"

    def targets(self, context):
        return list(context.selected_objects)[:MAX_TARGETS]

    def send(self, context, link, text):
        selected = self.targets(context)
        _add(context, link, text, selected, _middle(selected))


class SERVICE_CLI_OT_note_on_point(_Written, bpy.types.Operator):
    """The second half of Note at Point"""

    bl_idname = "service_cli.note_on_point"
    bl_label = "Note at Point"
    bl_options = {"INTERNAL"}

    target: StringProperty(options={"SKIP_SAVE"})
    position: FloatVectorProperty(options={"SKIP_SAVE"})

    def targets(self, context):
        return [each for each in context.scene.objects if name_of(each) == self.target]

    def send(self, context, link, text):
        _add(context, link, text, self.targets(context), list(self.position))


class SERVICE_CLI_OT_note_at_point(bpy.types.Operator):
    """Click what should change, then say it; agents that are connected are told"""

    bl_idname = "service_cli.note_at_point"
    bl_label = "Note at Point"

    @classmethod
    def poll(cls, context):
        return can_note() and context.area is not None and context.area.type == "VIEW_3D"

    def invoke(self, context, _event):
        context.window.cursor_modal_set("CROSSHAIR")
        context.workspace.status_text_set("Click what the note is about; Esc ends this")
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type in ("MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE"):
            return {"PASS_THROUGH"}  # to look at it from elsewhere
        is_click = event.type == "LEFTMOUSE" and event.value == "PRESS"
        if not is_click and event.type not in ("RIGHTMOUSE", "ESC"):
            return {"RUNNING_MODAL"}
        context.window.cursor_modal_restore()
        context.workspace.status_text_set(None)
        if not is_click:
            return {"CANCELLED"}
        target, position = _under(context, event.mouse_x, event.mouse_y)
        if target is None:
            self.report({"WARNING"}, "No object there: select it, then Note on Selection")
            return {"CANCELLED"}
        bpy.ops.service_cli.note_on_point(
            "INVOKE_DEFAULT", target=name_of(target), position=position)
        return {"FINISHED"}


class SERVICE_CLI_OT_reply_to_note(_Written, bpy.types.Operator):
    """Say what is still to be done; the note is open again"""

    bl_idname = "service_cli.reply_to_note"
    bl_label = "Reply to Note"
    bl_options = {"INTERNAL"}

    note: StringProperty()

    def send(self, _context, link, text):
        done = _told("Reply sent", "Reply not sent")
        link.act_on_note(self.note, "reopen", text=text, by=_author(), on_done=done)


class SERVICE_CLI_OT_settle_note(bpy.types.Operator):
    """Accept the answer, or close the note"""

    bl_idname = "service_cli.settle_note"
    bl_label = "Settle Note"
    bl_options = {"INTERNAL"}

    note: StringProperty()
    action: StringProperty(default="accept")

    @classmethod
    def poll(cls, _context):
        return can_note()

    def execute(self, _context):
        link = preferences.RUNNING.session.link
        accepts = self.action == "accept"
        done = _told("Answer accepted" if accepts else "Note closed",
                     "Answer not accepted" if accepts else "Note not closed")
        link.act_on_note(self.note, self.action, by=_author(), on_done=done)
        return {"FINISHED"}


def _add(context, link, text, targets, position):
    link.add_note(
        text,
        author=_author(),
        targets=[{"id": name_of(each), "name": name_of(each, "name")} for each in targets],
        position=position,
        view=_view(context),
        frame=context.scene.frame_current,
        on_done=_told("Note made", "Note not made"),
    )


def _middle(items):
    corners = [item.matrix_world @ Vector(corner) for item in items for corner in item.bound_box]
    if not corners:
        return None
    low = [min(corner[axis] for corner in corners) for axis in range(3)]
    high = [max(corner[axis] for corner in corners) for axis in range(3)]
    middle = [(low[axis] + high[axis]) / 2 for axis in range(3)]
    return middle if all(map(math.isfinite, middle)) else None


def _view(context):
    """Of the 3D view in which it was said, else of the largest; None without one."""
    area = context.area
    if area is not None and area.type == "VIEW_3D":
        region = next(each for each in area.regions if each.type == "WINDOW")
        return shots.on_screen(area.spaces.active.region_3d, (region.width, region.height))
    try:
        _, space, region = pictures.current_view()
    except NoPicture:
        return None
    return shots.on_screen(space.region_3d, (region.width, region.height))


def _under(context, x, y):
    """(object, position) under a point of the window, in pixels; (None, None) without an object."""
    space = context.area.spaces.active
    for region in [each for each in context.area.regions if each.type == "WINDOW"]:
        size = (region.width, region.height)
        left, up = (x - region.x) / size[0], (y - region.y) / size[1]
        if 0 <= left < 1 and 0 <= up < 1:
            view = shots.on_screen(space.region_3d, size)
            return shots.under(view, (left, 1 - up), space.overlay.show_overlays)
    return None, None


def draw_menu(self, _context):
    self.layout.separator()
    self.layout.operator_context = "INVOKE_DEFAULT"
    self.layout.operator("service_cli.note_on_selection", icon="TEXT")
    self.layout.operator("service_cli.note_at_point", icon="PINNED")


CLASSES = (
    SERVICE_CLI_OT_note_on_selection,
    SERVICE_CLI_OT_note_on_point,
    SERVICE_CLI_OT_note_at_point,
    SERVICE_CLI_OT_reply_to_note,
    SERVICE_CLI_OT_settle_note,
)
