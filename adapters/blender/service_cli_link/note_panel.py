"""The notes of the open document in the sidebar: one line each, and the selected one whole."""

import os

import bpy
from bpy.props import CollectionProperty, IntProperty, StringProperty

from . import notes, panels, preferences
from .service_host_link import is_open, note_blocks, note_pictures

MAX_LINES = 24  # of one text
UNIT_PIXELS = 20  # of an icon of scale 1
LINE_PIXELS = 56  # of the list's scroll bar, and of the icon of a line
_ICONS = {
    "open": "RADIOBUT_OFF",
    "reopened": "LOOP_BACK",
    "answered": "RADIOBUT_ON",
    "accepted": "CHECKMARK",
    "closed": "X",
}
_previews = None


class ServiceCliNote(bpy.types.PropertyGroup):
    """A line of the list; `name` is the text."""

    note: StringProperty()
    state: StringProperty()
    number: IntProperty()


class SERVICE_CLI_UL_notes(bpy.types.UIList):
    def draw_item(self, context, layout, _data, item, _icon, _active, _active_name, _index=0, _flag=0):
        scale = context.preferences.system.ui_scale
        width = context.region.width - (panels.MARGIN_PIXELS + LINE_PIXELS) * scale
        text = panels.wrapped("%d  %s" % (item.number, item.name), width, scale, 1)
        layout.label(text=text[0], icon=_ICONS.get(item.state, "NONE"))


class SERVICE_CLI_PT_notes(bpy.types.Panel):
    bl_idname = "SERVICE_CLI_PT_notes"
    bl_label = "Notes"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "AI Link"

    def draw(self, context):
        column = self.layout.column(align=True)
        column.operator("service_cli.note_on_selection", icon="TEXT")
        column.operator("service_cli.note_at_point", icon="PINNED")
        shown, folder = notes.all_shown()
        said = preferences.RUNNING.said("notes") if notes.can_note() else []
        answered = sum(note.get("state") == "answered" for note in shown)
        counts = "%d notes, %d answered" % (len(shown), answered)
        panels.write(self.layout, said or [counts if shown else notes.why_none()], context)
        if not shown:
            return
        chosen = preferences.current()
        if chosen is not None:
            self.layout.prop(chosen, "show_pins")
        manager = context.window_manager
        self.layout.template_list("SERVICE_CLI_UL_notes", "", manager, "service_cli_notes", manager,
                                  "service_cli_note_index", rows=3, maxrows=8)
        index, listed = manager.service_cli_note_index, manager.service_cli_notes
        selected = listed[index].note if 0 <= index < len(listed) else None
        for note in shown:
            if note.get("id") == selected:
                _draw_note(self.layout, note, folder, context)


def sync_list(manager, shown):
    """Brings the list of the window manager, which Blender never saves, to these notes. What waits
    for a person comes first. The selected note stays selected."""
    order = sorted(shown, key=lambda note: (
        note.get("state") != "answered", not is_open(note), -int(note.get("number", 0))))
    lines = [(str(note.get("text", "")).replace("\n", " ")[:200], str(note.get("id")),
              str(note.get("state")), int(note.get("number", 0))) for note in order]
    listed, index = manager.service_cli_notes, manager.service_cli_note_index
    if lines == [(each.name, each.note, each.state, each.number) for each in listed]:
        return
    selected = listed[index].note if 0 <= index < len(listed) else None
    listed.clear()
    for line in lines:
        item = listed.add()
        item.name, item.note, item.state, item.number = line
    ids = [line[1] for line in lines]
    manager.service_cli_note_index = ids.index(selected) if selected in ids else 0


def _draw_note(layout, note, folder, context):
    state = str(note.get("state"))
    if state == "answered":
        row = layout.row()  # alone, because a narrow sidebar cuts the words of three
        row.scale_y = 1.2
        _settle(row, note, "accept", "Accept")
    row = layout.row(align=True)
    if state not in ("open", "reopened"):
        text = "Reply" if state == "answered" else "Reopen"
        row.operator("service_cli.reply_to_note", text=text).note = str(note.get("id"))
    if is_open(note):
        _settle(row, note, "close", "Close")
    said, answer, changes = note_blocks(note, notes.name_now)
    panels.write(layout, said, context, most=MAX_LINES)
    if answer:
        panels.write(layout.box(), answer, context, panels.BOX_PIXELS, MAX_LINES)
    panels.write(layout, changes, context, most=MAX_LINES)
    if is_open(note):
        _draw_pictures(layout, note, folder, context)


def _settle(row, note, action, text):
    button = row.operator("service_cli.settle_note", text=text)
    button.note = str(note.get("id"))
    button.action = action


def _draw_pictures(layout, note, folder, context):
    """As wide as the sidebar lets them be; each opens in the viewer of the system."""
    icons = [(title, path, _icon(path)) for title, path in note_pictures(note, folder)]
    icons = [each for each in icons if each[2]]
    if not icons:
        return
    width = context.region.width / context.preferences.system.ui_scale - panels.MARGIN_PIXELS
    row = layout.row(align=True)
    for title, path, icon in icons:
        column = row.column(align=True)
        column.template_icon(icon_value=icon, scale=width / len(icons) / UNIT_PIXELS)
        column.operator("wm.path_open", text=title).filepath = path


def _icon(path):
    if _previews is None:
        return 0
    if path not in _previews and os.path.isfile(path):
        _previews.load(path, path, "IMAGE")
    return _previews[path].icon_id if path in _previews else 0


def register():
    global _previews
    import bpy.utils.previews

    _previews = bpy.utils.previews.new()
    bpy.types.WindowManager.service_cli_notes = CollectionProperty(type=ServiceCliNote)
    bpy.types.WindowManager.service_cli_note_index = IntProperty(name="Selected note")


def unregister():
    global _previews
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
    _previews = None
    del bpy.types.WindowManager.service_cli_notes, bpy.types.WindowManager.service_cli_note_index


CLASSES = (ServiceCliNote, SERVICE_CLI_UL_notes, SERVICE_CLI_PT_notes)
