"""A session notices what happens in Blender and says it once."""

import json
import os
import sys
import threading
import unittest
from contextlib import redirect_stderr
from io import StringIO
from unittest import mock

import bpy
from mathutils import Vector

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
from service_cli_link import preferences, scene_facts
from service_cli_link.service_host_link import Busy, NotFound

FOLDER = sys.argv[sys.argv.index("--") + 1]


class Seen(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()
        self.clock = harness.Clock()
        self.session = harness.session(self.clock)
        self.link = self.session.link
        self.addCleanup(self.session.stop, "test")
        self.tick()

    def tick(self):
        """Time enough for a trailing edge."""
        self.clock.now += 1.0
        self.session.tick()

    def names(self):
        return [each["name"] for each in self.link.scenes()[-1]["objects"]]

    def test_a_notice_without_a_change_is_no_scene(self):
        item = harness.add("Still")
        self.tick()
        before = len(self.link.scenes())
        item.location.x = item.location.x  # Blender reports it all the same
        self.tick()
        self.session.mark()
        self.tick()
        self.assertEqual(len(self.link.scenes()), before)
        item.location.x = 4
        self.tick()
        self.assertEqual(len(self.link.scenes()), before + 1)
        counts = [each["change_count"] for each in self.link.scenes()]
        self.assertEqual(counts, list(range(1, before + 2)))

    def test_many_changes_in_a_row_are_two_scenes(self):
        item = harness.add("Mover")
        self.tick()
        before = len(self.link.scenes())
        self.clock.now += 1.0
        for step in range(1, 51):
            item.location.x = step
            bpy.context.view_layer.update()
        self.tick()
        self.tick()
        self.assertEqual(len(self.link.scenes()) - before, 2)
        self.assertEqual(self.link.scenes()[-1]["objects"][0]["translate"], [50, 0, 0])

    def test_undo_and_redo(self):
        harness.add("Kept")
        bpy.ops.ed.undo_push(message="start")
        bpy.ops.object.empty_add()
        bpy.ops.ed.undo_push(message="added")
        self.tick()
        self.assertEqual(sorted(self.names()), ["Empty", "Kept"])
        bpy.ops.ed.undo()
        self.tick()
        self.assertEqual(self.names(), ["Kept"])
        bpy.ops.ed.redo()
        self.tick()
        self.assertEqual(sorted(self.names()), ["Empty", "Kept"])
        actions = [args[0] for args in self.link.of("record")]
        self.assertEqual([a for a in actions if a.startswith("edit.")], ["edit.undo", "edit.redo"])

    def test_files_that_are_saved_copied_and_loaded(self):
        path, other = (os.path.join(FOLDER, name) for name in ("shot.blend", "other.blend"))
        save = bpy.ops.wm.save_as_mainfile
        done = []
        for step in (
            lambda: save(filepath=other, copy=True),  # of a file that was never saved
            lambda: save(filepath=path),
            lambda: save(filepath=other, copy=True),
            lambda: bpy.ops.wm.save_mainfile(),
            lambda: save(filepath=other),  # Save As
            lambda: save(filepath=other, copy=True),  # of the file itself, over itself
            lambda: bpy.ops.wm.read_homefile(use_empty=True),
            lambda: bpy.ops.wm.open_mainfile(filepath=path),
        ):
            before = len(self.link.of("record"))
            step()
            self.tick()
            done += [args for args in self.link.of("record")[before:] if args[0].startswith("file.")]
            self.assertEqual(self.link.scenes()[-1]["document"].get("path", ""), bpy.data.filepath)
        self.assertEqual(done, [
            ("file.save_copy", {"copy_of": ""}),
            ("file.save", {"path": path}),
            ("file.save_copy", {"copy_of": path}),
            ("file.save", {"path": path}),
            ("file.save", {"path": other}),
            ("file.save", {"path": other}),
            ("file.load", {"path": ""}),
            ("file.load", {"path": path}),
        ])
        bpy.ops.object.empty_add()
        self.tick()
        self.assertEqual(self.names(), ["Empty"])

    def test_an_unsaved_document_by_a_name_that_it_keeps_and_no_other_has(self):
        def name(at=None):
            with mock.patch.object(scene_facts, "strftime", lambda _: at):
                self.tick()
            told = self.link.scenes()[-1]["document"]["name"]
            self.assertEqual(self.link.of("set_document")[-1][1], told)
            return told

        first = name()
        self.session.stop("test")
        bpy.ops.ed.undo_push(message="start")
        bpy.ops.object.empty_add()
        bpy.ops.ed.undo_push(message="added")
        bpy.ops.ed.undo()
        self.session = harness.session(self.clock)
        self.link = self.session.link
        self.addCleanup(self.session.stop, "test")
        self.assertEqual(name("unsaved later"), first)
        with mock.patch.object(scene_facts, "strftime", lambda _: "unsaved next"):
            bpy.ops.wm.read_homefile(use_empty=True)
        self.assertEqual(name(), "unsaved next")
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(FOLDER, "named.blend"))
        self.assertEqual(name(), "named.blend")

    def test_nothing_is_collected_for_a_server_that_is_not_there(self):
        before = len(self.link.scenes())
        self.link.connected = False
        bpy.ops.object.empty_add()
        self.tick()
        self.assertEqual(len(self.link.scenes()), before)
        self.link.connected = True
        self.tick()
        self.assertEqual(self.names(), ["Empty"])

    def test_missing_files_are_warned_of_and_looked_for_again_when_the_document_is_saved(self):
        path = os.path.join(FOLDER, "wood.png")
        image = bpy.data.images.new("Wood", 4, 4)
        image.source, image.filepath = "FILE", path

        def warnings():
            harness.add("Next")
            self.tick()
            return self.link.scenes()[-1]["warnings"]

        missing = [{"code": "file_missing", "kind": "image", "name": "Wood"}]
        self.assertEqual(warnings(), missing)
        with open(path, "wb"):
            self.addCleanup(os.remove, path)
        self.assertEqual(warnings(), missing)
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(FOLDER, "wood.blend"))
        self.assertEqual(warnings(), [])
        image.filepath = os.path.join(FOLDER, "elsewhere.png")
        self.assertEqual(warnings(), missing)

    def test_few_scenes_are_told_while_no_client_follows_them(self):
        item = harness.add("Followed")
        self.tick()
        self.link.scene_wanted = False
        self.clock.now += 5.0
        self.session.tick()
        before = len(self.link.scenes())
        for step in range(10):
            item.location.x = step + 1
            bpy.context.view_layer.update()
            self.clock.now += 0.1
            self.session.tick()
        self.assertEqual(len(self.link.scenes()), before + 1)
        self.link.scene_wanted = True
        self.session.tick()
        self.assertEqual(len(self.link.scenes()), before + 2)

    def test_what_cannot_be_read_is_said_once_and_does_not_stop_the_rest(self):
        said = StringIO()
        with redirect_stderr(said), mock.patch.object(scene_facts, "members", side_effect=KeyError("x")):
            for _ in range(3):
                bpy.ops.object.empty_add()
                self.tick()
        self.assertEqual(said.getvalue().count("Traceback"), 1)
        self.assertIn("KeyError", self.session.failure)
        bpy.ops.object.empty_add()
        self.tick()
        self.assertIsNone(self.session.failure)
        self.assertEqual(len(self.names()), 4)

    def test_a_frame_played_past_its_objects_is_not_confirmed_as_the_newest(self):
        playing = mock.patch.object(scene_facts, "is_playing", lambda: True)
        item = harness.add("Mover")
        item.keyframe_insert("location", frame=1)
        item.location.x = 9
        item.keyframe_insert("location", frame=9)
        self.tick()
        scene = bpy.context.scene
        with playing:
            self.session.tick()
            scene.frame_set(2)
            scene.frame_set(5)
            self.assertRaises(Busy, self.session._refresh)
            self.session._watch._reader.note({}, 3)
            self.assertFalse(self.session.reading)
        self.assertTrue(self.session.reading)
        self.assertTrue(self.session._refresh())
        told = {each["name"]: each for each in self.link.scenes()[-1]["objects"]}
        self.assertEqual(told["Mover"]["translate"][0], item.matrix_world.translation.x)

    def test_a_call_from_another_thread_touches_nothing(self):
        before = len(self.link.said)
        self.clock.now += 1.0
        handlers = bpy.app.handlers.frame_change_post[:]
        thread = threading.Thread(target=lambda: [each(None) for each in handlers])
        thread.start()
        thread.join()
        self.assertEqual(len(self.link.said), before)
        self.assertFalse(self.session.settled)
        self.tick()
        self.assertTrue(self.session.settled)

    def test_a_render_is_recorded_and_shows_as_busy(self):
        harness.render()
        busy = [args[0] for args in self.link.of("set_busy")]
        self.assertEqual(busy, ["rendering", None])
        actions = [args[0] for args in self.link.of("record")]
        self.assertEqual([a for a in actions if a.startswith("render.")],
                         ["render.start", "render.complete"])


