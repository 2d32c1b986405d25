"""What a person, or a script on their behalf, can ask for: connect, disconnect, share."""

import bpy
from bpy.props import StringProperty

from . import preferences, sharing


class SERVICE_CLI_OT_connect(bpy.types.Operator):
    """Connect to a running service-cli serve on this machine"""

    bl_idname = "service_cli.connect"
    bl_label = "Connect"
    bl_options = {"INTERNAL"}

    def execute(self, _context):
        chosen = preferences.current()
        preferences.RUNNING.connect(preferences.settings_of(chosen) if chosen else preferences.DEFAULTS)
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


class _Share:
    """`send(link, on_done)` says how; a refusal is a warning in Blender's own way."""

    @classmethod
    def poll(cls, _context):
        running = preferences.RUNNING
        return running is not None and running.session is not None

    def execute(self, context):
        running = preferences.RUNNING
        try:
            with running.session.unheard():
                self.send(context, running.session.link, running.shared)
        except sharing.CannotShare as error:
            self.report({"WARNING"}, str(error))
            return {"CANCELLED"}
        running.say("sharing…", stays=True)
        return {"FINISHED"}


class SERVICE_CLI_OT_share_render(_Share, bpy.types.Operator):
    """Send the last render result to the server as an artefact"""

    bl_idname = "service_cli.share_render"
    bl_label = "Share Render"

    def send(self, _context, link, on_done):
        sharing.share_render_result(link, on_done)


class SERVICE_CLI_OT_share_image(_Share, bpy.types.Operator):
    """Send the image of this image editor to the server as an artefact"""

    bl_idname = "service_cli.share_image"
    bl_label = "Share Image"

    image: StringProperty(name="Image", description="Name of an image; empty: the one shown")

    def send(self, context, link, on_done):
        space = context.space_data
        shown = space.image if space is not None and space.type == "IMAGE_EDITOR" else None
        image = bpy.data.images.get(self.image) if self.image else shown
        if image is None:
            raise sharing.CannotShare("there is no image " + (self.image or "in this editor"))
        sharing.share_image(link, image, on_done)


class SERVICE_CLI_OT_share_document(_Share, bpy.types.Operator):
    """Send this .blend file, as it is now, to the server as an artefact"""

    bl_idname = "service_cli.share_document"
    bl_label = "Share .blend"

    def send(self, _context, link, on_done):
        sharing.share_document(link, on_done)


CLASSES = (
    SERVICE_CLI_OT_connect,
    SERVICE_CLI_OT_disconnect,
    SERVICE_CLI_OT_share_render,
    SERVICE_CLI_OT_share_image,
    SERVICE_CLI_OT_share_document,
)
