"""Shows AI clients what is open in Blender, through a running `service-cli serve`."""

bl_info = {
    "name": "service-cli link",
    "author": "service-cli",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > AI Link; Preferences > Add-ons",
    "description": "Shows AI clients the open scene, through a running service-cli serve",
    "category": "System",
}

import os
import sys
import traceback

if "bpy" in locals():
    # Reload Scripts runs this file again and would keep the old modules: start from the files.
    for _name in [name for name in sys.modules if name.startswith(__package__ + ".")]:
        del sys.modules[_name]
        globals().pop(_name.rpartition(".")[2], None)

import bpy

from . import note_panel, note_pins, notes, panels, preferences, sharing
from .running import Running
from .server import Server

CLASSES = (preferences.ServiceCliPreferences,) + sharing.CLASSES + notes.CLASSES + panels.CLASSES
CLASSES += note_panel.CLASSES


# Blender has just disabled every add-on, and this link was up. It does so when it quits, and when
# it reads its preferences or a template: then it registers those again that are in the preferences.
_interrupted = None
RESET = "Blender reset its preferences, which disables the add-on"
RESET_SECONDS = 0.5
SERVER = Server()


def pump():
    """Background mode: call it in your script's own loop, and once after the last change."""
    if preferences.RUNNING is not None:
        preferences.RUNNING.pump()
    else:
        _take_back()


def flush(timeout=5.0):
    """For scripts: pumps until the server has everything. False when it had not in time."""
    return preferences.RUNNING is not None and preferences.RUNNING.flush(timeout)


def register():
    global _interrupted
    for each in CLASSES:
        bpy.utils.register_class(each)
    for menu in _object_menus():
        menu.append(notes.draw_menu)
    note_panel.register()
    note_pins.register()
    preferences.RUNNING = Running(SERVER)
    was_linked, _interrupted = _interrupted is not None, None
    if was_linked or _asked_for():
        preferences.RUNNING.connect(preferences.settings_now())


def unregister():
    global _interrupted
    running, preferences.RUNNING = preferences.RUNNING, None
    if running is not None and running.session is not None:
        if _all_are_disabled():
            _interrupted = running.session.link
            running.disconnect("quit", clear=False)
            # When Blender quits, no timer runs any more.
            bpy.app.timers.register(_take_back, first_interval=RESET_SECONDS, persistent=True)
        else:
            running.disconnect("the add-on was switched off")
            SERVER.stop()
    for menu in _object_menus():
        menu.remove(notes.draw_menu)
    note_pins.unregister()
    note_panel.unregister()
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)


def _object_menus():
    """Where the search of Blender finds it, too."""
    return bpy.types.VIEW3D_MT_object, bpy.types.VIEW3D_MT_object_context_menu


def _take_back():
    """The add-on is not in the preferences that Blender has read: clients are told why its scene goes."""
    global _interrupted
    link, _interrupted = _interrupted, None
    if link is not None:
        link.start()
        link.stop(RESET, clear=True)


def _all_are_disabled():
    """Blender tells add-ons in no other way that it quits or reads its preferences."""
    return any(frame.f_code.co_name == "disable_all" for frame, _ in traceback.walk_stack(None))


def _asked_for():
    """Connects by itself only with the check box, or with both variables set for this run."""
    if os.environ.get("SERVICE_HOST_URL") and os.environ.get("SERVICE_HOST_TOKEN"):
        return True
    chosen = preferences.current()
    return chosen is not None and chosen.connect_on_startup
