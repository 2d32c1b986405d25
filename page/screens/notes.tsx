import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Live } from '../live/live.ts'
import { type NoteRow, waitsForPerson } from '../live/notes.ts'
import { nothingFollowed } from '../../src/lib/mcp/change-words.ts'
import {
  comparedOnly,
  maxNoteTextChars,
  type NoteProof,
  nothingListed,
} from '../../src/lib/mcp/note-proof.ts'
import { cleanText } from '../../src/lib/util/text.ts'
import type { Note, NoteEntry, NoteTarget } from '../../src/server/notes/note.ts'
import { readJson } from '../mcp/carrier.ts'
import { actOnNote, addNote } from '../mcp/writes.ts'
import { Compare } from '../parts/compare.tsx'
import { NoteForm } from '../parts/note-form.tsx'
import { PinPicture } from '../parts/pin-picture.tsx'
import { Action, Ago, Empty } from '../parts/small.tsx'
import { useRead } from '../parts/use-read.ts'

/** What the person has said, what the AI has answered, and what really changed. */
export function NotesScreen({ live }: { live: Live }) {
  const { notes, drafts, login, carrier } = live
  const chosen = useSignal<string | null>(null)
  const first = useSignal<string | null>(null)
  const isPointing = useSignal(drafts.view.value !== null)
  const { path, name } = live.scene.summary.value?.document ?? {}
  const pointAtNothing = () => {
    isPointing.value = false
    drafts.view.value = null
    drafts.pin.value = null
  }
  useEffect(() => {
    // A view of another document is none of this one.
    if (drafts.document !== null && drafts.document !== (path ?? name)) pointAtNothing()
    drafts.document = path ?? name ?? null
  }, [path, name])
  if (notes.value === null) return <Empty title="Reading the notes …" />
  const { rows, isShared } = notes.value
  if (!isShared) {
    return (
      <Empty title="No document is shared">
        <p>Its notes appear here once the application is connected again.</p>
      </Empty>
    )
  }
  // Another document has other notes.
  const isHere = (id: string | null) => rows.some(row => row.id === id)
  // What is shown stays until the person chooses: another answer must not take its place.
  if (!isHere(first.value)) first.value = (rows.find(waitsForPerson) ?? rows[0])?.id ?? null
  const isChosen = isHere(chosen.value)
  const id = isChosen ? chosen.value : first.value
  const shown = isChosen ? 'at-note' : rows.length > 0 ? 'at-list' : ''
  const canPoint = login?.mayNote.value === true && carrier.schemes.value.has('capture')
  return (
    <div class={`notes grid ${isPointing.value ? 'at-picture' : shown}`}>
      <section class="list grid" aria-label="Notes">
        {login !== null && (
          <NoteForm
            live={live}
            draft="note"
            label="New note"
            make={async text => {
              const [pin, drawn] = [drafts.pin.value, drafts.view.value]
              const place = pin === null || drawn === null ? {} : { pin, view: drawn.view }
              chosen.value = await addNote({ text, ...place })
              pointAtNothing()
            }}
          />
        )}
        {canPoint && (
          <button
            type="button"
            aria-expanded={isPointing.value}
            onClick={() => (isPointing.value ? pointAtNothing() : (isPointing.value = true))}
          >
            {isPointing.value ? 'Stop pointing' : 'Point at something'}
          </button>
        )}
        <ul>
          {rows.map(row => (
            <li key={row.id}>
              <button
                type="button"
                aria-current={row.id === id}
                onClick={() => (chosen.value = row.id)}
              >
                <span class="number">{row.number}</span>
                <span class="text">{row.text}</span>
                <State row={row} />
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="detail card" aria-label="Note">
        {isPointing.value ? (
          <PinPicture live={live} />
        ) : (
          <>
            {isChosen && (
              <button type="button" class="back" onClick={() => (chosen.value = null)}>
                All notes
              </button>
            )}
            {id === null ? <NoNotes /> : <OneNote key={id} live={live} id={id} />}
          </>
        )}
      </section>
    </div>
  )
}

function NoNotes() {
  return (
    <Empty title="No note in this document yet">
      <p>
        Say here what your AI should change. In Blender: select an object, press F3, and choose Note
        on Selection.
      </p>
      <p>Your AI answers, and you see what really changed before you accept it.</p>
    </Empty>
  )
}

const stateWords: Readonly<Record<NoteRow['state'], string>> = {
  open: 'open: waits for your AI',
  answered: 'answered: your turn',
  accepted: 'accepted',
  reopened: 'open again',
  closed: 'closed',
}

function State({ row }: { row: Pick<NoteRow, 'state'> }) {
  return <span class={`state ${row.state}`}>{stateWords[row.state]}</span>
}

function OneNote({ live, id }: { live: Live; id: string }) {
  // A new list for each change of any note.
  const rows = live.notes.value
  const reading = useRead(() => readJson<Note>(live.carrier, `notes://${id}`), [id, rows])
  const { value: note, trouble } = reading.value
  if (note === null) return <p class="quiet">{trouble ?? 'Reading …'}</p>
  const { number, text, state, author, created_at, targets, entries } = note
  const proof = proofOf(note)
  return (
    <article class="note grid">
      <header>
        <h2>
          Note {number} <State row={{ state }} />
        </h2>
        <p class="said">{text}</p>
        <p class="quiet">
          {author}, <Ago at={created_at} />
          {targets.length === 0
            ? ', names no object'
            : `, on ${targets.map(targetText).join(', ')}`}
        </p>
      </header>
      <Pictures live={live} note={note} />
      <div>
        <ol class="lines">
          {entries.map(entry => (
            <Entry key={entry.at} entry={entry} />
          ))}
        </ol>
        {proof !== undefined && <Proof proof={proof} />}
        <Decide live={live} id={id} state={state} />
      </div>
    </article>
  )
}

/** That of the last answer. */
function proofOf({ entries }: Note): NoteProof | undefined {
  return entries.findLast(({ action }) => action === 'answer')?.proof
}

function targetText({ name, was, gone }: NoteTarget): string {
  const [clean, before] = [name, was ?? ''].map(each => cleanText(each))
  if (gone === true) return `${clean} (not in the scene)`
  return was === undefined ? `${clean}` : `${clean} (was ${before})`
}

function Pictures({ live, note }: { live: Live; note: Note }) {
  const { before, pin, no_picture } = note
  const proof = proofOf(note)
  if (before === undefined) {
    // Said with the answer, once there is one.
    if (no_picture === undefined || proof !== undefined) return null
    return <p class="quiet">No picture: {no_picture}</p>
  }
  return (
    <Compare
      carrier={live.carrier}
      before={before}
      pin={pin}
      after={proof?.after}
      difference={proof?.difference}
    />
  )
}

function Proof({ proof }: { proof: NoteProof }) {
  const { asked, also_changed = [], no_changes, no_picture, settled } = proof
  const { as_of, connected, more = 0, truncated = false } = proof
  return (
    <div class="proof">
      {as_of === undefined && !settled && <p class="warning">The scene was still changing.</p>}
      {as_of !== undefined && (
        <p class="warning">
          {connected === false
            ? 'The application was not connected: its last scene was compared, as of '
            : 'The application did not confirm its scene: later changes may be missing. It is as of '}
          <Ago at={as_of} />.
        </p>
      )}
      {no_changes !== undefined && <p class="quiet">What changed is not known: {no_changes}</p>}
      {no_changes === undefined && asked !== undefined && (
        <Lines title="Changed in the objects of the note" lines={asked} />
      )}
      {no_changes === undefined && asked === undefined && (
        <Lines
          title="Changed (the note names no object)"
          lines={also_changed}
          nothing={nothingListed}
        />
      )}
      {asked !== undefined && also_changed.length > 0 && (
        <div class="warning">
          <Lines title="Also changed" lines={also_changed} />
        </div>
      )}
      {(more > 0 || truncated) && <p class="quiet">… and there are more changes.</p>}
      {no_changes === undefined && (asked !== undefined || also_changed.length > 0) && (
        <p class="quiet">{comparedOnly.replace('o', 'O')}.</p>
      )}
      {no_picture !== undefined && <p class="quiet">No picture: {no_picture}</p>}
    </div>
  )
}

interface LinesProps {
  readonly title: string
  readonly lines: readonly string[]
  readonly nothing?: string
}

function Lines({ title, lines, nothing = nothingFollowed }: LinesProps) {
  return (
    <>
      <h3>{title}</h3>
      {lines.length === 0 ? (
        <p class="quiet">{nothing.replace('n', 'N')}.</p>
      ) : (
        <ul>
          {lines.map(line => (
            <li>{line}</li>
          ))}
        </ul>
      )}
    </>
  )
}

function Decide({ live, id, state }: { live: Live; id: string; state: NoteRow['state'] }) {
  const { login, drafts } = live
  if (login?.mayNote.value !== true) return null
  const reply = drafts.text(`reply ${id}`)
  const isOver = state === 'accepted' || state === 'closed'
  const canReply = state === 'answered' || isOver
  return (
    <div class="buttons">
      {canReply && (
        <label>
          <span class="unseen">Reply</span>
          <textarea
            rows={2}
            maxLength={maxNoteTextChars}
            placeholder="What is still wrong?"
            value={reply.value}
            onInput={event => (reply.value = event.currentTarget.value)}
          />
        </label>
      )}
      {state === 'answered' && (
        <Action kind="primary" run={() => actOnNote(id, 'accept')}>
          Accept
        </Action>
      )}
      {canReply && (
        <Action
          disabled={reply.value.trim() === ''}
          run={() => drafts.send(reply, sent => actOnNote(id, 'reopen', sent))}
        >
          Reply
        </Action>
      )}
      {state !== 'closed' && <Action run={() => actOnNote(id, 'close')}>Close</Action>}
    </div>
  )
}

const verbs = {
  answer: 'answered',
  accept: 'accepted',
  reopen: 'replied',
  close: 'closed',
} as const

function Entry({ entry: { action, by, at, text, late } }: { entry: NoteEntry }) {
  return (
    <li>
      <span class="quiet">
        {by} {verbs[action]} <Ago at={at} />
        {late === true && ' (too late: it changed nothing)'}
      </span>
      {text !== undefined && <p class="said">{text}</p>}
    </li>
  )
}
