"""Feeds a running `service-cli serve` from inside Blender, by plain POST.

    blender -b --factory-startup --python-exit-code 7 --python post-scene.py -- FOLDER

SERVICE_HOST_URL and SERVICE_HOST_TOKEN say where the server is. Posts a scene, waits for the line
"move" on standard input, moves an object and posts the rest. Python 3.7 syntax, standard library.
"""

import hashlib
import json
import os
import select
import sys
import urllib.parse
import urllib.request

import bpy

WAIT_SECONDS = 60
SESSION_ID = "blender-session"


def post(path, data, content_type="application/json"):
    request = urllib.request.Request(
        os.environ["SERVICE_HOST_URL"] + "/v1/" + path,
        data=data,
        method="POST",
        headers={
            "Authorization": "Bearer " + os.environ["SERVICE_HOST_TOKEN"],
            "Content-Type": content_type,
        },
    )
    # Proxy settings of the user are not meant for this machine itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return json.loads(answer.read().decode("utf-8"))


def post_json(path, value):
    return post(path, json.dumps(value, allow_nan=False).encode("utf-8"))


def post_file(path, mime):
    with open(path, "rb") as file:
        data = file.read()
    query = urllib.parse.urlencode(
        {
            "display_name": os.path.basename(path),
            "session_id": SESSION_ID,
            "metadata": json.dumps({"frame": bpy.context.scene.frame_current}),
        }
    )
    answer = post("artefacts?" + query, data, mime)
    return {
        "uri": answer["uri"],
        "existed": answer["existed"],
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }


def rounded(vector):
    return [round(component, 6) for component in vector]


def snapshot():
    scene = bpy.context.scene
    return {
        "schema": "dcc-scene/1",
        "dcc": {
            "type": "blender",
            "version": bpy.app.version_string,
            "pid": os.getpid(),
            "mode": "background" if bpy.app.background else "gui",
        },
        "scene": {"name": scene.name},
        "objects": [
            {
                "id": item.name_full,
                "name": item.name,
                "type": item.type.lower(),
                "parent": item.parent.name_full if item.parent else None,
                "location": rounded(item.location),
                "world_location": rounded(item.matrix_world.translation),
            }
            for item in scene.objects
        ],
    }


def wait_for(word):
    readable, _, _ = select.select([sys.stdin], [], [], WAIT_SECONDS)
    line = sys.stdin.readline().strip() if readable else "nothing"
    if line != word:
        raise RuntimeError("expected %r on standard input, got %r" % (word, line))


def build():
    rig = bpy.data.objects.new("Rig", None)
    bpy.context.scene.collection.objects.link(rig)
    cube = bpy.data.objects["Cube"]
    cube.parent = rig
    cube.location = (0.5, 0.0, 0.0)
    rig.location = (1.0, 2.0, 3.0)
    bpy.context.view_layer.update()
    return rig


def render(path):
    scene = bpy.context.scene
    # The only engine that needs no graphics card.
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.cycles.use_denoising = False
    scene.render.resolution_x = 32
    scene.render.resolution_y = 24
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = path
    bpy.ops.render.render(write_still=True)


def main():
    folder = sys.argv[sys.argv.index("--") + 1]
    rig = build()
    first = post_json("scene", snapshot())
    wait_for("move")

    rig.location.z += 4.0
    bpy.context.view_layer.update()
    second = post_json("scene", snapshot())
    post_json(
        "audit",
        {
            "records": [
                {
                    "action": "object.move",
                    "actor": "artist",
                    "params": {"object": rig.name, "delta": [0, 0, 4]},
                    "duration_ms": 1.5,
                    "session_id": SESSION_ID,
                }
            ]
        },
    )
    image = os.path.join(folder, "still.png")
    document = os.path.join(folder, "scene.blend")
    render(image)
    bpy.ops.wm.save_as_mainfile(filepath=document)
    messages = ["moved " + rig.name, "rendered still.png", "saved scene.blend"]
    events = post_json(
        "events/" + SESSION_ID,
        {
            "events": [
                {
                    "source": "blender",
                    "stream": "script",
                    "level": "info",
                    "message": message,
                    "tool_call_id": "call-1",
                    "correlation_id": "shot-10",
                }
                for message in messages
            ]
        },
    )
    report = {
        "revisions": [first["revision"], second["revision"]],
        "next_cursor": events["next_cursor"],
        "image": post_file(image, "image/png"),
        "document": post_file(document, "application/x-blender"),
    }
    with open(os.path.join(folder, "report.json"), "w") as file:
        json.dump(report, file)


main()
