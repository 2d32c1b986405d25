"""Does in Blender what it is told on standard input, one word a line, and says when.

With a window the add-on's own timer keeps the link going; in background mode the loop here does.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

import bpy
import mathutils

sys.path.insert(0, os.path.dirname(__file__))
import harness

service_cli_link = harness.enable()
bpy.context.preferences.view.show_splash = False
FOLDER, *FILES_OF_WORDS = sys.argv[sys.argv.index("--") + 1 :]
PATH = os.path.join(FOLDER, "shot.blend")
lines = queue.Queue()


def move():
    bpy.data.objects["Cube"].location.x += 1.0


def add():
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.object.empty_add(location=(0, 0, 5))
    bpy.ops.ed.undo_push(message="added")


def step(name, *words):
    """What a person does in the 3D view, with its undo step."""
    with in_view():
        STEPS[name](*words)
        bpy.ops.ed.undo_push(message=name)


def only(*names):
    """Selects these; the first one is the active one."""
    for each in bpy.context.scene.objects:
        each.select_set(each.name in names)
    bpy.context.view_layer.objects.active = bpy.data.objects[names[0]]


def delete_(name):
    only(name)
    bpy.ops.object.delete()


def rename_(name, new, by=0):
    item = bpy.data.objects[name]
    item.name = new
    item.location.x += float(by)


def duplicate(name):
    only(name)
    bpy.ops.object.duplicate()


def join(name, other):
    only(name, other)
    bpy.ops.object.join()


def separate(name):
    only(name)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.separate(type="LOOSE")
    bpy.ops.object.mode_set(mode="OBJECT")


def paint(name):
    material = bpy.data.objects[name].data.materials[0]
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (1, 0, 0, 1)


def bevel(name):
    bpy.data.objects[name].modifiers.new("Bevel", "BEVEL")


def subdivide(name):
    only(name)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")


STEPS = {"select": only, "delete": delete_, "rename": rename_, "duplicate": duplicate, "join": join,
         "separate": separate, "paint": paint, "bevel": bevel, "subdivide": subdivide}


def start_server(program):
    preferences().program = program
    bpy.ops.service_cli.start_server()


def clients():
    """What the panel shows of them, and says below."""
    lines = sys.modules[harness.ADDON + ".panels"].client_lines(running().session.link.clients)
    return {"lines": lines, "note": running().note, "failure": running().server.failure}


def reset():
    """A cube, a light and a camera, in a document that was never saved; linked."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    if not WORDS["is_connected"]():
        bpy.ops.service_cli.connect()


def operate():
    """As a person does it in the 3D view: such operators get into the history."""
    with in_view():
        bpy.ops.object.select_all("EXEC_DEFAULT", True, action="SELECT")
        bpy.ops.transform.translate("EXEC_DEFAULT", True, value=(0, 0, 2))


def operate_often():
    """As scripts do, while the link's thread is at work on what they print and change."""
    for round in range(200):
        print("\n".join("round %d, line %d" % (round, line) for line in range(300)))
        bpy.data.objects["Cube"].location.x += 1.0
        bpy.context.view_layer.update()
        operate()


def render_job():
    """On a thread of its own, as from the menu; shared when it is done."""
    bpy.context.preferences.addons[harness.ADDON].preferences.share_renders = True
    harness.prepare_render(os.path.join(FOLDER, "job_"))
    bpy.context.scene.frame_end = 3
    bpy.context.preferences.view.render_display_type = "NONE"
    # A job without a window works on after its memory is freed.
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.render.render("INVOKE_DEFAULT", animation=True)


def pictured():
    """What the panel says of pictures, and when that was, in milliseconds."""
    session = running().session
    status_words = sys.modules[harness.ADDON + ".service_host_link"].status_words
    at = session.link.pictured_at
    lines = status_words(session.link.status(), True, at).lines
    return {"at": at and at * 1000, "lines": [each for each in lines if each.startswith("Picture")]}


def many(count=10000):
    """So many objects in all."""
    mesh = bpy.data.meshes.new("Many")
    for index in range(int(count) - len(bpy.context.scene.objects)):
        harness.add("Object%05d" % index, mesh)


def preferences():
    return bpy.context.preferences.addons[harness.ADDON].preferences


def traces():
    """What a picture must leave as it was."""
    scene = bpy.context.scene
    left = [name for name in os.listdir(tempfile.gettempdir()) if "service-cli-picture" in name]
    return {
        "datablocks": sorted(str(each.name_full) for each in bpy.data.user_map()),
        "dirty": bpy.data.is_dirty,
        "view": [list(row) for row in view_area().spaces.active.region_3d.view_matrix],
        "overlays": view_area().spaces.active.overlay.show_overlays,
        "operators": len(bpy.context.window_manager.operators),
        "selected": [item.name for item in bpy.context.selected_objects],
        "active": getattr(bpy.context.active_object, "name", None),
        "format": scene.render.image_settings.file_format,
        "resolution": [scene.render.resolution_x, scene.render.resolution_y],
        "threads": len([each for each in threading.enumerate() if "picture" in each.name]),
        "files": left,
    }


