"""What the measurements tell Blender beside the words of the tests: read by remote.py."""

import sys
import time

import bpy
import harness

_inside, _reported = [], []
_playing = {}


def _timed(method, spent):
    """Adds the CPU milliseconds of each call; what the add-on calls of itself counts once."""
    def call(*arguments):
        if _inside:
            return method(*arguments)
        _inside.append(method)
        before = time.thread_time()
        try:
            return method(*arguments)
        finally:
            spent.append((time.thread_time() - before) * 1000)
            _inside.clear()

    return call


def cost(count):
    """What the add-on takes of the main thread with so many objects: in its handler, for each move
    of one of them, and at each tick while it reads everything again.
    """
    harness.empty_scene()
    mesh = bpy.data.meshes.new("Shared")
    for number in range(int(count)):
        harness.add("Prop.%d" % number, mesh)
    clock, moves, scan = harness.Clock(), [], []
    session = harness.session(clock)
    for _ in range(3):
        clock.now += 2
        session.tick()
    handlers = bpy.app.handlers.depsgraph_update_post
    handlers[-1], handler = _timed(handlers[-1], moves), handlers[-1]
    for number in range(200):
        clock.now += 0.1
        bpy.context.scene.objects[0].location.x = number + 1
        bpy.context.view_layer.update()
    handlers[-1] = handler
    session.stop("done")

    session = harness.session(time.monotonic)
    while not session.settled:
        session.tick()
        time.sleep(0.01)
    session.mark()
    look = _timed(lambda: (session._look(), session._watch.tick(False)), scan)
    while not session.settled or len(scan) < 2:
        look()
        time.sleep(0.01)
    session.stop("done")
    return {"moves": moves, "scan": scan}


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


def _session():
    return sys.modules[harness.ADDON + ".preferences"].RUNNING.session


def is_told():
    """The server has all of it."""
    return _session().settled and _session().link.scene_settled


def watch_blender():
    """From now on, when Blender reports changes, to this before the add-on."""
    bpy.app.handlers.depsgraph_update_post.insert(
        0, lambda *_: _reported.append(time.time() * 1000))


def seen():
    """Times in milliseconds since the last time this was asked."""
    times = list(_reported)
    _reported.clear()
    return times


def play():
    """Begins, and adds up what the add-on takes of the main thread."""
    _playing.update(spent=[], began=time.monotonic())
    for name in ("tick", "changed", "frame_changed", "happened", "mark"):
        setattr(_session(), name, _timed(getattr(_session(), name), _playing["spent"]))
    _toggle_playback()


def stop_playing():
    """The share of the main thread."""
    _toggle_playback()
    return sum(_playing["spent"]) / 1000 / (time.monotonic() - _playing["began"])


def _toggle_playback():
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.screen.animation_play()
