"""What a person says of the open document, and does about the answers."""

import getpass

import bpy
from bpy.props import StringProperty
from mathutils import Vector

from . import pictures, preferences, shots

MAX_TEXT = 4000
MAX_TARGETS = 100


def all_shown():
    """(notes, folder of their pictures) as the server last told."""
    session = preferences.RUNNING.session if preferences.RUNNING is not None else None
    return session.link.notes if session is not None else ([], None)


def is_open(note):
    return note.get("state") not in ("accepted", "closed")


def _is_connected():
    session = preferences.RUNNING.session if preferences.RUNNING is not None else None
    return session is not None and session.link.connected


def _author():
    try:
        return getpass.getuser()
    except Exception:  # no name is known on this system
        return "a person"


def _told(done):
    """For on_done: what became of it stands in the sidebar."""

    def told(job):
        if preferences.RUNNING is not None:
            said = done if job.error is None else "The note was not kept: " + job.error
            preferences.RUNNING.note = said

    return told


class _Written:
    """Asks for a text before it does something."""

    text: StringProperty(name="Text", description="What you want", maxlen=MAX_TEXT)

    @classmethod
    def poll(cls, _context):
        return _is_connected()

    def invoke(self, context, _event):
        return context.window_manager.invoke_props_dialog(self, width=420)

    def draw(self, _context):
        row = self.layout.row()
        row.activate_init = True  # typing goes straight in
        row.prop(self, "text", text="")

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

    def send(self, context, link, text):
        selected = list(context.selected_objects)[:MAX_TARGETS]
        link.add_note(
            text,
            author=_author(),
            targets=[{"id": each.name_full, "name": each.name} for each in selected],
            position=_middle(selected),
            view=_view(context),
            frame=context.scene.frame_current,
            on_done=_told("Note made"),
        )


class SERVICE_CLI_OT_reply_to_note(_Written, bpy.types.Operator):
    """Say what is still to be done; the note is open again"""

    bl_idname = "service_cli.reply_to_note"
    bl_label = "Reply to Note"
    bl_options = {"INTERNAL"}

    note: StringProperty()

    def send(self, _context, link, text):
        link.act_on_note(self.note, "reopen", text=text, by=_author(), on_done=_told("Reply sent"))


class SERVICE_CLI_OT_settle_note(bpy.types.Operator):
    """Accept the answer, or close the note"""

    bl_idname = "service_cli.settle_note"
    bl_label = "Settle Note"
    bl_options = {"INTERNAL"}

    note: StringProperty()
    action: StringProperty(default="accept")

    @classmethod
    def poll(cls, _context):
        return _is_connected()

    def execute(self, _context):
        link = preferences.RUNNING.session.link
        done = _told("Answer accepted" if self.action == "accept" else "Note closed")
        link.act_on_note(self.note, self.action, by=_author(), on_done=done)
        return {"FINISHED"}


def _middle(items):
    corners = [item.matrix_world @ Vector(corner) for item in items for corner in item.bound_box]
    if not corners:
        return None
    low = [min(corner[axis] for corner in corners) for axis in range(3)]
    high = [max(corner[axis] for corner in corners) for axis in range(3)]
    return [(low[axis] + high[axis]) / 2 for axis in range(3)]


def _view(context):
    """Of the 3D view in which it was said, else of the largest; None without one."""
    area = context.area
    if area is not None and area.type == "VIEW_3D":
        region = next(each for each in area.regions if each.type == "WINDOW")
        return shots.on_screen(area.spaces.active.region_3d, (region.width, region.height))
    try:
        _, space, region = pictures.current_view()
    except pictures.NoPicture:
        return None
    return shots.on_screen(space.region_3d, (region.width, region.height))


def draw_menu(self, _context):
    self.layout.separator()
    self.layout.operator_context = "INVOKE_DEFAULT"
    self.layout.operator("service_cli.note_on_selection", icon="TEXT")


CLASSES = (
    SERVICE_CLI_OT_note_on_selection,
    SERVICE_CLI_OT_reply_to_note,
    SERVICE_CLI_OT_settle_note,
)
