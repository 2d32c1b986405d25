"""The program service-cli on this machine: found, run as a server, and asked for the settings of AI
clients, so that an artist needs no terminal."""

import atexit
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Each has a settings file on this system. Claude Desktop has none on Linux.
CLIENTS = ((() if sys.platform.startswith("linux") else (("claude-desktop", "Claude Desktop"),))
           + (("claude-code", "Claude Code"), ("cursor", "Cursor"), ("vscode", "VS Code")))
NOT_FOUND = ('service-cli was not found: choose it in the field "service-cli" of the add-on\'s '
             "preferences. In a checkout it is bin/run.js.")
ANSWER_SECONDS = 20
STOP_SECONDS = 3

# Where npm puts programs. Applications started from a desktop have hardly a PATH.
_FOLDERS = ("~/.local/bin", "~/.npm-global/bin", "~/.volta/bin", "/usr/local/bin", "/opt/homebrew/bin",
            "~/.nvm/versions/node/*/bin", "~/AppData/Roaming/npm")

# A Blender that is killed or crashes runs no atexit, but its end of the pipe is closed. A line says
# that the server is gone, whose process id may be that of another program by now.
_ENDS_WITH_BLENDER = 'exec 3<&0 </dev/null; (read _ <&3 || kill $$) & exec "$@" 3<&-'


class ServerError(Exception):
    """With a sentence for the person."""


def find_program(chosen=""):
    """The path of service-cli; raises ServerError. `chosen`: what the preferences say."""
    if chosen:
        path = os.path.abspath(os.path.expanduser(chosen))
        if not os.path.isfile(path):
            raise ServerError("there is no file " + path)
        return path
    folders = [path for each in _FOLDERS for path in sorted(glob.glob(os.path.expanduser(each)))]
    found = shutil.which("service-cli", path=os.pathsep.join([os.environ.get("PATH", "")] + folders))
    if found is None:
        raise ServerError(NOT_FOUND)
    return found


def client_setup(program, client, url, write=False):
    """What `mcp-config` says of a client, as a dict; `write` merges the entry into its settings."""
    where = ["--url", url, "--name", "blender"] if url else ["--dcc-type", "blender"]
    words = ["mcp-config", client, "--json"] + where + (["--write"] if write else [])
    try:
        done = subprocess.run([program] + words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=ANSWER_SECONDS, **_surroundings(program))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError("%s does not run: %s" % (program, error))
    try:
        answer = json.loads(done.stdout.decode("utf-8").splitlines()[-1])
    except (ValueError, IndexError):
        raise ServerError("%s did not answer: %s" % (program, _last_line(done.stderr)))
    if done.returncode != 0:
        raise ServerError(answer["error"]["message"])
    return answer


class Server:
    """The `serve` that this Blender has started, which ends with Blender."""

    def __init__(self):
        self._process = None
        self._log = None

    @property
    def runs(self):
        return self._process is not None and self._process.poll() is None

    @property
    def failure(self):
        """The last words of a server that has ended by itself; empty as long as it runs."""
        if self._process is None or self.runs:
            return ""
        self._log.seek(0)
        return "The server has ended: %s. Press Start Server." % _last_line(self._log.read()).rstrip(".")

    def start(self, program, port=None):
        self.stop()
        words = [program, "serve", "--dcc-type", "blender"]
        words += ["--port", str(port)] if port is not None else []
        if os.name == "posix":
            words = ["/bin/sh", "-c", _ENDS_WITH_BLENDER, "sh"] + words
        self._log = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                words, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=self._log, **_surroundings(program))
        except OSError as error:
            raise ServerError("%s does not run: %s" % (program, error))
        atexit.register(self.stop)

    def stop(self):
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.stop)
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        try:
            process.stdin.write(b"\n")
        except OSError:
            pass  # it has ended already
        process.stdin.close()
        self._log.close()


def _surroundings(program):
    """Node.js stands beside the programs that npm installs."""
    path = os.path.dirname(program) + os.pathsep + os.environ.get("PATH", "")
    return {"env": dict(os.environ, PATH=path),
            "creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0)}


def _last_line(output):
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ")]
    return (errors or lines or ["it said nothing"])[-1]
