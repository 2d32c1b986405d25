import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Live } from '../live/live.ts'
import { type NoteDetail, type NoteEntry, type NoteRow, waitsForPerson } from '../live/notes.ts'
import { nothingFollowed } from '../../src/lib/mcp/change-words.ts'
import { comparedOnly, nothingListed } from '../../src/lib/mcp/note-proof.ts'
import type { NoteProof } from '../../src/lib/mcp/note-proof.ts'
import { cleanText } from '../../src/lib/util/text.ts'
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
  const rows = notes.rows.value
  if (rows === null) return <Empty title="Reading the notes …" />
  // Another document has other notes.
  const isHere = (id: string | null) => rows.some(row => row.id === id)
  // What is shown stays until the person chooses: another answer must not take its place.
  if (!isHere(first.value)) first.value = (rows.find(waitsForPerson) ?? rows[0])?.id ?? null
  const isChosen = isHere(chosen.value)
  const id = isChosen ? chosen.value : first.value
  const canPoint = login?.mayNote.value === true && carrier.schemes.value.has('capture')
  return (
    <div class={`notes ${isPointing.value ? 'at-picture' : isChosen ? 'at-note' : 'at-list'}`}>
      <section class="list" aria-label="Notes">
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
            {isPointing.value ? 'Point at nothing' : 'Point at something'}
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
      <section class="detail" aria-label="Note">
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
  const version = live.notes.version.value
  const reading = useRead(() => live.notes.detail(id), [id, version])
  const { value: note, trouble } = reading.value
  if (note === null) return <p class="quiet">{trouble ?? 'Reading …'}</p>
  const { number, text, state, author, created_at, targets, entries } = note
  const proof = entries.findLast(({ action }) => action === 'answer')?.proof
  return (
    <article class="note">
      <div>
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
        <ol class="lines">
          {entries.map(entry => (
            <Entry key={entry.at} entry={entry} />
          ))}
        </ol>
        {proof !== undefined && <Proof proof={proof} />}
        <Decide live={live} id={id} state={state} />
      </div>
      <Pictures live={live} note={note} proof={proof} />
    </article>
  )
}

const maxNameChars = 100

function targetText({ name, was, gone }: NoteDetail['targets'][number]): string {
  const [clean, before] = [name, was ?? ''].map(each => cleanText(each, maxNameChars))
  if (gone === true) return `${clean} (not in the scene)`
  return was === undefined ? `${clean}` : `${clean} (was ${before})`
}

function Pictures({
  live,
  note: { before, pin, no_picture },
  proof,
}: {
  live: Live
  note: NoteDetail
  proof: NoteProof | undefined
}) {
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
  const { asked, also_changed = [], no_changes, no_picture, settled, more = 0 } = proof
  const { as_of, connected } = proof
  return (
    <div class="proof">
      {as_of === undefined && !settled && <p class="warning">The scene was still changing.</p>}
      {as_of !== undefined && (
        <p class="warning">
          {connected === false
            ? 'The application was not connected: its last scene was compared, as of '
            : 'The application did not confirm its scene: later changes are missing. It is as of '}
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
        <Lines title="Also changed" lines={also_changed} isWarning />
      )}
      {more > 0 && <p class="quiet">… and {more} more</p>}
      {no_changes === undefined && <p class="quiet">{comparedOnly.replace('o', 'O')}.</p>}
      {no_picture !== undefined && <p class="quiet">No picture: {no_picture}</p>}
    </div>
  )
}

function Lines({
  title,
  lines,
  nothing = nothingFollowed,
  isWarning = false,
}: {
  title: string
  lines: readonly string[]
  nothing?: string
  isWarning?: boolean
}) {
  return (
    <div class={isWarning ? 'warning' : ''}>
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
    </div>
  )
}

function Decide({ live, id, state }: { live: Live; id: string; state: NoteRow['state'] }) {
  const { login, drafts } = live
  if (login?.mayNote.value !== true) return null
  const reply = drafts.text(`reply ${id}`)
  const isOver = state === 'accepted' || state === 'closed'
  const canReply = state === 'answered' || isOver
  return (
    <div class="decide">
      {state === 'answered' && (
        <Action kind="primary" run={() => actOnNote(id, 'accept')}>
          Accept
        </Action>
      )}
      {canReply && (
        <>
          <label>
            <span class="unseen">Reply</span>
            <textarea
              rows={2}
              maxLength={4000}
              placeholder="What is still wrong?"
              value={reply.value}
              onInput={event => (reply.value = event.currentTarget.value)}
            />
          </label>
          <Action
            disabled={reply.value.trim() === ''}
            run={() => drafts.send(reply, sent => actOnNote(id, 'reopen', sent))}
          >
            Reply
          </Action>
        </>
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
