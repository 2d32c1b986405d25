"""Blender's own notices of what happened, as calls on one listener."""

import threading
from itertools import islice

import bpy
from bpy.app.handlers import persistent

from .scene_reader import EVERYTHING, MEMBERS, NAMES
from .values import name_of

# More are not named one by one.
MAX_TOUCHED = 256


class Changes:
    """Installs handlers that survive the opening of another file, and takes every one back.

    The listener has `changed(items, look)`, `frame_changed(touched)`, `identities`, `saves()`,
    `happened(action)`, `mark()`, `render_began()` and `render_ended(action)`. `items` are objects by
    name and `look` says what else may have changed; `touched()` returns both.
    Handlers of a render, and those that fire while one runs, may be called on the render's own
    thread, where Blender's data must not be touched: there only `mark()` and the render calls are made.
    """

    def __init__(self, listener):
        self._listener = listener
        self._installed = []

    def install(self):
        listener = self._listener

        def changed(_scene=None, depsgraph=None, *_):
            if threading.current_thread() is threading.main_thread():
                listener.changed(*_touched(depsgraph))
            else:
                listener.mark()

        def frame_changed(_scene=None, depsgraph=None, *_):
            if threading.current_thread() is threading.main_thread():
                listener.frame_changed(lambda: _touched(depsgraph, True))
            else:
                listener.mark()

        self._add("depsgraph_update_post", changed)
        self._add("frame_change_post", frame_changed)
        self._tell("save_pre", listener.saves)
        for name in ("undo", "redo"):
            self._tell(name + "_pre", listener.identities.undoes)
            self._tell(name + "_post", listener.identities.undone)
            self._tell(name + "_post", listener.happened, "edit." + name)
        self._tell("load_post", listener.happened, "file.load")
        self._tell("save_post", listener.happened, "file.save")
        self._tell("render_init", listener.render_began)
        self._tell("render_complete", listener.render_ended, "render.complete")
        self._tell("render_cancel", listener.render_ended, "render.cancel")

    def remove(self):
        for name, handler in self._installed:
            handlers = getattr(bpy.app.handlers, name)
            if handler in handlers:
                handlers.remove(handler)
        self._installed = []

    def _tell(self, name, method, *known):
        self._add(name, lambda *_: method(*known))

    def _add(self, name, handler):
        getattr(bpy.app.handlers, name).append(persistent(handler))
        self._installed.append((name, handler))


def _touched(depsgraph, is_frame=False):
    """(objects by name that changed, what else may have). `is_frame`: of another frame."""
    if depsgraph is None:
        return {}, EVERYTHING
    items, look, count = {}, 0, 0
    for update in islice(depsgraph.updates, MAX_TOUCHED):
        count += 1
        item = update.id
        if isinstance(item, bpy.types.Object):
            items[name_of(item)] = item.original
        elif isinstance(item, bpy.types.Collection) or (
                # It has a flag where objects came or went, and none where they are selected or shown.
                isinstance(item, bpy.types.Scene) and (update.is_updated_geometry or not is_frame)):
            look = NAMES
        else:
            look = max(look, MEMBERS)
    if count == MAX_TOUCHED:
        return {}, EVERYTHING
    # An empty list may still mean a change: hidden objects are not named. They are found when
    # everything is read once more.
    return items, look if count else MEMBERS
