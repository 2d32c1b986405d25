"""The notes of the open document in the sidebar."""

import os

import bpy

from . import notes, preferences, status_view

MAX_SHOWN = 20
MAX_CHANGES = 6
PICTURE_SCALE = 4.6
_ICONS = {
    "open": status_view.YELLOW,
    "reopened": status_view.YELLOW,
    "answered": status_view.GREEN,
    "accepted": status_view.GREY,
    "closed": status_view.GREY,
}
_previews = None


class SERVICE_CLI_PT_notes(bpy.types.Panel):
    bl_idname = "SERVICE_CLI_PT_notes"
    bl_label = "Notes"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "AI Link"

    def draw(self, context):
        self.layout.operator("service_cli.note_on_selection", icon="TEXT")
        shown, folder = notes.all_shown()
        chosen = preferences.current()
        if chosen is not None and shown:
            self.layout.prop(chosen, "show_pins")
        if not shown:
            self.layout.label(text="No notes")
        # What waits for a person comes first.
        order = sorted(shown, key=lambda note: (not notes.is_open(note), -int(note.get("number", 0))))
        for note in order[:MAX_SHOWN]:
            _draw_note(self.layout.box(), note, folder, context)


def lines_of(note):
    """What the panel says of a note below its head, without the pictures."""
    lines = [str(note.get("text", ""))]
    answers = [each for each in note.get("entries", []) if each.get("text")]
    if answers:
        last = answers[-1]
        lines.append("%s: %s" % (last.get("by", ""), last["text"]))
    proof = _proof(note)
    if proof is not None:
        for title, member in (("Changed", "asked"), ("Also changed", "also_changed")):
            changes = [str(each) for each in proof.get(member) or []]
            if changes:
                lines.append(title + ":")
                lines.extend("- " + each for each in changes[:MAX_CHANGES])
                if len(changes) > MAX_CHANGES:
                    lines.append("… %d more" % (len(changes) - MAX_CHANGES))
    gone = [str(each.get("name")) for each in note.get("targets", []) if each.get("gone")]
    if gone:
        lines.append("Gone: " + ", ".join(gone))
    return lines


def _draw_note(box, note, folder, context):
    state = str(note.get("state"))
    box.label(text="%s  %s" % (note.get("number"), state), icon=_ICONS.get(state, "NONE"))
    column = box.column(align=True)
    column.scale_y = 0.8
    scale = context.preferences.system.ui_scale
    for line in lines_of(note):
        for part in status_view.wrapped(line, context.region.width - 20, scale):
            column.label(text=part)
    if not notes.is_open(note):
        return
    _draw_pictures(box, note, folder)
    row = box.row(align=True)
    if state == "answered":
        _settle(row, note, "accept", "Accept")
        row.operator("service_cli.reply_to_note", text="Reply").note = str(note.get("id"))
    _settle(row, note, "close", "Close")


def _settle(row, note, action, text):
    button = row.operator("service_cli.settle_note", text=text)
    button.note = str(note.get("id"))
    button.action = action


def _proof(note):
    proofs = [each["proof"] for each in note.get("entries", []) if isinstance(each.get("proof"), dict)]
    return proofs[-1] if proofs else None


def _draw_pictures(box, note, folder):
    """Before and after beside each other, small: enough to see that something changed."""
    proof = _proof(note) or {}
    uris = [uri for uri in (note.get("before"), proof.get("after")) if isinstance(uri, str)]
    if folder is None or _previews is None or not uris:
        return
    row = box.row()
    for uri in uris:
        icon = _icon(os.path.join(folder, uri[len("notes://") :].replace("/", "-") + ".png"))
        if icon:
            row.template_icon(icon_value=icon, scale=PICTURE_SCALE)


def _icon(path):
    if path not in _previews and os.path.isfile(path):
        _previews.load(path, path, "IMAGE")
    return _previews[path].icon_id if path in _previews else 0


def register():
    global _previews
    import bpy.utils.previews

    _previews = bpy.utils.previews.new()


def unregister():
    global _previews
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
    _previews = None


CLASSES = (SERVICE_CLI_PT_notes,)
