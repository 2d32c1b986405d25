"""The sidebar of the 3D view, and an entry in the image editor's menu."""

import bpy

from . import preferences


class SERVICE_CLI_PT_sidebar(bpy.types.Panel):
    bl_idname = "SERVICE_CLI_PT_sidebar"
    bl_label = "service-cli"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "service-cli"

    def draw(self, _context):
        preferences.draw_status(self.layout)
        column = self.layout.column()
        column.operator("service_cli.share_render")
        column.operator("service_cli.share_document")


def draw_image_menu(self, _context):
    self.layout.separator()
    self.layout.operator("service_cli.share_image")


CLASSES = (SERVICE_CLI_PT_sidebar,)