def orbit():
    """As a person does who looks at the scene from somewhere else."""
    view = view_area().spaces.active.region_3d
    view.view_rotation.rotate(mathutils.Euler((0.0, 0.0, 0.5)))
    view.update()


def note():
    """By the operator, on the cube, as a script would; the dialog gives it the same text."""
    for each in bpy.context.selected_objects:
        each.select_set(False)
    bpy.data.objects["Cube"].select_set(True)
    with in_view():
        bpy.ops.service_cli.note_on_selection(text="The cube is too low")


_dialog = {"draws": 0, "text": None}


def watch_dialog():
    """Keys begin notes, as menus do; what the dialog shows is noted."""
    written = sys.modules[harness.ADDON + ".notes"]._Written
    draw = written.draw

    def watched(self, context):
        _dialog.update(draws=_dialog["draws"] + 1, text=self.text)
        draw(self, context)

    written.draw = watched
    keys = bpy.context.window_manager.keyconfigs.addon.keymaps.new("3D View", space_type="VIEW_3D")
    keys.keymap_items.new("service_cli.note_on_selection", "F6", "PRESS")
    keys.keymap_items.new("service_cli.note_at_point", "F7", "PRESS")


def press(*words):
    """Keys or a click with the mouse over the middle of the 3D view: words of xdotool."""
    region = view_region()
    x, y = region.x + region.width // 2, region.y + region.height // 2
    top = bpy.context.window_manager.windows[0].height - y
    subprocess.run(["xdotool", "mousemove", "--window", window_id(), str(x), str(top)], check=True)
    subprocess.Popen(["xdotool"] + list(words))


def raise_cube_and_box():
    """One metre each; by the script of an agent with hands."""
    for name in ("Cube", "Box"):
        bpy.data.objects[name].location.z += 1.0


def raise_cube_and_light():
    bpy.data.objects["Cube"].location.z += 1.0
    bpy.data.objects["Light"].location.x -= 2.0


def notes():
    """What the panel shows of each."""
    module = sys.modules[harness.ADDON + ".notes"]
    panel = sys.modules[harness.ADDON + ".note_panel"]
    pins = sys.modules[harness.ADDON + ".note_pins"]
    shown, folder = module.all_shown()
    return {
        "states": [each["state"] for each in shown],
        "lines": [sum(panel.note_blocks(each, module.name_now), []) for each in shown],
        "pins": [number for number, _, _ in pins.pins(shown)],
        "folder": folder,
        "none": module.why_none(),
        "running": running().note,
    }


def window_id():
    found = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--pid", str(os.getpid())],
        stdout=subprocess.PIPE,
    )
    return found.stdout.decode("ascii").split()[0]


def outside():
    """What somebody else sees of the window: outside.png."""
    path = os.path.join(FOLDER, "outside.png")
    subprocess.run(["import", "-window", window_id(), path], check=True)


_panel = {"draws": 0}


def panel_draws():
    """How often the add-on's panel was drawn to its end, in the tab that the sidebar opens with."""
    if not _panel["draws"] and not view_area().spaces.active.show_region_ui:
        panel = bpy.types.SERVICE_CLI_PT_sidebar
        bpy.utils.unregister_class(panel)
        draw = panel.draw

        def watched(self, context):
            draw(self, context)
            _panel["draws"] += 1

        panel.draw, panel.bl_category = watched, "Item"
        bpy.utils.register_class(panel)
        view_area().spaces.active.show_region_ui = True
    view_area().tag_redraw()
    return _panel["draws"]


def view_area():
    screen = bpy.context.window_manager.windows[0].screen
    return next(each for each in screen.areas if each.type == "VIEW_3D")


def view_region():
    return next(each for each in view_area().regions if each.type == "WINDOW")


def in_view():
    """The context that operators of the 3D view have there."""
    window = bpy.context.window_manager.windows[0]
    return bpy.context.temp_override(window=window, area=view_area(), region=view_region())



_covers = []


def cover():
    """Another program's window lies over all of Blender's."""
    # The pattern of xlogo is black and white, Blender's window is neither.
    _covers.append(subprocess.Popen(["xlogo", "-geometry", "900x600+0+0"]))
    subprocess.run(["xdotool", "search", "--sync", "--onlyvisible", "--class", "xlogo"], check=True)
    time.sleep(0.5)


