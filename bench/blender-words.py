"""What the measurements tell Blender beside the words of the tests: read by remote.py."""

import sys
import time

import bpy
import harness


def animate(count):
    """So many objects that move in each of 250 frames, and as many frames a second as there can be."""
    mesh = bpy.data.objects["Cube"].data
    for index in range(int(count)):
        item = harness.add("Mover%05d" % index, mesh)
        item.location = (index % 50, index // 50, 0)
        item.keyframe_insert("location", frame=1)
        item.location.z = 10
        item.keyframe_insert("location", frame=250)
    bpy.context.scene.render.fps = 240


def is_told():
    """The server has all of it."""
    session = sys.modules[harness.ADDON + ".preferences"].RUNNING.session
    return session.settled and session.link.scene_settled


_reported = []


def watch_blender():
    """From now on, when Blender reports changes, to this before the add-on."""
    def report(*_):
        _reported.append(time.time() * 1000)

    bpy.app.handlers.depsgraph_update_post.insert(0, report)


def seen():
    """Times in milliseconds since the last time this was asked."""
    times = list(_reported)
    del _reported[:]
    return times


_playing = {"frames": 0, "ms": 0.0, "depth": 0}


def play():
    """Begins, and counts frames, and what the add-on takes of the main thread."""
    session = sys.modules[harness.ADDON + ".preferences"].RUNNING.session
    if session is not None:
        for name in ("tick", "changed", "frame_changed", "happened", "mark"):
            setattr(session, name, _timed(getattr(session, name)))
    _playing.update(frames=0, ms=0.0, began=time.monotonic())
    bpy.app.handlers.frame_change_post.append(_count_frame)
    _toggle_playback()


def stop_playing():
    _toggle_playback()
    bpy.app.handlers.frame_change_post.remove(_count_frame)
    seconds, frames = time.monotonic() - _playing["began"], max(_playing["frames"], 1)
    return {"fps": frames / seconds, "share": _playing["ms"] / 1000 / seconds,
            "ms": _playing["ms"] / frames}


def _count_frame(*_):
    _playing["frames"] += 1


def _timed(method):
    """One turn of the add-on: what it calls of itself counts once."""
    def call(*arguments):
        before = time.thread_time()
        _playing["depth"] += 1
        try:
            return method(*arguments)
        finally:
            _playing["depth"] -= 1
            if not _playing["depth"]:
                _playing["ms"] += (time.thread_time() - before) * 1000

    return call


def _toggle_playback():
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.screen.animation_play()
