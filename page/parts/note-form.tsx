import { maxNoteTextChars } from '../../src/lib/mcp/note-proof.ts'
import type { Live } from '../live/live.ts'
import { Action } from './small.tsx'

interface NoteFormProps {
  readonly live: Live
  /** Name of the draft: what was typed stays while other screens are shown. */
  readonly draft: string
  readonly label: string
  readonly make: (text: string) => Promise<void>
}

/** Where a person writes a note; only a login by a link may. */
export function NoteForm({ live, draft, label, make }: NoteFormProps) {
  const { login, drafts } = live
  const text = drafts.text(draft)
  const mayNote = login?.mayNote.value === true
  return (
    <div>
      {/* What was typed outlives the login. */}
      {(mayNote || text.value !== '') && (
        <label>
          {label}
          <textarea
            rows={3}
            maxLength={maxNoteTextChars}
            placeholder="What should your AI change?"
            value={text.value}
            onInput={event => (text.value = event.currentTarget.value)}
          />
        </label>
      )}
      {mayNote ? (
        <Action
          kind="primary"
          disabled={text.value.trim() === ''}
          run={() => drafts.send(text, make)}
        >
          Make a note
        </Action>
      ) : (
        <p class="quiet">
          To make notes, log in: run <code>service-cli page</code> and open its link.
        </p>
      )}
    </div>
  )
}
