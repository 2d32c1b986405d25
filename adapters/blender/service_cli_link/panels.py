"""The sidebar of the 3D view, with its buttons: the link, the AI that reads, what can be shared."""

import datetime
import re

import bpy
from bpy.props import BoolProperty, EnumProperty

from . import preferences, server
from .service_host_link import find_server, status_words

MAX_LINES = 8
MAX_CLIENTS = 5
# Of a region, in pixels at scale 1: tabs, scroll bar and the margins of a panel and of a box.
MARGIN_PIXELS = 54
BOX_PIXELS = 14
ICON_PIXELS = 28
SEES_ONLY = "The AI only sees. This link changes nothing."
# The web page of the server, and the commands of the person: neither is an AI.
OWN = ("service-page", "service-cli")

_ICONS = {
    "off": "UNLINKED",
    "searching": "VIEWZOOM",
    "connecting": "SORTTIME",
    "connected": "LINKED",
    "waiting": "FILE_REFRESH",
    "refused": "ERROR",
}


def client_lines(clients):
    """(name, when and what it read last) of each AI, most recently seen first."""
    shown = []
    for client in clients:
        acts = [client[name] for name in ("last_read", "last_call") if client.get(name)]
        act = max(acts, key=lambda each: each["at"], default=None)
        said = "nothing read yet"
        if act is not None:
            said = "%s %s" % (_clock_time(act["at"]), act.get("uri") or act["tool"])
        if client.get("name") not in OWN:
            shown.append((str(client.get("name")), said))
    return shown


def _clock_time(text):
    """Of an RFC 3339 time in UTC, the time of day where the person is."""
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return at.astimezone().strftime("%H:%M")


# --- Text at full width


def wrapped(text, width, ui_scale=1.0, most=MAX_LINES):
    """The text in lines of at most so many pixels; "…" ends one of more than `most` lines."""
    import blf

    blf.size(0, bpy.context.preferences.ui_styles[0].widget.points * ui_scale)

    def fits(words):
        return blf.dimensions(0, words)[0] <= width

    lines = []
    for row in text.splitlines():
        line = ""
        for word in row.split():
            if line and fits(line + " " + word):
                line += " " + word
                continue
            lines += [line] if line else []
            while len(word) > 1 and not fits(word):
                cut, end = 1, len(word)
                while end - cut > 1:
                    middle = (cut + end) // 2
                    cut, end = (middle, end) if fits(word[:middle]) else (cut, middle)
                lines.append(word[:cut])
                word = word[cut:]
            line = word
        lines.append(line)
    lines = [line for line in lines if line]
    if len(lines) > most:
        last = " ".join(lines[most - 1:most + 1])
        while last and not fits(last + " …"):
            last = last[:-1]
        lines[most - 1:] = [last.rstrip() + " …"]
    return lines


def write(layout, lines, context, taken=0, most=MAX_LINES, icon="NONE"):
    """`taken`: pixels at scale 1 that are not free for the text; `icon` stands before the first line."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    scale = context.preferences.system.ui_scale
    taken += ICON_PIXELS if icon != "NONE" else 0
    for line in lines:
        for part in wrapped(line, context.region.width - (MARGIN_PIXELS + taken) * scale, scale, most):
            if taken >= ICON_PIXELS:
                column.label(text=part, icon=icon if icon != "NONE" else "BLANK1")
                icon = "BLANK1"
            else:
                column.label(text=part)


# --- Buttons, which scripts may press, too


class SERVICE_CLI_OT_connect(bpy.types.Operator):
    """Connect to a running service-cli serve on this machine"""

    bl_idname = "service_cli.connect"
    bl_label = "Connect"
    bl_options = {"INTERNAL"}

    def execute(self, _context):
        preferences.RUNNING.connect(preferences.settings_now())
        preferences.RUNNING.pump()
        return {"FINISHED"}


class SERVICE_CLI_OT_disconnect(bpy.types.Operator):
    """Disconnect; nothing is shared any more"""

    bl_idname = "service_cli.disconnect"
    bl_label = "Disconnect"
    bl_options = {"INTERNAL"}

    def execute(self, _context):
        preferences.RUNNING.disconnect()
        return {"FINISHED"}


class SERVICE_CLI_OT_start_server(bpy.types.Operator):
    """Connect to a running server, or start one, which ends with this Blender"""

    bl_idname = "service_cli.start_server"
    bl_label = "Start Server"

    @classmethod
    def poll(cls, _context):
        return preferences.RUNNING is not None

    def execute(self, _context):
        running, reasons = preferences.RUNNING, []
        try:
            if find_server("blender", reasons=reasons) is None:
                # The other server may hold the default port.
                port = 0 if any("taken" in reason for reason in reasons) else None
                running.server.start(server.find_program(preferences.current().program), port)
        except server.ServerError as error:
            return _refused(self, error, "link")
        running.connect(preferences.settings_now())
        return {"FINISHED"}


class SERVICE_CLI_OT_set_up_client(bpy.types.Operator):
    """Add this Blender to the settings of the AI, with a backup beside the file. \
