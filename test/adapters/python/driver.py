"""An application for tests: does with its HostLink what the lines on standard input say.

    {"id": 1, "call": "set_scene", "args": [...], "kwargs": {...}}   -> {"id": 1, "result": ...}
    {"id": 2, "get": "need_scene"}
    {"id": 3, "new": {...}, "constants": {"session.SILENCE_SECONDS": 1}}  a HostLink with these arguments
    {"id": 4, "block": true}                                         keeps the main thread
    {"release": true}                                                ends that; no answer
    {"id": 5, "pumping": false}

    {"id": 6, "freeze": 2}                                           no thread runs for so many seconds

Pumps in between, as the timer of an application would. Ends without stop() when its input ends.
"""

import ctypes
import json
import queue
import sys
import threading

import service_host_link as module  # the folder that users take, which PYTHONPATH leads to

link = None
uploads = []
kept = []  # notes and checkpoints, and who called on_done
asked = []
statuses = []
picture = None
refreshes = []  # whether on_refresh is done, each time; or the scene that it hands over
released = threading.Event()
main_thread = threading.current_thread()


def on_read(uri):
    asked.append(uri)
    name = uri.partition("://")[2]
    if name == "missing":
        raise module.NotFound("there is no missing thing")
    if name == "modal":
        raise module.Busy("a dialog is open")
    if name == "broken":
        raise KeyError("a secret of the application")
    if name == "wrong":
        return [{"uri": uri, "text": object()}]
    if name.startswith("size/"):
        return [{"uri": uri, "text": "x" * int(name[5:])}]
    return [{"uri": uri, "mimeType": "text/plain", "text": "read " + name}]


def on_refresh():
    asked.append("refresh")
    scene = refreshes.pop(0)
    if not scene:
        return False
    link.set_scene({"refreshed": True} if scene is True else value_of(scene))
    return True


def capture(target, max_width, max_bytes):
    """A picture whose bytes say how it was asked for, or what `picture` says."""
    asked.append([target, max_width, max_bytes, threading.current_thread() is main_thread])
    if picture == "minimised":
        raise module.NoPicture("minimised", "it lies in the task bar")
    if picture == "modal":
        raise module.Busy("a dialog is open")
    if picture == "broken":
        raise KeyError("a secret of the application")
    if picture == "wrong":
        return "no bytes"
    if picture == "empty":
        return b""
    if picture == "later":
        def make():
            asked.append("made on the main thread: %s" % (
                threading.current_thread() is main_thread))
            return b"made later"

        return module.Picture(make)
    return module.Picture(b"the window", {"zoom": 8})


def value_of(text):
    """JSON with words for what JSON has not."""
    if text == "<object>":
        return object()
    if isinstance(text, list):
        return [value_of(item) for item in text]
    if isinstance(text, dict):
        return {name: value_of(member) for name, member in text.items()}
    return text


def upload_state(upload):
    return {"done": upload.done, "uri": upload.uri, "error": upload.error}


def run(command):
    global link, picture
    if "picture" in command:
        picture = command["picture"]
        return None
    if "provide" in command:
        return link.provide_capture(*([capture] + command["provide"]))
    if "new" in command:
        for name, value in command.get("constants", {}).items():
            place, _, constant = name.partition(".")
            assert hasattr(getattr(module, place), constant), name
            setattr(getattr(module, place), constant, value)
        command["new"].update(on_read=on_read)
        refreshes.extend(command.get("refreshes", []))
        if refreshes:
            command["new"].update(on_refresh=on_refresh)
        link = module.HostLink(**command["new"])
        return repr(link)
    if "block" in command:
        released.wait()
        released.clear()
        return None
    if "freeze" in command:  # Python's lock is kept, as by an application that computes
        ctypes.PyDLL(None).usleep(int(command["freeze"] * 1000000))
        return None
    if "words" in command:
        return module.status_words(link.status())
    if "get" in command:
        if command["get"] in ("asked", "kept", "statuses", "uploads"):
            found = {"asked": asked, "kept": kept, "statuses": [list(each) for each in statuses],
                     "uploads": [upload_state(each) for each in uploads]}
            return found[command["get"]]
        return getattr(link, command["get"])
    args = [value_of(arg) for arg in command.get("args", [])]
    kwargs = value_of(command.get("kwargs", {}))
    if command["call"] == "put_artefact":
        if "data_size" in kwargs:
            kwargs["data"] = bytes(bytearray(i % 251 for i in range(kwargs.pop("data_size"))))
        upload = link.put_artefact(
            on_done=lambda done: asked.append("on_done %s" % threading.current_thread().name),
            **kwargs)
        uploads.append(upload)
        return None
    if command["call"] in ("add_note", "act_on_note", "add_checkpoint"):
        def done(job):
            is_main = threading.current_thread() is main_thread
            kept.append({"note": job.note, "error": job.error, "is_main": is_main})

        getattr(link, command["call"])(*args, on_done=done, **kwargs)
        return None
    if command["call"] == "many":  # the same call many times, with {n} in its texts
        for n in range(command["times"]):
            getattr(link, command["method"])(
                **{name: value.replace("{n}", str(n)) for name, value in kwargs.items()})
        return None
    return getattr(link, command["call"])(*args, **kwargs)


def main():
    lines = queue.Queue()

    def read_lines():
        for line in sys.stdin:
            if "release" in json.loads(line):
                released.set()
            else:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read_lines, daemon=True).start()
    pumping = True
    while True:
        try:
            line = lines.get(timeout=0.01)
        except queue.Empty:
            if link is not None:
                if pumping:
                    link.pump()
                if link.status() not in statuses[-1:]:
                    statuses.append(link.status())
            continue
        if line is None:
            return
        command = json.loads(line)
        answer = {"id": command["id"]}
        if "pumping" in command:
            pumping = command["pumping"]
        else:
            try:
                answer["result"] = run(command)
            except Exception as error:
                answer["error"] = "%s: %s" % (type(error).__name__, error)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
