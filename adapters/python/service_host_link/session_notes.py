"""Session: notes."""

NOTE_SECONDS = 60.0  # the server takes a picture first


class SessionNotes(object):
    """Sends what a person says, and keeps what the server tells of all notes."""

    def _send_note(self, now):
        link = self.link
        with link._lock:
            if not link._note_jobs:
                return False
            job = link._note_jobs.popleft()
        self._ask("note", job._message, data=job, seconds=NOTE_SECONDS)
        return True

    def _answered_note(self, message, error, job):
        with self.link._lock:
            if error is None and isinstance(message.get("note"), dict):
                job.note = message["note"]
            self.link._end_note(job, None if error is None else error.text)

    def _told_clients(self, message):
        clients = message.get("clients")
        if isinstance(clients, list):
            self.link._clients = [each for each in clients if isinstance(each, dict)]

    def _told_notes(self, message):
        notes, folder = message.get("notes"), message.get("pictures")
        if not isinstance(notes, list):
            return
        known = [each for each in notes if isinstance(each, dict)]
        with self.link._lock:
            self.link._notes = (known, folder if isinstance(folder, str) else None)
