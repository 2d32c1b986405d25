"""What needs no Blender: numbers, addresses, rhythm, lists of operators, names of secrets."""

import ast
import io
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
import service_cli_link
from service_cli_link import activity, note_panel, object_facts, scene_facts, scene_watch, status_view, values
from service_cli_link.activity import SharedConsole, Tee
from service_cli_link.note_panel import COMPARED_ONLY, NOTHING
from service_cli_link.service_host_link import CLEARED, NOT_TOLD, OFF, LinkStatus
from service_cli_link.values import is_sensitive_name

FOLDER = os.path.dirname(service_cli_link.__file__)
ALLOWED = set(
    "atexit base64 binascii bpy collections contextlib datetime errno gc functools hashlib hmac itertools json"
    " math mathutils mimetypes os queue random re select shutil socket ssl stat string struct sys"
    " tempfile textwrap threading time traceback urllib uuid logging heapq zlib"
    " gpu imbuf blf bpy_extras gpu_extras getpass".split()
)


class StatusLines(unittest.TestCase):
    def status(self, state, text="", error=None):
        return LinkStatus(state, text, "http://127.0.0.1:8765/host", error)

    def test_begin_with_a_title_that_fits_the_narrowest_sidebar(self):
        for state in ("searching", "connecting", "connected", "waiting", "refused"):
            view = status_view.status_view(self.status(state, "Why."))
            self.assertLessEqual(len(view.title), 20, state)
            self.assertTrue(view.lines[0], state)
        off = status_view.status_view(None)
        self.assertEqual((off.title, off.lines), ("Not connected", ["Nothing is shared."]))

    def test_say_after_a_disconnect_what_the_server_keeps(self):
        view = status_view.status_view(self.status("off", OFF))
        self.assertEqual((view.title, view.lines), ("Not connected", ["Nothing is shared."]))
        view = status_view.status_view(self.status("off", CLEARED))
        self.assertEqual(view.lines, [CLEARED])
        view = status_view.status_view(self.status("off", NOT_TOLD))
        self.assertEqual((view.title, view.lines), ("Not connected", [NOT_TOLD]))

    def test_say_what_to_do_where_nothing_is_tried_again(self):
        view = status_view.status_view(self.status("refused", "Not linked: the token was refused."))
        self.assertEqual(view.lines, ["Not linked: the token was refused.",
                                      "It does not try again: correct this, then press Connect."])

    def test_say_that_the_scene_is_not_shared(self):
        view = status_view.status_view(self.status("connected"), shares_scene=False)
        self.assertEqual(view.lines[1], "Scene not shared: it is off in the preferences.")

    def test_are_broken_between_words_and_hashes_are_cut(self):
        text = "No server running; start one: service-cli serve --dcc-type blender"
        lines = status_view.wrapped(text, 229)
        self.assertEqual(" ".join(lines), text)
        self.assertLessEqual(max(len(line) for line in lines), 26)
        self.assertEqual(status_view.wrapped("shared as " + "12345678" * 8, 229), ["shared as 12345678…"])

    def test_that_are_too_many_end_with_an_ellipsis(self):
        words = ["word%02d" % number for number in range(60)]
        lines = status_view.wrapped(" ".join(words), 229)
        self.assertEqual(len(lines), 8)
        self.assertTrue(lines[-1].endswith(" …"))
        self.assertLessEqual(max(len(line) for line in lines), 26)
        whole = status_view.wrapped(" ".join(words), 229, most=24)
        self.assertEqual(" ".join(whole).split(), words)
        letters = status_view.wrapped("x" * 4000, 229, most=24)
        self.assertEqual((len(letters), letters[-1][-2:]), (24, " …"))


