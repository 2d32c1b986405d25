"""The sidebar of the 3D view, and an entry in the image editor's menu."""

import bpy

from . import preferences


class SERVICE_CLI_PT_sidebar(bpy.types.Panel):
    bl_idname = "SERVICE_CLI_PT_sidebar"
    bl_label = "AI Link"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "AI Link"

    def draw(self, context):
        # What changes its height comes last, so that no button moves under the pointer.
        view = preferences.draw_state(self.layout)
        column = self.layout.column(align=True)
        column.enabled = _is_connected()
        row = column.row(align=True)
        session = preferences.RUNNING.session
        row.enabled = session is not None and bool(session.has_render)
        row.operator("service_cli.share_render", icon="RENDER_STILL")
        column.operator("service_cli.share_document", icon="FILE_BLEND")
        preferences.draw_lines(self.layout, view, context)


def draw_image_menu(self, _context):
    self.layout.separator()
    row = self.layout.row()
    row.enabled = _is_connected()
    row.operator("service_cli.share_image")


def _is_connected():
    session = preferences.RUNNING.session if preferences.RUNNING is not None else None
    return session is not None and session.link.connected


CLASSES = (SERVICE_CLI_PT_sidebar,)
