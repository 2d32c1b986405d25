import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Live } from '../live/live.ts'
import { readJson } from '../mcp/carrier.ts'
import { valueWords } from './object-detail.tsx'

interface Part {
  readonly value?: unknown
  readonly items?: readonly unknown[]
  readonly total?: number
}

/** A scene of any form: its members, read level by level. */
export function Outline({ live }: { live: Live }) {
  return (
    <section class="outline" aria-label="Members of the scene">
      <Level live={live} pointer="" />
    </section>
  )
}

function Level({ live, pointer }: { live: Live; pointer: string }) {
  const part = useSignal<Part | null>(null)
  const trouble = useSignal<string | null>(null)
  const { revision } = live.scene.meta.value ?? {}
  useEffect(() => {
    const uri = `scene://current?pointer=${encodeURIComponent(pointer)}&depth=1`
    readJson<Part>(live.carrier, uri).then(
      found => (part.value = found),
      (error: Error) => (trouble.value = error.message),
    )
  }, [live, pointer, revision])
  if (trouble.value !== null) return <p class="warning">{trouble.value}</p>
  if (part.value === null) return <p class="quiet">Reading …</p>
  const { items, total = 0, value } = part.value
  const members = items === undefined ? Object.entries(value ?? {}) : items.map(asMember)
  return (
    <ul>
      {members.map(([name, each]) => (
        <Member
          key={name}
          live={live}
          pointer={`${pointer}/${escaped(name)}`}
          name={name}
          value={each}
        />
      ))}
      {items !== undefined && total > items.length && (
        <li class="quiet">… and {total - items.length} more</li>
      )}
    </ul>
  )
}

function asMember(item: unknown, at: number): [string, unknown] {
  return [String(at), item]
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

interface MemberProps {
  readonly live: Live
  readonly pointer: string
  readonly name: string
  readonly value: unknown
}

function Member({ live, pointer, name, value }: MemberProps) {
  const isOpen = useSignal(false)
  // The server writes what lies deeper as its size.
  const isDeeper = typeof value === 'string' && /^\[(array|object): /.test(value)
  if (!isDeeper) {
    return (
      <li>
        <span class="name">{name}</span> {valueWords(value, name)}
      </li>
    )
  }
  return (
    <li>
      <button
        type="button"
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {isOpen.value ? '▾' : '▸'} {name} <span class="quiet">{String(value).slice(1, -1)}</span>
      </button>
      {isOpen.value && <Level live={live} pointer={pointer} />}
    </li>
  )
}
