"""HostLink: notes of people about the open document, and its checkpoints."""

from .texts import omit_none


class NoteJob(object):
    """Something to keep, on its way: `error`, or None when it is kept. Of a note, `note` is then
    {"id", "number", "state"}."""

    def __init__(self, message, on_done):
        self.note = None
        self.error = None
        self._message = message
        self._on_done = on_done


class LinkNotes(object):
    """Makes notes and takes actions on them; `notes` has what the server last said of them."""

    def add_note(self, text, author=None, targets=(), position=None, view=None, frame=None,
                 on_done=None):
        """Makes a note. `targets`: ids, or dicts with "id" and "name"; `position`: three numbers;
        `view`: a dict that comes back in a shot. on_done(NoteJob) is called from pump()."""
        note = omit_none(text=text, author=author, targets=list(targets), view=view, frame=frame,
                         position=None if position is None else [float(each) for each in position])
        return self._post_note({"type": "note.add", "note": note}, on_done)

    def act_on_note(self, note, action, text=None, by=None, on_done=None):
        """`action`: answer, accept, reopen or close; `note`: an id. on_done as in add_note."""
        message = omit_none(type="note.act", note=note, action=action, text=text, by=by)
        return self._post_note(message, on_done)

    def add_checkpoint(self, name, by=None, on_done=None):
        """Keeps the scene under a name, on the server's disk. on_done as in add_note."""
        return self._post_note(omit_none(type="checkpoint.add", name=name, by=by), on_done)

    @property
    def notes(self):
        """(notes, folder of their pictures): another tuple after each change. ([], None) while the
        link is down and before the server has told of any. Only with shows_notes."""
        return self._notes

    @property
    def clients(self):
        """The clients of the server, most recently seen first: dicts with "name", "version" and
        "last_seen_at", and of those that read "last_read", {"at", "uri"}, or "last_call", {"at",
        "tool"}. Another list after each change; empty while the link is down. Only with shows_notes."""
        return self._clients

    def _post_note(self, message, on_done):
        job = NoteJob(message, on_done)
        with self._lock:
            self._note_jobs.append(job)
        self._wake()
        return job

    def _end_note(self, job, error=None):
        """Call with the lock."""
        job.error = error
        if job._on_done is not None:
            self._finished.append(job)
