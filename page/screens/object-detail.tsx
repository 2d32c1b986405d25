import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Live } from '../live/live.ts'
import { readJson } from '../mcp/carrier.ts'
import { Action, Ago } from '../parts/small.tsx'

type ObjectFacts = Readonly<Record<string, unknown>>

interface DetailProps {
  readonly live: Live
  readonly id: string
  /** When it changed last, since the page was opened. */
  readonly changedMs: number | undefined
}

/** All that the scene says of one object, in words. */
export function ObjectDetail({ live, id, changedMs }: DetailProps) {
  const facts = useSignal<ObjectFacts | null>(null)
  const trouble = useSignal<string | null>(null)
  useEffect(() => {
    const uri = `scene://current?ids=${encodeURIComponent(JSON.stringify([id]))}`
    readJson<{ items: readonly ObjectFacts[] }>(live.carrier, uri).then(
      ({ items }) => {
        facts.value = items[0] ?? facts.value
        trouble.value = items.length === 0 ? 'It is no longer in the scene.' : null
      },
      (error: Error) => (trouble.value = error.message),
    )
  }, [live, id, changedMs])
  const { name = id, ...members } = facts.value ?? {}
  return (
    <>
      <h2>{String(name)}</h2>
      {trouble.value !== null && <p class="warning">{trouble.value}</p>}
      {changedMs !== undefined && (
        <p class="quiet">
          Changed <Ago at={changedMs} />
        </p>
      )}
      <dl class="facts">
        {Object.entries(members)
          .filter(([member]) => member !== 'id' || name !== id)
          .map(([member, value]) => (
            <div key={member}>
              <dt>{labelOf(member)}</dt>
              <dd>{valueWords(value, member)}</dd>
            </div>
          ))}
      </dl>
      <NoteOnObject live={live} id={id} name={String(name)} />
    </>
  )
}

const labels: Readonly<Record<string, string>> = {
  translate: 'Position',
  world_translate: 'Position in the world',
  rotate: 'Rotation',
  rotate_order: 'Rotation order',
  bbox: 'Bounds',
  matrix_world: 'Matrix in the world',
}

function labelOf(member: string): string {
  if (Object.hasOwn(labels, member)) return labels[member]!
  const words = member.replaceAll('_', ' ')
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

/** A value for people: yes and no, numbers of a length that can be read, none. */
export function valueWords(value: unknown, member = ''): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') {
    const text = String(Number(value.toPrecision(6)))
    return /rotat|angle/.test(member) ? `${text}°` : text
  }
  if (typeof value === 'string') return value
  if (Array.isArray(value)) {
    return value.length === 0 ? 'none' : value.map(each => valueWords(each, member)).join(', ')
  }
  return Object.entries(value)
    .map(([name, each]) => `${name.replaceAll('_', ' ')}: ${valueWords(each, name)}`)
    .join('; ')
}

function NoteOnObject({ live, id, name }: { live: Live; id: string; name: string }) {
  const made = useSignal(false)
  const { person, carrier } = live
  if (person === null || !carrier.schemes.value.has('notes')) return null
  const { drafts, writes } = person
  const text = drafts.text(`object ${id}`)
  if (!person.login.mayNote.value) {
    return (
      <p class="quiet">
        To tell your AI what to change here, log in: run <code>service-cli page</code> and open its
        link.
      </p>
    )
  }
  return (
    <div class="new-note">
      <label>
        Tell your AI what to change
        <textarea
          rows={3}
          maxLength={4000}
          value={text.value}
          onInput={event => {
            text.value = event.currentTarget.value
            made.value = false
          }}
        />
      </label>
      <Action
        kind="primary"
        disabled={text.value.trim() === ''}
        run={() =>
          drafts.send(text, async sent => {
            await writes.addNote({ text: sent, targets: [{ id, name }] })
            made.value = true
          })
        }
      >
        Make a note
      </Action>
      {made.value && <p role="status">The note is made.</p>}
    </div>
  )
}
