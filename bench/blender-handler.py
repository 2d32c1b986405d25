"""What the add-on takes of Blender's main thread: for one moved object, and at each tick while it
reads everything again. By its CPU clock.

Run by `node bench/blender.ts`, in a Blender with the add-on.
"""

import json
import os
import sys
import time

import bpy

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "test", "adapters", "blender"))
import harness

harness.enable()
MOVES = 200


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure(count):
    harness.empty_scene()
    mesh = bpy.data.meshes.new("Shared")
    for number in range(count):
        harness.add("Prop.%d" % number, mesh)
    clock = harness.Clock()
    session = harness.session(clock)
    handlers = bpy.app.handlers.depsgraph_update_post
    handler, took = handlers[-1], []

    def timed(*arguments):
        before = time.thread_time()
        handler(*arguments)
        took.append((time.thread_time() - before) * 1000)

    for _ in range(3):
        clock.now += 2
        session.tick()
    handlers[-1] = timed
    item = bpy.context.scene.objects[0]
    before = len(session.link.patches)
    del took[:]
    for number in range(MOVES):
        clock.now += 0.1
        item.location.x = number + 1
        bpy.context.view_layer.update()
    told = len(session.link.patches) - before
    largest = max(len(json.dumps(patch)) for patch in session.link.patches[before:])
    handlers[-1] = handler
    session.stop("done")
    return "| %d | %.2f | %.2f | %d of %d | %d |" % (
        count, quantile(took, 0.5), quantile(took, 0.95), told, MOVES, largest)


def measure_scan():
    """Of the scene that `measure` left."""
    session = harness.session(time.monotonic)
    while not session.settled:
        session.tick()
        time.sleep(0.01)
    session.mark()
    took = []
    while not session.settled or len(took) < 2:
        before = time.thread_time()
        session._look()
        session._watch.tick(False)
        took.append((time.thread_time() - before) * 1000)
        time.sleep(0.01)
    session.stop("done")
    return took


print("| objects | CPU ms of the handler, p50 | p95 | told | bytes of a patch, at most | reading everything: ticks | CPU ms of one, p95 | longest |")
print("|---:|---:|---:|---:|---:|---:|---:|---:|")
for count in (50, 2000, 10000, 50000):
    row = measure(count)
    took = measure_scan()
    print("%s %d | %.2f | %.2f |" % (row, len(took), quantile(took, 0.95), max(took)), flush=True)
