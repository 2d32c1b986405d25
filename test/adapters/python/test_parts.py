import ast
import collections
import io
import json
import os
import sys
import unittest

from common import FOLDER, link

ALLOWED = set("""atexit base64 collections datetime errno hashlib io json math os random re selectors
socket stat struct sys textwrap threading time urllib.parse uuid""".split())
LATER = ("removeprefix", "removesuffix", "isqrt", "fromisoformat(", "to_thread", "zip(strict",
         "math.prod", "randbytes", "shlex.join")


class TheFolder(unittest.TestCase):
    def test_is_python_3_7_with_nothing_but_these_modules(self):
        names = [name for name in os.listdir(FOLDER) if name.endswith(".py")]
        found = set()
        for name in names:
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                text = file.read()
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import):
                    found.update(each.name for each in node.names)
                elif isinstance(node, ast.ImportFrom):
                    self.assertEqual(node.level, 1, name)
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    self.assertNotIn(node.func.id, ("__import__", "eval", "exec", "compile"))
            for method in LATER:
                self.assertNotIn(method, text, name)
        self.assertEqual(found - ALLOWED, set())
        self.assertGreater(len(names), 5)


class Json(unittest.TestCase):
    def test_in_pieces_is_what_json_dumps_would_write(self):
        values = [None, [], {}, [[]] * 200, {"a": {"b": list(range(130)), "ü": "\n"}, "c": [1.5]}, "x"]
        values += [{str(n): list(range(n)) for n in (0, 1, 64, 65)}, {"1": 2, "3": {4: 5}}]
        for value in values:
            expected = json.dumps(value, separators=(",", ":"))
            self.assertEqual(link.json_text(value, in_pieces=True), expected)
            self.assertEqual(link.json_text(value), expected)

    def test_has_null_and_replacement_characters_for_what_json_and_utf_8_have_not(self):
        replaced = collections.Counter()
        value = {"a": [1.0, float("nan")], "b": {"c": float("-inf")}, "d": "\ud83d\ude00 \udcff",
                 "e": "😀 \\udcff \\"}
        text = link.json_text(value, replaced)
        self.assertEqual(json.loads(text), {
            "a": [1.0, None], "b": {"c": None}, "d": "😀 \ufffd", "e": "😀 \\udcff \\"})
        self.assertEqual(replaced, {"number_not_finite": 2, "text_not_utf8": 1})
        self.assertEqual(value["b"]["c"], float("-inf"))
        self.assertEqual(link.clean_text("a\udcff"), "a\ufffd")

    def test_is_refused_for_other_values_without_their_content(self):
        circle, deep = {}, []
        circle["again"] = [circle]
        for _ in range(5000):
            deep = [deep]
        for value in ({"a": {1, 2}}, {(1, 2): 3}, b"secret", circle, deep, {"secret": object()}):
            with self.assertRaises(link.NotJson) as caught:
                link.json_text(value)
            self.assertNotIn("secret", str(caught.exception))


class Console(unittest.TestCase):
    class Link(object):
        def __init__(self):
            self.said = []

        def open_events(self, session_id, maxlen):
            self.session_id = session_id

        def log(self, message, session_id, source, stream, level):
            print("said while telling")
            self.said.append((message, session_id == self.session_id, source, stream, level))

    def test_tells_whole_lines_and_gives_the_streams_back(self):
        told, before = self.Link(), (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = out, err = io.StringIO(), io.StringIO()
        try:
            console = link.Console(told, "maya")
            console.share()
            console.share()
            print("one\ntwo", end="")
            print(" and more")
            sys.stderr.write("three\n")
            kept = sys.stdout
            console.share(False)
            self.assertEqual((sys.stdout, sys.stderr), (out, err))
            print("four", file=kept)
        finally:
            sys.stdout, sys.stderr = before
        self.assertEqual([each[0] for each in told.said], ["one", "two and more", "three"])
        self.assertEqual(told.said[2][1:], (True, "maya", "stderr", "warning"))
        self.assertIn("four", out.getvalue())


class Words(unittest.TestCase):
    def words(self, state, text, error=None, **about):
        status = link.LinkStatus(state, text, "http://127.0.0.1:8765/host", error)
        return link.status_words(status, **about)

    def test_say_what_the_link_does(self):
        self.assertEqual(link.status_words(None), ("Not connected", ["Nothing is shared."]))
        connected = self.words("connected", "", "too large", shares_scene=False)
        self.assertEqual(connected, ("Connected", [
            "Server: 127.0.0.1:8765", "Scene not shared: it is off in the preferences.",
            "Last error: too large"]))
        refused = self.words("refused", "Not linked: no.")
        self.assertIn("then press Connect", refused.lines[-1])
        self.assertEqual(self.words("off", link.CLEARED).lines, [link.CLEARED])

    def test_of_a_note_show_its_pictures_where_the_server_keeps_them(self):
        proof = {"after": "notes://7/after", "difference": {"uri": "notes://7/difference"}}
        note = {"number": 7, "before": "notes://7/before",
                "entries": [{"action": "answer", "proof": proof}]}
        self.assertEqual(link.note_pictures(note, "/p"), [
            (title, os.path.join("/p", "0007", name + ".png"))
            for title, name in (("Before", "before"), ("After", "after"), ("Where", "difference"))])


class Statuses(unittest.TestCase):
    def test_shows_no_secret_and_says_what_to_do(self):
        host = link.HostLink("maya", url="http://me:secret@127.0.0.1/host", token="secret", env={})
        self.assertEqual(host.status()[:2], ("off", "The link is off."))
        host.start()
        host._worker.join(5)
        status = host.status()
        self.assertEqual(status.state, "refused")
        self.assertIn("the host URL must be like http://127.0.0.1:8765/host", status.text)
        self.assertNotIn("secret", repr(host) + repr(status))
        host.stop()
        self.assertEqual(host.status().state, "off")

    def test_wants_url_and_token_together(self):
        host = link.HostLink("maya", url="http://127.0.0.1:1/host", env={})
        host.start()
        host._worker.join(5)
        self.assertIn("must be given together", host.status().text)
        host.stop()

    def test_fails_an_artefact_at_once_that_cannot_be_sent(self):
        host, done = link.HostLink("maya", env={}), []
        upload = host.put_artefact(on_done=done.append)
        self.assertEqual((upload.done, upload.error), (True, "give either data or path"))
        self.assertEqual(done, [])
        self.assertEqual(host.pump(), 1)
        self.assertEqual(done, [upload])
        waiting = host.put_artefact(data=b"x")
        host.stop()
        self.assertEqual(waiting.error, "the link was stopped")


if __name__ == "__main__":
    unittest.main()