class NoteLines(unittest.TestCase):
    def lines(self, *entries, **members):
        note = dict({"state": "answered", "text": "Higher", "entries": list(entries)}, **members)
        return note_panel.lines_of(note)

    def proof(self, **proof):
        return self.lines(self.answer(**proof))[2]

    def answer(self, text="Done", **proof):
        return {"action": "answer", "by": "an agent", "text": text, "proof": proof}

    def test_tell_the_objects_the_answer_and_what_changed(self):
        answer = self.answer(asked=["Cube moved"], also_changed=["Lamp moved"])
        said, answered, proof = self.lines(answer, targets=[{"id": "Cube", "name": "Cube"}])
        self.assertEqual(said, ["Higher", "About: Cube"])
        self.assertEqual(answered, ["an agent: Done"])
        self.assertEqual(proof, ["Changed:", "- Cube moved", "Also changed:", "- Lamp moved",
                                 COMPARED_ONLY])

    def test_keep_an_answer_apart_from_what_was_found(self):
        forged = "Done\nChanged:\n- Cube moved"
        said, answered, proof = self.lines(self.answer(forged, asked=[]))
        self.assertEqual((said, answered),
                         (["Higher", "About: no object"], ["an agent: " + forged]))
        self.assertEqual(proof, [NOTHING, COMPARED_ONLY])

    def test_do_not_say_that_nothing_changed_and_say_why_nothing_was_compared(self):
        self.assertEqual(self.proof(asked=[], also_changed=[]),
                         [NOTHING, COMPARED_ONLY])
        self.assertEqual(self.proof(no_changes="there was no scene"),
                         ["Not compared: there was no scene"])
        self.assertEqual(self.proof(asked=[], settled=False),
                         ["The scene was still changing.", NOTHING, COMPARED_ONLY])

    def test_say_that_the_scene_was_not_confirmed(self):
        as_of = "2026-03-04T05:06:07.250Z"
        self.assertEqual(self.proof(asked=[], settled=False, as_of=as_of),
                         ["Not confirmed: changes after %s are missing." % as_of,
                          NOTHING, COMPARED_ONLY])

    def test_count_all_changes_that_are_left_out(self):
        asked = ["%d moved" % number for number in range(30)]
        self.assertEqual(self.proof(asked=asked, more=70)[-3:-1], ["… 24 more", "… and 70 more"])

    def test_are_few_when_the_note_is_settled(self):
        lines = self.lines(self.answer(asked=["Cube moved"]), state="accepted")
        self.assertEqual(lines, (["Higher"], [], []))


