"""The add-on's page in Edit > Preferences > Add-ons."""

from collections import namedtuple

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from . import status_view

# What the person decided, as plain values that any thread may read.
Settings = namedtuple(
    "Settings", "url token registry_dir detail scene objects picture actions console renders")
DEFAULTS = Settings(url="", token="", registry_dir="", detail="standard", scene=True, objects=True,
                    picture=True, actions=True, console=True, renders=False)

PACKAGE = __package__
RUNNING = None  # set while registered

# The token lives here, in memory: a property of Blender's would be written to userpref.blend, in clear.
_token = ""


def _get_token(_):
    return _token


def _set_token(_, value):
    global _token
    _token = value


def _changed(self, _context):
    if RUNNING is not None:
        RUNNING.apply(settings_of(self))


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
    url: StringProperty(
        name="Server URL",
        description="Host URL of service-cli serve; empty: found by itself",
        default="",
    )
    token: StringProperty(
        name="Token",
        description="Host token; only with a URL of your own. It is not saved",
        subtype="PASSWORD",
        get=_get_token,
        set=_set_token,
    )
    registry_dir: StringProperty(
        name="State directory",
        description="The --registry-dir of service-cli serve; empty: its default",
        default="",
    )
    detail: EnumProperty(
        name="Detail",
        items=[
            ("skeleton", "Skeleton", "Names, types, parents, visibility"),
            ("standard", "Standard", "And location, rotation, scale"),
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
        description="The rendered image files, as artefacts",
        default=False,
        update=_changed,
    )

    def draw(self, context):
        draw_lines(self.layout, draw_state(self.layout), context)
        column = self.layout.column()
        column.prop(self, "connect_on_startup")
        column.prop(self, "url")
        column.prop(self, "token")
        column.prop(self, "registry_dir")
        column.prop(self, "detail")
        box = self.layout.box()
        box.label(text="Shared with AI clients while connected:")
        for name in ("scene", "objects", "picture", "actions", "console", "renders"):
            box.prop(self, "share_" + name)


def draw_state(layout):
    """The state and the one main button, always in the same places; returns the StatusView."""
    session = RUNNING.session if RUNNING is not None else None
    if session is None:
        status, note = (None, "") if RUNNING is None else (RUNNING.last_status, RUNNING.note)
        view = status_view.status_view(status, note=note)
    else:
        link = session.link
        view = status_view.status_view(
            link.status(), session.failure, link.pictured_at, RUNNING.note, session.settings.scene
        )
    row = layout.row()
    row.alert = view.failed
    row.label(text=view.title, icon=view.icon)
    button = layout.row()
    button.scale_y = 1.4
    if session is None or view.failed:
        button.operator("service_cli.connect", icon="LINKED")
    else:
        button.operator("service_cli.disconnect", icon="UNLINKED")
    return view


def draw_lines(layout, view, context):
    column = layout.column(align=True)
    column.scale_y = 0.8
    for line in view.lines:
        scale = context.preferences.system.ui_scale
        for part in status_view.wrapped(line, context.region.width, scale):
            column.label(text=part)


def settings_of(preferences):
    return Settings(
        url=preferences.url,
        token=_token if preferences.url else "",  # of the server at that address alone
        registry_dir=preferences.registry_dir,
        detail=preferences.detail,
        scene=preferences.share_scene,
        objects=preferences.share_objects,
        picture=preferences.share_picture,
        actions=preferences.share_actions,
        console=preferences.share_console,
        renders=preferences.share_renders,
    )


def current():
    """The preferences; None while Blender has not made them yet."""
    addon = bpy.context.preferences.addons.get(PACKAGE)
    return addon.preferences if addon is not None else None
