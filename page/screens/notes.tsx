import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Live } from '../live/live.ts'
import { type NoteDetail, type NoteEntry, type NoteRow, waitsForPerson } from '../live/notes.ts'
import { nothingFollowed } from '../../src/lib/mcp/change-words.ts'
import { comparedOnly, nothingListed } from '../../src/lib/mcp/note-proof.ts'
import type { NoteProof } from '../../src/lib/mcp/note-proof.ts'
import { cleanText } from '../../src/lib/util/text.ts'
import { Compare } from '../parts/compare.tsx'
import { PinPicture } from '../parts/pin-picture.tsx'
import { Action, Ago, Empty } from '../parts/small.tsx'

/** What the person has said, what the AI has answered, and what really changed. */
export function NotesScreen({ live }: { live: Live }) {
  const chosen = useSignal<string | null>(null)
  const first = useSignal<string | null>(null)
  const rows = live.notes.rows.value
  const waiting = useComputed(() => live.notes.rows.value?.find(waitsForPerson)?.id ?? null)
  if (rows === null) return <Empty title="Reading the notes …" />
  // What is shown stays until the person chooses: another answer must not take its place.
  first.value ??= waiting.value ?? rows[0]?.id ?? null
  const id = chosen.value ?? first.value
  return (
    <div class={`notes ${chosen.value === null ? 'at-list' : 'at-note'}`}>
      <section class="list" aria-label="Notes">
        <NewNote live={live} onMade={made => (chosen.value = made)} />
        {rows.length === 0 && (
          <p class="quiet">
            No note in this document yet. In Blender: select an object, F3, Note on Selection.
          </p>
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
        {chosen.value !== null && (
          <button type="button" class="back" onClick={() => (chosen.value = null)}>
            All notes
          </button>
        )}
        {id !== null && <Note key={id} live={live} id={id} />}
      </section>
    </div>
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

function NewNote({ live, onMade }: { live: Live; onMade: (id: string) => void }) {
  const { person } = live
  const isPointing = useSignal(person !== null && person.drafts.view.value !== null)
  if (person === null) return null
  const { drafts, writes } = person
  const text = drafts.text('note')
  const pointAtNothing = () => {
    isPointing.value = false
    drafts.view.value = null
    drafts.pin.value = null
  }
  if (!person.login.mayNote.value) {
    return (
      <p class="quiet">
        To make notes, log in: run <code>service-cli page</code> and open its link.
      </p>
    )
  }
  return (
    <div class="new-note">
      <label>
        New note
        <textarea
          rows={2}
          maxLength={4000}
          placeholder="What should your AI change?"
          value={text.value}
          onInput={event => (text.value = event.currentTarget.value)}
        />
      </label>
      <Action
        kind="primary"
        disabled={text.value.trim() === ''}
        run={() =>
          drafts.send(text, async sent => {
            const [pin, drawn] = [drafts.pin.value, drafts.view.value]
            const place = pin === null || drawn === null ? {} : { pin, view: drawn.view }
            const { id } = await writes.addNote({ text: sent, ...place })
            onMade(id)
            pointAtNothing()
          })
        }
      >
        Make a note
      </Action>
      {live.carrier.schemes.value.has('capture') && (
        <button
          type="button"
          aria-expanded={isPointing.value}
          onClick={() => {
            if (isPointing.value) pointAtNothing()
            else isPointing.value = true
          }}
        >
          {isPointing.value ? 'Point at nothing' : 'Point at something'}
        </button>
      )}
      {isPointing.value && <PinPicture carrier={live.carrier} drafts={drafts} />}
    </div>
  )
}

function Note({ live, id }: { live: Live; id: string }) {
  const note = useSignal<NoteDetail | null>(null)
  const trouble = useSignal<string | null>(null)
  const version = live.notes.version.value
  useEffect(() => {
    live.notes.detail(id).then(
      found => {
        note.value = found
        trouble.value = null
      },
      (error: Error) => (trouble.value = error.message),
    )
  }, [live, id, version])
  if (note.value === null) return <p class="quiet">{trouble.value ?? 'Reading …'}</p>
  const { number, text, state, author, created_at, targets, before, pin, entries } = note.value
  const proof = entries.findLast(({ action }) => action === 'answer')?.proof
  return (
    <article class="note">
      <div class="facts-of-note">
        <h2>
          Note {number} <State row={{ state }} />
        </h2>
        <p class="said">{text}</p>
        <p class="quiet">
          {author}, <Ago at={created_at} />
          {`, on ${targets.length === 0 ? 'no object' : targets.map(targetText).join(', ')}`}
        </p>
        <ol class="history">
          {entries.map(entry => (
            <Entry key={entry.at} entry={entry} />
          ))}
        </ol>
        {proof !== undefined && <Proof proof={proof} />}
        <Decide live={live} id={id} state={state} />
      </div>
      <Pictures live={live} before={before} pin={pin} proof={proof} />
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
  before,
  pin,
  proof,
}: {
  live: Live
  before: string | undefined
  pin: NoteDetail['pin']
  proof: NoteProof | undefined
}) {
  if (before === undefined) return null
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
  const { person } = live
  if (person === null || !person.login.mayNote.value) return null
  const { writes, drafts } = person
  const reply = drafts.text(`reply ${id}`)
  const isOver = state === 'accepted' || state === 'closed'
  const canReply = state === 'answered' || isOver
  return (
    <div class="decide">
      {state === 'answered' && (
        <Action kind="primary" run={() => writes.act(id, 'accept')}>
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
            run={() => drafts.send(reply, sent => writes.act(id, 'reopen', sent))}
          >
            Reply
          </Action>
        </>
      )}
      {state !== 'closed' && <Action run={() => writes.act(id, 'close')}>Close</Action>}
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