class Sources(unittest.TestCase):
    def test_are_python_3_7_and_import_nothing_from_outside(self):
        files = [name for name in os.listdir(FOLDER) if name.endswith(".py")]
        self.assertIn("service_host_link", os.listdir(FOLDER))
        for name in files:
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                tree = ast.parse(file.read(), name, feature_version=(3, 7))
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    roots = [each.name.split(".")[0] for each in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    roots = [node.module.split(".")[0]]
                else:
                    continue
                self.assertLessEqual(set(roots), ALLOWED, name)


class Numbers(unittest.TestCase):
    def test_are_rounded_to_six_digits(self):
        table = [
            (0.1234564, 0.123456),
            (0.1234566, 0.123457),
            (-0.1234566, -0.123457),
            (1e20, 1e20),
            (123456.5, 123456.5),
        ]
        for given, expected in table:
            self.assertEqual(values.Cleaner().number(given), expected)

    def test_have_a_point_only_where_they_need_one(self):
        told = values.Cleaner().numbers([2.0, -1.0, 0.5, 2.0000001])
        self.assertEqual([str(each) for each in told], ["2", "-1", "0.5", "2"])
        self.assertEqual(str(values.Cleaner().number(-1e-9)), "0")

    def test_that_are_not_finite_are_left_out_and_counted(self):
        cleaner = values.Cleaner()
        for bad in (float("nan"), float("inf"), float("-inf")):
            self.assertIsNone(cleaner.numbers([1.0, bad, 2.0]))
        self.assertEqual(cleaner.dropped, 3)


class Values(unittest.TestCase):
    def test_keep_what_json_has_a_form_for(self):
        cleaner = values.Cleaner()
        given = {"a": [1, 2.5, True, None, "x"], "b": object(), "c": b"raw", "n": float("nan")}
        self.assertEqual(cleaner.value(given), {"a": [1, 2.5, True, None, "x"], "n": None})
        self.assertEqual(cleaner.dropped, 1)

    def test_are_bounded(self):
        value = values.Cleaner().value({"long": "x" * 5000, "many": list(range(5000))})
        self.assertEqual(len(value["long"]), values.MAX_TEXT)
        self.assertEqual(len(value["many"]), values.MAX_ITEMS)

    def test_with_lone_surrogates_become_text(self):
        self.assertEqual(values.short_text("a\udcff"), "a?")

    def test_named_like_a_secret_are_redacted(self):
        cleaner = values.Cleaner()
        value = cleaner.value({"apiKey": "x", "keyframe": 3, "deep": {"password": "y"}})
        self.assertEqual(
            value, {"apiKey": "[redacted]", "keyframe": 3, "deep": {"password": "[redacted]"}}
        )


class SecretNames(unittest.TestCase):
    def test_are_told_from_others(self):
        for name in "apiKey api_key X-Api-Key key token accessToken password api_keys".split():
            self.assertTrue(is_sensitive_name(name), name)
        for name in "keyframe key_frame monkey keys author passes tokenizer_size".split():
            self.assertFalse(is_sensitive_name(name), name)


class Addresses(unittest.TestCase):
    def test_come_back_as_the_name_they_were_made_of(self):
        for name in ("Cube", "Cube.001", "a b/c?d#e%", "Würfel", "立方", "Cube [lib.blend]", "~-_"):
            uri = object_facts.object_uri(name)
            self.assertRegex(uri, r"^blender-object://[A-Za-z0-9._~%-]+$")
            self.assertEqual(object_facts.object_name(uri), name)


class OperatorLists(unittest.TestCase):
    def test_tell_what_was_appended(self):
        table = [
            ([], [1], [1]),
            ([1, 2], [1, 2], []),
            ([1, 2], [1, 2, 3], [3]),
            ([1, 2, 3], [2, 3, 4, 5], [4, 5]),
            ([1, 2, 3], [], []),
            ([1, 2, 3], [7, 8], [7, 8]),
            ([1, 2, 3], [1, 2], []),
        ]
        for before, now, expected in table:
            self.assertEqual(activity.new_entries(before, now), expected, (before, now))

    def test_name_operators_as_python_does(self):
        self.assertEqual(activity.action_name("OBJECT_OT_delete"), "object.delete")
        self.assertEqual(activity.action_name("odd"), "odd")


class Console(unittest.TestCase):
    def setUp(self):
        self.told = []
        self.original = io.StringIO()
        self.tee = Tee(self.original, "stdout", lambda *said: self.told.append(said))

    def test_passes_everything_on_and_tells_whole_lines(self):
        self.tee.write("a")
        self.tee.write("b\nc\n\n")
        self.assertEqual(self.original.getvalue(), "ab\nc\n\n")
        self.assertEqual(self.told, [("stdout", "ab"), ("stdout", "c")])

    def test_cuts_a_line_that_never_ends(self):
        for _ in range(100):
            self.tee.write("x" * 1000)
        self.assertGreater(len(self.told), 10)
        self.assertTrue(all(len(line) <= 4000 for _, line in self.told))

    def test_survives_a_teller_that_prints_or_fails(self):
        tee = None

        def tell(*_):
            print("again", file=tee)
            raise RuntimeError("no")

        tee = Tee(self.original, "stdout", tell)
        tee.write("x\n")
        self.assertEqual(self.original.getvalue(), "x\nagain\n")

    def test_gives_the_streams_back_or_goes_silent_behind_another(self):
        before = sys.stdout
        link = harness.RecordingLink("blender")
        console = SharedConsole(link)
        console.share(True)
        console.share(False)
        self.assertIs(sys.stdout, before)

        console.share(True)
        ours = sys.stdout
        wrapper = Tee(ours, "stdout", None)
        sys.stdout = wrapper
        try:
            console.share(False)
            self.assertIs(sys.stdout, wrapper)
            print("still printed", flush=True)
            self.assertEqual(link.of("log"), [])
        finally:
            sys.stdout = before


class Warnings(unittest.TestCase):
    def test_of_missing_files_ask_the_disk_rarely(self):
        import bpy

        clock = harness.Clock()
        image = bpy.data.images.new("Gone", 4, 4)
        image.source = "FILE"
        image.filepath = "/nowhere/gone.png"
        missing = scene_facts.MissingFiles(clock)
        expected = [{"code": "file_missing", "kind": "image", "name": "Gone"}]
        with mock.patch.object(os.path, "exists", return_value=False) as exists:
            self.assertEqual(missing.warnings(), expected)
            self.assertEqual(missing.warnings(), expected)
            exists.assert_called_once_with("/nowhere/gone.png")
            clock.now += scene_facts.CHECK_SECONDS
            missing.warnings()
            self.assertEqual(exists.call_count, 2)


harness.main(__name__)
