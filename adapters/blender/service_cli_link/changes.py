"""Blender's own notices of what happened, as calls on one listener."""

import threading
from itertools import islice

import bpy
from bpy.app.handlers import persistent

from .scene_reader import EVERYTHING, MANY, NAMES, SELECTION
from .scene_watch import MEMBERS

MAX_TOUCHED = 256


class Changes:
    """Installs handlers that survive the opening of another file, and takes every one back.

    The listener has `changed(items, look)`, `frame_changed(touched)`, `identities`, `saves()`,
    `happened(action)`, `render_began()` and `render_ended(action)`. `items` are objects by name and
    `look` says what else may have changed; `touched()` returns both.
    Handlers of a render, and those that fire while one runs, may be called on the render's own
    thread, where Blender's data must not be touched: there only `mark()` and the render calls are made.
    """

    def __init__(self, listener):
        self._listener = listener
        self._installed = []

    def install(self):
        listener = self._listener

        @persistent
        def depsgraph_update_post(scene, depsgraph=None, *_):
            if _on_main_thread():
                listener.changed(*_touched(depsgraph))
            else:
                listener.mark()

        @persistent
        def frame_change_post(scene=None, depsgraph=None, *_):
            if _on_main_thread():
                listener.frame_changed(lambda: _touched(depsgraph))
            else:
                listener.mark()

        self._add("depsgraph_update_post", depsgraph_update_post)
        self._add("frame_change_post", frame_change_post)
        self._add("save_pre", _telling(listener.saves))
        for name in ("undo", "redo"):
            self._add(name + "_pre", _telling(listener.identities.undoes))
            self._add(name + "_post", _telling(listener.identities.undone))
        for name, action in (
            ("undo_post", "edit.undo"),
            ("redo_post", "edit.redo"),
            ("load_post", "file.load"),
            ("save_post", "file.save"),
        ):
            self._add(name, _telling(listener.happened, action))
        self._add("render_init", _telling(listener.render_began))
        self._add("render_complete", _telling(listener.render_ended, "render.complete"))
        self._add("render_cancel", _telling(listener.render_ended, "render.cancel"))

    def remove(self):
        for name, handler in self._installed:
            handlers = getattr(bpy.app.handlers, name)
            if handler in handlers:
                handlers.remove(handler)
        self._installed = []

    def _add(self, name, handler):
        getattr(bpy.app.handlers, name).append(handler)
        self._installed.append((name, handler))


def _telling(method, *known):
    @persistent
    def handler(*_):
        method(*known)

    return handler


def _on_main_thread():
    return threading.current_thread() is threading.main_thread()


def _touched(depsgraph):
    """(objects by name that changed, what else may have)"""
    if depsgraph is None:
        return {}, EVERYTHING
    items, look, count = {}, None, 0
    for update in islice(depsgraph.updates, MAX_TOUCHED):
        count += 1
        item = update.id
        if isinstance(item, bpy.types.Object):
            items[item.name_full] = item.original
        elif isinstance(item, bpy.types.Collection):
            look = NAMES
        elif isinstance(item, bpy.types.Scene):
            # It has a flag where objects came or went.
            look = NAMES if look == NAMES or update.is_updated_geometry else SELECTION
        else:
            look = look or MEMBERS
    if count == MAX_TOUCHED:
        return items, MANY
    # An empty list may still mean a change: hidden objects are not named. They are found when
    # everything is read once more.
    return items, look if count else MEMBERS