def uncover():
    cover = _covers.pop()
    cover.kill()
    cover.wait()


def modal():
    """The cube hangs at the mouse, as after pressing G; Blender waits for a click."""
    with in_view():
        bpy.ops.transform.translate("INVOKE_DEFAULT")


def press_escape():
    subprocess.run(["xdotool", "key", "--window", window_id(), "Escape"], check=True)


def render_long():
    """As a job, for some seconds."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 4096
    scene.cycles.use_adaptive_sampling = False
    scene.cycles.use_denoising = False
    scene.render.resolution_x = scene.render.resolution_y = 128
    bpy.context.preferences.view.render_display_type = "NONE"
    bpy.ops.render.render("INVOKE_DEFAULT")


def running():
    return sys.modules[harness.ADDON + ".preferences"].RUNNING


def shown():
    """The notes as the server told of them."""
    return sys.modules[harness.ADDON + ".notes"].all_shown()[0]


def save_as(name, **more):
    bpy.ops.wm.save_as_mainfile(filepath=os.path.join(FOLDER, name), **more)


def look_at_cube():
    """The middle of the 3D view is the middle of the cube, which is not selected."""
    bpy.ops.object.select_all(action="DESELECT")
    view_area().spaces.active.region_3d.view_location = bpy.data.objects["Cube"].location


def add_box():
    """A second mesh, in view and beside the cube."""
    bpy.ops.mesh.primitive_cube_add(size=1, location=(3, -2, 0))
    bpy.context.object.name = "Box"


# What takes one line.
WORDS = {
    "connect": lambda: bpy.ops.service_cli.connect(),
    "disconnect": lambda: bpy.ops.service_cli.disconnect(),
    "is_connected": lambda: running().session is not None and running().session.link.connected,
    "enable": lambda: harness.enable() and None,
    "set_up": lambda client: bpy.ops.service_cli.set_up_client(client=client, write=True),
    "share_picture": lambda shares: setattr(preferences(), "share_picture", shares == "on"),
    "share_scene": lambda shares: setattr(preferences(), "share_scene", shares == "on"),
    "share": lambda: bpy.ops.service_cli.share_render(),
    "share_document": lambda: bpy.ops.service_cli.share_document(),
    "accept_note": lambda: bpy.ops.service_cli.settle_note(note=shown()[0]["id"], action="accept"),
    "console_uri": lambda: "events://session/" + running().session.console.session_id,
    "dialog": lambda: _dialog,
    "new": lambda: bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False),
    "factory_settings": lambda: bpy.ops.wm.read_factory_settings(),
    "load": lambda: bpy.ops.wm.open_mainfile(filepath=PATH),
    "save": lambda: bpy.ops.wm.save_as_mainfile(filepath=PATH),
    "save_as": lambda: save_as("other.blend"),
    "save_copy": lambda: save_as("copy.blend", copy=True),
    "is_modified": lambda: bpy.data.is_dirty,
    "undo": lambda: bpy.ops.ed.undo(),
    "move_back": lambda: setattr(bpy.data.objects["Cube"].location, "x", 1.0),
    "rename": lambda: setattr(bpy.data.objects["Cube"], "name", "Hero"),
    "dim": lambda energy: setattr(bpy.data.lights["Light"], "energy", float(energy)),
    "place_of": lambda name: list(bpy.data.objects[name].matrix_world.translation),
    "render": lambda: harness.render(os.path.join(FOLDER, "still.png")),
    "is_rendering": lambda: bpy.app.is_job_running("RENDER"),
    "talk": lambda: print("a line of a script"),
    "freeze": lambda: time.sleep(6.0),  # longer than a read waits
}


def say(**members):
    print("@" + json.dumps(members), file=sys.__stdout__, flush=True)


def obey():
    """False when it is time to go."""
    while True:
        try:
            word = lines.get_nowait()
        except queue.Empty:
            return True
        if word == "quit":
            return False
        began = time.time()
        name, *arguments = word.split()
        found = (WORDS.get(name) or globals()[name])(*arguments)
        found = None if isinstance(found, set) else found  # of an operator
        say(did=word, at=began * 1000, found=found)


def listen():
    for line in sys.stdin:
        lines.put(line.strip())
    lines.put("quit")


def tick():
    try:
        if obey():
            return 0.01
    except Exception:
        import traceback

        traceback.print_exc(file=sys.__stderr__)
        say(failed=True)
    bpy.ops.wm.quit_blender()
    return None


for path in FILES_OF_WORDS:
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"))
threading.Thread(target=listen, daemon=True).start()
say(ready=True)
if bpy.app.background:
    while obey():
        service_cli_link.pump()
        time.sleep(0.005)
else:
    bpy.app.timers.register(tick, persistent=True)
