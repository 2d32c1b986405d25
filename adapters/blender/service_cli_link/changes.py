"""Blender's own notices of what happened, as calls on one listener."""

import threading
from itertools import islice

import bpy
from bpy.app.handlers import persistent

MAX_TOUCHED = 256
# More objects are read together, when there is time.
MAX_MOVED = 16


class Changes:
    """Installs handlers that survive the opening of another file, and takes every one back.

    The listener has `changed(names, moved)`, `happened(action)`, `render_began()` and
    `render_ended(action)`. `moved` has the objects when they moved and nothing else changed; it is
    None when anything may have changed, and must not be kept.
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
        def frame_change_post(*_):
            if _on_main_thread():
                listener.changed((), None)
            else:
                listener.mark()

        self._add("depsgraph_update_post", depsgraph_update_post)
        self._add("frame_change_post", frame_change_post)
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
    """(names of objects that changed, the objects when they only moved): references die soon."""
    if depsgraph is None:
        return (), None
    names, moved = [], []
    for update in islice(depsgraph.updates, MAX_TOUCHED):
        item = update.id
        if not isinstance(item, bpy.types.Object):
            moved = None
            continue
        names.append(item.name_full)
        only_moved = update.is_updated_transform and not (
            update.is_updated_geometry or update.is_updated_shading)
        if moved is not None and only_moved and len(moved) < MAX_MOVED:
            moved.append(item.original)
        else:
            moved = None
    # An empty list is no news of nothing: hidden objects change without being named.
    return names, moved or None
