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


_turns = {"depth": 0, "ms": []}


def time_turns():
    """From now on, what each turn of the add-on takes of the main thread."""
    session = sys.modules[harness.ADDON + ".preferences"].RUNNING.session

    def timed(method):
        def call(*arguments):
            before = time.thread_time()
            _turns["depth"] += 1
            try:
                return method(*arguments)
            finally:
                _turns["depth"] -= 1
                if not _turns["depth"]:
                    _turns["ms"].append((time.thread_time() - before) * 1000)

        return call

    if session is not None:
        for name in ("tick", "changed", "frame_changed", "happened", "mark"):
            setattr(session, name, timed(getattr(session, name)))


def turns():
    """Milliseconds of each turn since the last time this was asked."""
    took = _turns["ms"]
    _turns["ms"] = []
    return took


_seen = {"reported": [], "turned": []}


def watch_blender():
    """From now on, when Blender reports changes, to this before the add-on, and when its main loop
    turns again after that: it has drawn by then."""
    def turned():
        _seen["turned"].append(time.time() * 1000)

    def report(*_):
        _seen["reported"].append(time.time() * 1000)
        if not bpy.app.background:
            bpy.app.timers.register(turned, first_interval=0)

    bpy.app.handlers.depsgraph_update_post.insert(0, report)


def seen():
    """Times in milliseconds since the last time this was asked."""
    found = {name: list(times) for name, times in _seen.items()}
    for times in _seen.values():
        del times[:]
    return found


def change(kind, number):
    """To the scene of `many`, as artists do."""
    item = bpy.data.objects["Object%05d" % (100 + int(number))]
    if kind == "select":
        for each in bpy.context.scene.objects:
            each.select_set(int(number) % 2 == 0)
    elif kind == "hide":
        item.hide_set(True)
    elif kind == "reparent":
        item.parent = bpy.data.objects["Cube"]
    elif kind == "add":
        harness.add("Added%s" % number, item.data)
    elif kind == "remove":
        bpy.data.objects.remove(bpy.data.objects["Object%05d" % (200 + int(number))])


_playing = {}


def play():
    """Begins, and counts frames, and what the add-on takes of the main thread."""
    _playing.update(frames=0, began=time.monotonic())

    def frame(*_):
        _playing["frames"] += 1

    time_turns()
    turns()
    _playing["handler"] = frame
    bpy.app.handlers.frame_change_post.append(frame)
    toggle_playback()


def stop_playing():
    toggle_playback()
    bpy.app.handlers.frame_change_post.remove(_playing["handler"])
    seconds = time.monotonic() - _playing["began"]
    ours = sum(turns())
    return {"fps": _playing["frames"] / seconds, "share": ours / 1000 / seconds,
            "ms": ours / max(_playing["frames"], 1)}


def toggle_playback():
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.screen.animation_play()


def varied(count):
    """A shot of so many objects, of many kinds and in nested collections; returns its facts.

    They come from what is made here, so that they are a check of the add-on's snapshot.
    """
    scene, layer = bpy.context.scene, bpy.context.view_layer
    bpy.ops.object.select_all(action="DESELECT")
    bpy.data.objects["Light"].hide_viewport = True
    hidden, selected, collections = ["Light"], [], [scene.collection]
    for name in ("Set", "Props", "Backstage"):
        collections.append(bpy.data.collections.new(name))
        collections[-2].children.link(collections[-1])
    collections[-1].hide_viewport = True
    plank = bpy.data.meshes.new("Plank")
    plank.from_pydata([(0, 0, 0), (2, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    rig = harness.add("Camera rig")
    rig.location = (0, 0, 2)
    bpy.data.objects["Camera"].parent = rig
    made = (
        ("Küchenstuhl, Lehne", lambda: plank),
        ("Lamp", lambda: bpy.data.lights.new("Lamp", "AREA")),
        ("Cable", lambda: bpy.data.curves.new("Cable", "CURVE")),
        ("Label", lambda: bpy.data.curves.new("Label", "FONT")),
        ("Handle", lambda: None),
    )
    for index in range(int(count) - len(scene.objects)):
        kind, data = made[index % 10 if index % 10 < len(made) else 0]
        item = bpy.data.objects.new("%s.%04d" % (kind, index), data())
        place = 3 if index % 8 == 5 else index % 3
        collections[place].objects.link(item)
        item.location = (index % 40, index // 40, 0)
        item.parent = rig if index % 9 == 0 else None
        if place == 3:
            hidden.append(item.name)
        elif index % 12 == 7:
            item.hide_set(True)
            hidden.append(item.name)
        elif index % 25 == 3:
            item.select_set(True)
            selected.append(item.name)
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.render.resolution_percentage = 10
    layer.update()
    camera = [round(value, 3) for value in scene.camera.matrix_world.translation]
    return {"hidden": hidden, "selected": selected, "camera": camera}


def is_told():
    """The server has all of it."""
    session = sys.modules[harness.ADDON + ".preferences"].RUNNING.session
    return session.settled and session.link.scene_settled


def time_shots(count):
    """Milliseconds of each of so many pictures of 1024 x 576 from elsewhere: what Blender takes to
    draw and read back, what the add-on takes of the main thread beside it, what packing takes."""
    pictures = sys.modules[harness.ADDON + ".pictures"]
    drawn, spent = pictures._drawn, {"draw": [], "ours": [], "pack": []}

    def timed(*arguments):
        began = time.perf_counter(), time.thread_time()
        try:
            return drawn(*arguments)
        finally:
            spent["draw"].append((time.perf_counter() - began[0]) * 1000)
            spent["ours"].append((began[1] - time.thread_time()) * 1000)

    pictures._drawn = timed
    try:
        shot = {"of": ["Cube"], "from": "three-quarter"}
        view = pictures.take("viewport", 1024, 1 << 23, shot).view
        shot = {"view": dict(view, width=1024, height=576)}
        for kind in spent.values():
            del kind[:]
        for _ in range(int(count)):
            began = time.thread_time()
            picture = pictures.take("viewport", 1024, 1 << 23, shot)
            spent["ours"][-1] += (time.thread_time() - began) * 1000
            began = time.perf_counter()
            picture.png()
            spent["pack"].append((time.perf_counter() - began) * 1000)
    finally:
        pictures._drawn = drawn
    return spent


def cpu():
    """Milliseconds of all threads of this Blender, user and system."""
    return time.process_time() * 1000
