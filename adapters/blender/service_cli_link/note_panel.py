"""The notes of the open document in the sidebar."""

import os

import bpy

from . import notes, preferences, status_view

MAX_SHOWN = 20
MAX_CHANGES = 6
MAX_LINES = 24  # of one text
NOTHING = "Changed: nothing that service-cli follows"
COMPARED_ONLY = "Other objects: materials, lights and modifiers may have changed, too"
PICTURE_SCALE = 4.6  # of an icon
UNIT_PIXELS = 20  # of an icon of scale 1
MARGIN_PIXELS = 60
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
        column = self.layout.column(align=True)
        column.operator("service_cli.note_on_selection", icon="TEXT")
        column.operator("service_cli.note_at_point", icon="PINNED")
        shown, folder = notes.all_shown()
        if not shown:
            _write(self.layout, [notes.why_none()], context)
            return
        chosen = preferences.current()
        if chosen is not None:
            self.layout.prop(chosen, "show_pins")
        # What waits for a person comes first.
        order = sorted(shown, key=lambda note: (not notes.is_open(note), -int(note.get("number", 0))))
        for note in order[:MAX_SHOWN]:
            _draw_note(self.layout.box(), note, folder, context)
        if len(order) > MAX_SHOWN:
            self.layout.label(text="… %d more" % (len(order) - MAX_SHOWN))


def lines_of(note):
    """What the panel says of a note: (what the person said, the last answer or reply, what changed).

    The three are drawn apart, so that no answer looks like what the server has found."""
    said = [str(note.get("text", ""))]
    if not notes.is_open(note):
        return said, [], []
    names = [notes.name_now(each) for each in note.get("targets", [])]
    said.append("About: " + (", ".join(names) or "no object"))
    texts = [each for each in note.get("entries", []) if each.get("text")]
    answer = ["%s: %s" % (each.get("by", ""), each["text"]) for each in texts[-1:]]
    return said, answer, _proof_lines(_proof(note))


def _proof_lines(proof):
    if proof is None:
        return []
    if proof.get("no_changes"):
        return ["Not compared: %s" % proof["no_changes"]]
    lines = []
    if proof.get("as_of"):
        lines.append("Not confirmed: changes after %s are missing." % proof["as_of"])
    elif not proof.get("settled", True):
        lines.append("The scene was still changing.")
    asked, others = proof.get("asked"), proof.get("also_changed")
    lines += _list("Changed", others if asked is None else asked) or [NOTHING]
    lines += _list("Also changed", others if asked is not None else None)
    if proof.get("more"):
        lines.append("… and %d more" % proof["more"])
    lines.append(COMPARED_ONLY)
    return lines


def _list(title, changes):
    if not changes:
        return []
    lines = [title + ":"] + ["- %s" % each for each in changes[:MAX_CHANGES]]
    if len(changes) > MAX_CHANGES:
        lines.append("… %d more" % (len(changes) - MAX_CHANGES))
    return lines


def _draw_note(box, note, folder, context):
    state = str(note.get("state"))
    box.label(text="%s  %s" % (note.get("number"), state), icon=_ICONS.get(state, "NONE"))
    # Above what may be longer than the sidebar.
    row = box.row(align=True)
    if state == "answered":
        _settle(row, note, "accept", "Accept")
    if state not in ("open", "reopened"):
        text = "Reply" if state == "answered" else "Reopen"
        row.operator("service_cli.reply_to_note", text=text).note = str(note.get("id"))
    if notes.is_open(note):
        _settle(row, note, "close", "Close")
    said, answer, proof = lines_of(note)
    _write(box, said, context)
    if answer:
        _write(box.box(), answer, context)
    _write(box, proof, context)
    if notes.is_open(note):
        _draw_pictures(box, note, folder, context)


def _write(layout, lines, context):
    column = layout.column(align=True)
    column.scale_y = 0.8
    scale = context.preferences.system.ui_scale
    for line in lines:
        for part in status_view.wrapped(line, context.region.width - 20, scale, MAX_LINES):
            column.label(text=part)


def _settle(row, note, action, text):
    button = row.operator("service_cli.settle_note", text=text)
    button.note = str(note.get("id"))
    button.action = action


def _proof(note):
    """Of the last answer; None while it is made."""
    answers = [each for each in note.get("entries", []) if each.get("action") == "answer"]
    proof = answers[-1].get("proof") if answers else None
    return proof if isinstance(proof, dict) else None


def _draw_pictures(box, note, folder, context):
    """Small: enough to see that something changed; each opens in the viewer of the system."""
    proof = _proof(note) or {}
    difference = proof.get("difference") or {}
    pictures = (("Before", note.get("before")), ("After", proof.get("after")),
                ("Where", difference.get("uri")))
    kept = "%04d" % int(note.get("number", 0))
    paths = [(title, os.path.join(folder, kept, uri.rsplit("/", 1)[-1] + ".png"))
             for title, uri in pictures if folder is not None and isinstance(uri, str)]
    if not paths:
        return
    width = context.region.width / context.preferences.system.ui_scale - MARGIN_PIXELS
    scale = min(PICTURE_SCALE, width / len(paths) / UNIT_PIXELS)
    row = box.row(align=True)
    for title, path in paths:
        icon = _icon(path)
        if icon:
            column = row.column(align=True)
            column.template_icon(icon_value=icon, scale=scale)
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


def unregister():
    global _previews
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
    _previews = None


CLASSES = (SERVICE_CLI_PT_notes,)
