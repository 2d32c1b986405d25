"""What a person, or a script on their behalf, can ask for: connect, disconnect, start and set up."""

import re

import bpy
from bpy.props import BoolProperty, EnumProperty

from . import preferences, server
from .service_host_link import find_server


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
            return _refused(self, error)
        running.connect(preferences.settings_now())
        return {"FINISHED"}


class SERVICE_CLI_OT_set_up_client(bpy.types.Operator):
    """Add this Blender to the settings of the AI, or copy them to the clipboard"""

    bl_idname = "service_cli.set_up_client"
    bl_label = "Set Up AI"

    client: EnumProperty(items=[each + ("",) for each in server.CLIENTS])
    write: BoolProperty(description="Merge the entry into the settings file of the AI")

    @classmethod
    def description(cls, _context, properties):
        title = dict(server.CLIENTS)[properties.client]
        return ("Add this Blender to the settings of %s; a backup stays beside the file" if properties.write
                else "Copy setup for %s: paste it into its settings") % title

    def execute(self, context):
        session = preferences.RUNNING.session
        host_url = session.link.status().url if session is not None and session.link.connected else ""
        try:
            answer = server.client_setup(
                server.find_program(preferences.current().program), self.client,
                re.sub("/host$", "/mcp", host_url), self.write)
        except server.ServerError as error:
            return _refused(self, error)
        title = dict(server.CLIENTS)[self.client]
        if self.write:
            said = "Added to %s, in %s." % (title, answer["file"])
        else:
            context.window_manager.clipboard = answer["snippet"]
            said = "Copied: paste it into %s." % (answer["file"] or "the settings of " + title)
        preferences.RUNNING.say(" ".join([said] + answer["notes"]))
        return {"FINISHED"}


def _refused(operator, error):
    """Shows why, and where the program is chosen when it was not found."""
    preferences.RUNNING.say(str(error))
    operator.report({"WARNING"}, str(error))
    if str(error) == server.NOT_FOUND and not bpy.app.background:
        bpy.ops.preferences.addon_show(module=preferences.PACKAGE)
    return {"CANCELLED"}


CLASSES = (
    SERVICE_CLI_OT_connect,
    SERVICE_CLI_OT_disconnect,
    SERVICE_CLI_OT_start_server,
    SERVICE_CLI_OT_set_up_client,
)
