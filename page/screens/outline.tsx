import { useSignal } from '@preact/signals'
import type { Live } from '../live/live.ts'
import { readJson } from '../mcp/carrier.ts'
import { useRead } from '../parts/use-read.ts'
import { valueWords } from './object-detail.tsx'

/** A scene of any form: its members, opened level by level. */
export function Outline({ live }: { live: Live }) {
  const { run, revision } = live.scene.meta.value ?? {}
  const reading = useRead(() => readJson<object>(live.carrier, 'scene://current'), [run, revision])
  const { value, trouble } = reading.value
  return (
    <section class="outline" aria-label="Members of the scene">
      {trouble !== null && <p class="warning">{trouble}</p>}
      {value === null ? <p class="quiet">Reading …</p> : <Level value={value} />}
    </section>
  )
}

const maxShown = 200

function Level({ value }: { value: object }) {
  const members = Object.entries(value)
  return (
    <ul>
      {members.slice(0, maxShown).map(([name, each]) => (
        <Member key={name} name={name} value={each} />
      ))}
      {members.length > maxShown && <li class="quiet">… and {members.length - maxShown} more</li>}
    </ul>
  )
}

function Member({ name, value }: { name: string; value: unknown }) {
  const isOpen = useSignal(false)
  if (typeof value !== 'object' || value === null || isShort(value)) {
    return (
      <li>
        <span class="quiet">{name}</span> {valueWords(value, name)}
      </li>
    )
  }
  return (
    <li>
      <button
        type="button"
        class="plain"
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {isOpen.value ? '▾' : '▸'} {name} <span class="quiet">{sizeOf(value)}</span>
      </button>
      {isOpen.value && <Level value={value} />}
    </li>
  )
}

function sizeOf(value: object): string {
  const { length } = Object.keys(value)
  const [kind, part] = Array.isArray(value) ? ['array', 'item'] : ['object', 'member']
  return `${kind}: ${length} ${part}${length === 1 ? '' : 's'}`
}

/** As of a position or a matrix. */
function isShort(value: object): boolean {
  return Array.isArray(value) && value.length <= 16 && value.every(each => typeof each === 'number')
}