def flat(value, path=""):
    """Members of members by their paths; lists of numbers are values."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if (
        isinstance(value, list) and any(isinstance(each, dict) for each in value)) else None
    if items is None:
        return {path: value}
    parts = [flat(each, "%s/%s" % (path, name) if path else str(name)) for name, each in items]
    return {name: each for part in parts for name, each in part.items()}


class Objects(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()
        self.session = harness.session()
        self.addCleanup(self.session.stop, "test")

    def read(self, uri):
        try:
            [content] = self.session.link.on_read(uri)
        except NotFound:
            return None
        self.assertEqual(content["uri"], uri)
        return json.loads(content["text"])

    def test_are_read_with_everything_that_has_a_json_form(self):
        mesh = bpy.data.meshes.new("M")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
        item = harness.add("Über 1/2", mesh)
        target = harness.add("Target")
        item.modifiers.new("Bevel", "BEVEL")
        constraint = item.constraints.new("COPY_LOCATION")
        constraint.target = target
        item["shot"] = "010"
        item["weights"] = [1.0, 2.0]
        item["nested"] = {"deep": 1, "api_key": "x"}
        item["bad"] = float("nan")
        item["pointer"] = target
        item["direction"] = Vector((0, 0, 1))
        mesh.materials.append(bpy.data.materials.new("Red"))
        said = self.read("blender-object://%C3%9Cber%201%2F2")
        self.assertEqual(said["name"], "Über 1/2")
        self.assertEqual(said["geometry"], {"vertices": 3, "edges": 3, "polygons": 1})
        [red] = said["materials"]
        self.assertEqual((red["name"], red["viewport_color"]), ("Red", [0.8, 0.8, 0.8, 1]))
        self.assertEqual(said["modifiers"][0]["type"], "bevel")
        self.assertEqual(said["constraints"][0]["target"], "Target")
        self.assertEqual(
            said["custom_properties"],
            {
                "shot": "010",
                "weights": [1.0, 2.0],
                "nested": {"deep": 1, "api_key": "[redacted]"},
                "bad": None,
                "pointer": {"id": "Target"},
                "direction": [0.0, 0.0, 1.0],
            },
        )
        self.assertEqual(said["warnings"], [{"code": "number_not_finite", "count": 1}])

    def test_tell_what_no_scene_shows(self):
        """Each change is one of these members alone, and has the value that was set."""
        mesh = bpy.data.meshes.new("M")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
        paint = bpy.data.materials.new("Paint")
        paint.use_nodes = True
        mesh.materials.append(paint)
        item = harness.add("Item", mesh)
        bevel = item.modifiers.new("Bevel", "BEVEL")
        lamp = harness.add("Lamp", bpy.data.lights.new("Lamp", "SPOT"))
        camera = harness.add("Camera", bpy.data.cameras.new("Camera"))
        track = item.constraints.new("TRACK_TO")
        shader = paint.node_tree.nodes["Principled BSDF"]

        def set_(thing, name, value):
            return lambda: setattr(thing, name, value)

        changes = [
            (item, set_(shader.inputs["Base Color"], "default_value", (1, 0, 0, 1)),
             "materials/0/Principled BSDF/Base Color", [1, 0, 0, 1]),
            (item, set_(paint, "diffuse_color", (0, 1, 0, 1)), "materials/0/viewport_color", [0, 1, 0, 1]),
            (item, lambda: paint.node_tree.links.new(
                paint.node_tree.nodes.new("ShaderNodeTexChecker").outputs[0], shader.inputs["Base Color"]),
             "materials/0/Principled BSDF/Base Color", "Checker Texture"),
            (item, set_(bevel, "width", 0.5), "modifiers/0/width", 0.5),
            (item, set_(track, "influence", 0.5), "constraints/0/influence", 0.5),
            (item, set_(item, "hide_render", True), "renders", False),
            (item, lambda: (mesh.vertices.add(1), item.update_tag()), "geometry/vertices", 4),
            (lamp, set_(lamp.data, "energy", 20), "data/energy", 20),
            (lamp, set_(lamp.data, "color", (1, 0, 0)), "data/color", [1, 0, 0]),
            (camera, set_(camera.data, "lens", 85), "data/lens", 85),
        ]
        for thing, change, path, value in changes:
            before = flat(self.read("blender-object://" + thing.name))
            change()
            after = flat(self.read("blender-object://" + thing.name))
            different = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
            self.assertEqual((different, after[path]), ([path], value))
        lamp.data.energy = float("inf")
        self.assertIsNone(self.read("blender-object://Lamp")["data"]["energy"])

    def test_of_every_type_can_be_read(self):
        kinds = [
            bpy.ops.object.camera_add,
            bpy.ops.object.light_add,
            bpy.ops.object.text_add,
            bpy.ops.object.armature_add,
            bpy.ops.curve.primitive_bezier_curve_add,
            bpy.ops.surface.primitive_nurbs_surface_sphere_add,
            bpy.ops.object.metaball_add,
            bpy.ops.object.speaker_add,
            bpy.ops.object.gpencil_add,
            bpy.ops.object.volume_add,
            bpy.ops.object.lightprobe_add,
        ]
        for add in kinds:
            add()
        bpy.ops.object.add(type="LATTICE")
        self.assertEqual(len(bpy.context.scene.objects), len(kinds) + 1)
        for item in bpy.context.scene.objects:
            said = self.read("blender-object://" + item.name)
            self.assertEqual(said["id"], item.name)

    def test_of_a_library_have_their_full_name(self):
        path = os.path.join(FOLDER, "library.blend")
        harness.add("Prop")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        harness.empty_scene()
        with bpy.data.libraries.load(path, link=True) as (_, into):
            into.objects = ["Prop"]
        bpy.context.scene.collection.objects.link(into.objects[0])
        self.assertIsNone(self.read("blender-object://Prop"))
        local = harness.add("Prop")
        local["mine"] = 1
        bpy.context.view_layer.update()
        self.assertEqual(self.read("blender-object://Prop")["custom_properties"], {"mine": 1})
        said = self.read("blender-object://Prop%20%5Blibrary.blend%5D")
        self.assertEqual(said["id"], "Prop [library.blend]")

    def test_that_do_not_exist_are_not_found(self):
        for uri in ("blender-object://Nobody", "blender-object://", "blender-object://%ff"):
            self.assertIsNone(self.read(uri))


class Oddities(unittest.TestCase):
    """Names that are not UTF-8, and numbers that are none."""

    def told(self, begin):
        """A session, and what it tells after `begin`."""
        clock = harness.Clock()
        session = harness.session(clock, detail="full")
        self.addCleanup(session.stop, "test")
        begin()
        for _ in range(4):
            clock.now += 1.0
            session.tick()
        self.assertIsNone(session.failure)
        return session, session.link.scenes()[-1]

    def odd_file(self):
        """Blender makes no such names: they are put into the file."""
        harness.empty_scene()
        mesh = bpy.data.meshes.new("QQMesh")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
        item = harness.add("QQObject", mesh)
        item.vertex_groups.new(name="QQGroup")
        item.modifiers.new("QQModifier", "BEVEL")
        mesh.materials.append(bpy.data.materials.new("QQMaterial"))
        item.constraints.new("COPY_LOCATION").name = "QQConstraint"
        item["QQproperty"] = "QQvalue"
        harness.add("Child", None, item)["text"] = "QQvalue"
        bpy.data.collections.new("QQCollection")
        bpy.context.scene.collection.children.link(bpy.data.collections["QQCollection"])
        image = bpy.data.images.new("QQImage", 4, 4)
        image.use_fake_user, image.source, image.filepath = True, "FILE", "//QQ.png"
        bpy.context.scene.name, bpy.context.view_layer.name = "QQScene", "QQLayer"
        path = os.path.join(FOLDER, "odd.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path, compress=False)
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data.replace(b"QQ", b"\xe9\xff"))
        return path

    def test_in_names_are_told_as_replacement_characters_with_a_warning(self):
        path = self.odd_file()
        session, scene = self.told(lambda: bpy.ops.wm.open_mainfile(filepath=path))
        json.dumps(scene, ensure_ascii=False).encode("utf-8")
        told = {each["id"]: each for each in scene["objects"]}
        name = "\ufffd\ufffdObject"
        self.assertEqual(sorted(told), ["Child", name])
        self.assertEqual((told["Child"]["parent"], told[name]["materials"]), (name, ["\ufffd\ufffdMaterial"]))
        self.assertIn("name_not_utf8", [each["code"] for each in scene["warnings"]])
        [content] = session.link.on_read("blender-object://%EF%BF%BD%EF%BF%BDObject")
        read = json.loads(content["text"])
        self.assertEqual(read["data"]["vertex_groups"], ["\ufffd\ufffdGroup"])
        self.assertEqual(read["modifiers"][0]["name"], "\ufffd\ufffdModifier")
        session.link.on_read("blender-object://Child")

    def test_in_numbers_are_told_as_nothing_with_a_warning(self):
        harness.empty_scene()
        nan, infinity = float("nan"), float("inf")
        lamp = harness.add("Lamp", bpy.data.lights.new("Lamp", "SPOT"))
        camera = harness.add("Camera", bpy.data.cameras.new("Camera"))
        lamp.location, lamp.scale, lamp.delta_location = (nan,) * 3, (infinity,) * 3, (nan,) * 3
        lamp.data.energy, camera.data.lens = infinity, nan
        lamp.constraints.new("COPY_LOCATION").influence = nan
        bpy.context.scene.render.fps_base = nan
        bpy.context.scene.unit_settings.scale_length = nan
        session, scene = self.told(lambda: None)
        json.dumps(scene, allow_nan=False)
        self.assertIn("number_not_finite", [each["code"] for each in scene["warnings"]])
        for name in ("Lamp", "Camera"):
            [content] = session.link.on_read("blender-object://" + name)
            json.loads(content["text"], parse_constant=self.fail)


class Switches(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()

    def test_that_are_off_say_nothing(self):
        session = harness.session(scene=False, objects=False, actions=False, console=False)
        self.addCleanup(session.stop, "test")
        stdout = sys.stdout
        bpy.ops.object.empty_add()
        session.tick()
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(FOLDER, "off.blend"))
        print("not told")
        session.tick()
        self.assertIs(sys.stdout, stdout)
        said = {name for name, _ in session.link.said}
        self.assertEqual(session.link.of("register"), [("blender-object", [], [])])
        self.assertLessEqual(said, {"start", "pump", "stop", "register"})
        self.assertEqual((session.settled, session.reading), (True, False))

class Sharing(unittest.TestCase):
    """A document or a render that is sent as an artefact."""

    def setUp(self):
        harness.empty_scene()
        self.running = preferences.RUNNING
        self.running.session = harness.session()
        self.addCleanup(self.running.disconnect)

    def sent(self):
        return [args[0] for args in self.running.session.link.of("put_artefact")]

    def test_is_of_the_document_as_it_is_now_and_its_copy_goes(self):
        path = os.path.join(FOLDER, "sent.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.data.objects.new("Later", None).use_fake_user = True
        self.assertFalse(bpy.data.is_dirty)  # Blender does not count changes made by scripts
        bpy.ops.service_cli.share_document()
        [members] = self.sent()
        self.assertEqual(os.path.basename(members["path"]), "sent.blend")
        with bpy.data.libraries.load(members["path"]) as (held, _):
            self.assertEqual(held.objects, ["Later"])
        self.assertEqual(bpy.data.filepath, path)
        members["on_done"](mock.Mock(uri="artefact://sha256/00"))
        self.assertFalse(os.path.exists(os.path.dirname(members["path"])))
        self.assertTrue(os.path.exists(path))
        self.assertEqual(self.running.note, "Shared sent.blend")

    def test_is_refused_for_a_render_that_does_not_exist(self):
        # A warning of an operator is printed by Blender and ends in CANCELLED.
        self.assertEqual(bpy.ops.service_cli.share_render(), {"CANCELLED"})
        self.assertEqual(self.sent(), [])


harness.main(__name__)
