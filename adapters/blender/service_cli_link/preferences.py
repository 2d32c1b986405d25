"""The add-on's page in Edit > Preferences > Add-ons."""

from collections import namedtuple

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

# What the person decided, as plain values that any thread may read.
SHARED = ("scene", "objects", "picture", "actions", "console", "renders")
Settings = namedtuple("Settings", ("detail",) + SHARED)
DEFAULTS = Settings("standard", scene=True, objects=True, picture=True, actions=True, console=True,
                    renders=False)

PACKAGE = __package__
RUNNING = None  # set while registered


def _changed(self, _context):
    if RUNNING is not None:
        RUNNING.apply(settings_now())


def _chosen(_self, _context):
    """What was said of the program before is not true of this one."""
    if RUNNING is not None:
        RUNNING.say("")


class ServiceCliPreferences(bpy.types.AddonPreferences):
    bl_idname = PACKAGE

    connect_on_startup: BoolProperty(
        name="Connect when Blender starts",
        description="Look for a running service-cli serve at each start",
        default=False,
    )
    show_pins: BoolProperty(
        name="Show pins",
        description="The number of each open note in the 3D view, at the place that it is about",
        default=True,
    )
    program: StringProperty(
        name="service-cli",
        description="The program that Start Server runs; empty: found by itself. In a checkout it is bin/run.js",
        subtype="FILE_PATH",
        default="",
        update=_chosen,
    )
    detail: EnumProperty(
        name="Detail",
        items=[
            ("standard", "Standard", "Names, types, parents, visibility, location, rotation, scale"),
            ("full", "Full", "And matrices, bounds, materials, modifiers, geometry counts"),
        ],
        default="standard",
        update=_changed,
    )
    share_scene: BoolProperty(
        name="Scene and document", description="scene://current", default=True, update=_changed
    )
    share_objects: BoolProperty(
        name="Details of objects, when read",
        description="blender-object://NAME",
        default=True,
        update=_changed,
    )
    share_picture: BoolProperty(
        name="Picture of the window, when read",
        description="capture://current_window: this Blender's window with all that it shows. "
        "Off: the server takes no picture of it in any other way either",
        default=True,
        update=_changed,
    )
    share_actions: BoolProperty(
        name="What was done",
        description="Operators, undo, file and render events, in audit://recent",
        default=True,
        update=_changed,
    )
    share_console: BoolProperty(
        name="What Python prints",
        description="The console output of scripts and add-ons, in events://session/…",
        default=True,
        update=_changed,
    )
    share_renders: BoolProperty(
        name="Every render when it finishes",
        description="The result, as an artefact; of an animation its last frame",
        default=False,
        update=_changed,
    )

    def draw(self, context):
        from . import panels

        lines = panels.draw_state(self.layout) + RUNNING.said("setup")
        panels.write(self.layout, lines, context)
        column = self.layout.column()
        for name in ("connect_on_startup", "program", "detail"):
            column.prop(self, name)
        box = self.layout.box()
        box.label(text="Shared with AI clients, who see and cannot change, while connected:")
        for name in SHARED:
            box.prop(self, "share_" + name)


def settings_now():
    preferences = current()
    if preferences is None:
        return DEFAULTS
    return Settings(preferences.detail, *(getattr(preferences, "share_" + name) for name in SHARED))


def current():
    """The preferences; None while Blender has not made them yet."""
    addon = bpy.context.preferences.addons.get(PACKAGE)
    return addon.preferences if addon is not None else None