The icon beside it copies the entry to the clipboard instead"""

    bl_idname = "service_cli.set_up_client"
    bl_label = "Set Up AI"

    client: EnumProperty(items=[each + ("",) for each in server.CLIENTS])
    write: BoolProperty()

    def execute(self, context):
        session = preferences.RUNNING.session
        host_url = session.link.status().url if session is not None and session.link.connected else ""
        try:
            answer = server.client_setup(
                server.find_program(preferences.current().program), self.client,
                re.sub("/host$", "/mcp", host_url), self.write)
        except server.ServerError as error:
            return _refused(self, error, "setup")
        title = dict(server.CLIENTS)[self.client]
        if self.write:
            said = "Added to %s, in %s. Restart it if it runs." % (title, answer["file"])
        else:
            context.window_manager.clipboard = answer["snippet"]
            said = "Copied: paste it into %s, then restart %s." % (answer["file"], title)
        preferences.RUNNING.say(" ".join([said] + answer["notes"]), "setup")
        return {"FINISHED"}


def _refused(operator, error, place):
    """Shows why, and where the program is chosen when it was not found."""
    preferences.RUNNING.say(str(error), place)
    operator.report({"WARNING"}, str(error))
    if str(error) == server.NOT_FOUND and not bpy.app.background:
        bpy.ops.preferences.addon_show(module=preferences.PACKAGE)
    return {"CANCELLED"}


# --- Panels


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "AI Link"


class SERVICE_CLI_PT_sidebar(_Panel, bpy.types.Panel):
    bl_idname = "SERVICE_CLI_PT_sidebar"
    bl_label = "AI Link"

    def draw(self, context):
        # What changes its height comes last, so that no button moves under the pointer.
        lines = draw_state(self.layout)
        write(self.layout, [SEES_ONLY], context, icon="HIDE_OFF")
        column = self.layout.column(align=True)
        column.enabled = is_connected()
        column.operator("service_cli.share_render", icon="RENDER_STILL")
        column.operator("service_cli.share_document", icon="FILE_BLEND")
        if is_connected():
            _draw_clients(self.layout, context)
        write(self.layout, lines, context)


class _Setup(_Panel):
    """Open until an AI is connected; Blender cannot fold a panel, so that there are two."""

    bl_order = 1  # below the notes

    def draw(self, context):
        write(self.layout, ["Add this Blender to its settings, or copy the entry:"], context)
        column = self.layout.column(align=True)
        for client, title in server.CLIENTS:
            row = column.row(align=True)
            for text, icon, writes in ((title, "ADD", True), ("", "COPYDOWN", False)):
                button = row.operator("service_cli.set_up_client", text=text, icon=icon)
                button.client, button.write = client, writes
        write(self.layout, preferences.RUNNING.said("setup"), context)


class SERVICE_CLI_PT_setup(_Setup, bpy.types.Panel):
    bl_label = "Set Up an AI"

    @classmethod
    def poll(cls, _context):
        return not _clients()


class SERVICE_CLI_PT_setup_more(_Setup, bpy.types.Panel):
    bl_label = "Set Up Another AI"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, _context):
        return bool(_clients())


def draw_state(layout):
    """The state and its buttons, always in the same places; returns the sentences to stand below."""
    running = preferences.RUNNING
    session = running.session
    if session is None:
        status, words = None, status_words(running.last_status)
        lines = words.lines
    else:
        status = session.link.status()
        words = status_words(status, session.settings.scene, session.link.pictured_at)
        if status.state == "searching":
            words = _while_searching(words, running.server)
        lines = [*words.lines, session.failure, running.server.failure]
        if session.link.connected and session.link.pictured_at is None:
            lines.append("No picture taken yet")
    row = layout.row()
    state = status.state if status else "off"
    row.alert = state == "refused"
    row.label(text=words.title, icon=_ICONS[state])
    column = layout.column(align=True)
    column.scale_y = 1.4
    if session is None or state == "refused":
        column.operator("service_cli.connect", icon="LINKED")
    else:
        column.operator("service_cli.disconnect", icon="UNLINKED")
    row = column.row(align=True)
    row.enabled = not is_connected() and not running.server.runs
    row.operator("service_cli.start_server", icon="PLAY")
    return [line for line in lines + running.said("link") if line]


def _while_searching(words, own):
    """An artist starts no server in a terminal."""
    if own.runs:
        return words._replace(title="Starting…", lines=["The server is starting."])
    said = [line.replace("start one: service-cli serve --dcc-type blender", "press Start Server")
            for line in words.lines]
    return words._replace(lines=[] if own.failure else said)


def _clients():
    """Lines of the AIs of which the server has told."""
    return client_lines(preferences.RUNNING.session.link.clients) if is_connected() else []


def _draw_clients(layout, context):
    """As high for none as for one, so that no button below moves when it comes."""
    box = layout.box()
    for name, said in _clients()[:MAX_CLIENTS] or [("No AI is connected.", "Set one up below.")]:
        write(box, [name], context, BOX_PIXELS, 1, "USER")
        write(box, [said], context, BOX_PIXELS, 1)


def is_connected():
    session = preferences.RUNNING.session if preferences.RUNNING is not None else None
    return session is not None and session.link.connected


CLASSES = (
    SERVICE_CLI_OT_connect,
    SERVICE_CLI_OT_disconnect,
    SERVICE_CLI_OT_start_server,
    SERVICE_CLI_OT_set_up_client,
    SERVICE_CLI_PT_sidebar,
    SERVICE_CLI_PT_setup,
    SERVICE_CLI_PT_setup_more,
)
