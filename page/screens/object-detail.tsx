import { useSignal } from '@preact/signals'
import type { Live } from '../live/live.ts'
import { readJson } from '../mcp/carrier.ts'
import { addNote } from '../mcp/writes.ts'
import { NoteForm } from '../parts/note-form.tsx'
import { Ago } from '../parts/small.tsx'
import { useRead } from '../parts/use-read.ts'

type ObjectFacts = Readonly<Record<string, unknown>>

interface DetailProps {
  readonly live: Live
  readonly id: string
  /** When it changed last, since the page was opened. */
  readonly changedMs: number | undefined
}

/** What the scene says of one object, in words. */
export function ObjectDetail({ live, id, changedMs }: DetailProps) {
  const uri = `scene://current?ids=${encodeURIComponent(JSON.stringify([id]))}`
  const reading = useRead(
    () => readJson<{ items: readonly ObjectFacts[] }>(live.carrier, uri),
    [id, changedMs],
  )
  const { value, trouble } = reading.value
  const facts = value?.items[0]
  const { name = id, ...members } = facts ?? {}
  return (
    <>
      <h2>{String(name)}</h2>
      {trouble !== null && <p class="warning">{trouble}</p>}
      {value !== null && !facts && <p class="warning">It is no longer in the scene.</p>}
      {changedMs !== undefined && (
        <p class="quiet">
          Changed <Ago at={changedMs} />
        </p>
      )}
      <dl class="facts lines">
        {Object.entries(members)
          .filter(([member]) => member !== 'uid' && (member !== 'id' || name !== id))
          .map(([member, value]) => (
            <div key={member}>
              <dt class="quiet">{labelOf(member)}</dt>
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
  if (live.login === null || !live.carrier.schemes.value.has('notes')) return null
  return (
    <>
      <NoteForm
        live={live}
        draft={`object ${id}`}
        label="Tell your AI what to change"
        make={async text => {
          await addNote({ text, targets: [{ id, name }] })
          made.value = true
        }}
      />
      {made.value && <p role="status">The note is made.</p>}
    </>
  )
}
