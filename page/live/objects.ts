import { signal } from '@preact/signals'
import { asText, cleanText } from '../../src/lib/util/text.ts'
import type { JsonChange } from '../../src/lib/mcp/json-diff.ts'
import { type Carrier, McpError, readJson } from '../mcp/carrier.ts'
import type { SceneState } from './scene.ts'

const pageSize = 1000
const maxTextChars = 200
const fields = ['name', 'type', 'parent', 'visible', 'selected'] as const

/** What the tree shows of an object. */
export interface ObjectRow {
  readonly id: string
  readonly name?: string
  readonly type?: string
  readonly parent?: string
  readonly visible?: boolean
  readonly selected?: boolean
}

interface ObjectPage {
  readonly total: number
  readonly next_offset?: number
  readonly items: readonly ObjectRow[]
}

export type ObjectsState =
  | { readonly kind: 'loading'; readonly read: number }
  | { readonly kind: 'rows'; readonly rows: ReadonlyMap<string, ObjectRow> }
  /** The scene has no list of objects. */
  | { readonly kind: 'other' }
  | { readonly kind: 'failed'; readonly reason: string }

/** A few members of all objects, kept up to date by the changes of the scene while it is open. */
export class Objects {
  readonly state = signal<ObjectsState>({ kind: 'loading', read: 0 })
  /** When objects changed, by id; milliseconds since the epoch. */
  readonly changed = signal<ReadonlyMap<string, number>>(new Map())
  readonly #carrier: Carrier
  #pending: (readonly JsonChange[] | null)[] = []
  #isLoading = false
  readonly #stop: () => void

  constructor(carrier: Carrier, scene: SceneState) {
    this.#carrier = carrier
    this.#stop = scene.onStep(changes => {
      if (this.#isLoading) this.#pending.push(changes)
      else this.#apply(changes)
    })
    void this.#load()
  }

  close(): void {
    this.#stop()
  }

  async #load(): Promise<void> {
    this.#isLoading = true
    this.#pending = []
    try {
      this.state.value = await this.#readAll()
    } catch (error) {
      const isOther = error instanceof McpError && error.status === 200
      const reason = (error as Error).message
      this.state.value = isOther ? { kind: 'other' } : { kind: 'failed', reason }
    }
    this.#isLoading = false
    // What came meanwhile may be in some of the pages: applied again it changes nothing.
    const pending = this.#pending.splice(0)
    if (pending.includes(null)) this.#apply(null)
    else for (const changes of pending) this.#apply(changes)
  }

  async #readAll(): Promise<ObjectsState> {
    const rows = new Map<string, ObjectRow>()
    let [next, total]: [number | undefined, number] = [0, 0]
    while (next !== undefined) {
      const query: string = `fields=${fields.join(',')}&limit=${pageSize}&offset=${next}`
      const page: ObjectPage = await readJson(this.#carrier, `scene://current?${query}`)
      // Without a scene there is no list yet.
      for (const item of page.items ?? []) {
        const id = item?.id
        if (id !== undefined && id !== null) rows.set(asText(id), rowOf(item, asText(id)))
      }
      total = page.total ?? 0
      next = page.next_offset
      // Rows that are shown stay while they are read again.
      const isFirst = this.state.value.kind !== 'rows'
      if (next !== undefined && isFirst) this.state.value = { kind: 'loading', read: rows.size }
    }
    // A list of other things than objects with an id is no tree.
    return total > 0 && rows.size === 0 ? { kind: 'other' } : { kind: 'rows', rows }
  }

  #apply(changes: readonly JsonChange[] | null): void {
    const { value: state } = this.state
    const isReadAgain = changes === null || state.kind !== 'rows' || changes.some(isOfId)
    if (isReadAgain) return void this.#load()
    const rows = new Map(state.rows)
    const changed = new Map(this.changed.value)
    for (const change of changes) {
      const id = applyTo(rows, change)
      if (id !== null) changed.set(id, Date.now())
    }
    this.changed.value = changed
    this.state.value = { kind: 'rows', rows }
  }
}

/** Its row is of another object now: by its old id it is known to others. */
function isOfId({ path, kind }: JsonChange): boolean {
  return kind === 'changed' && /^\/objects\/\d+\/id$/.test(path)
}

/** Changes the row of the object that the change is about; null: it is about none. */
export function applyTo(rows: Map<string, ObjectRow>, change: JsonChange): string | null {
  const { path, kind, after } = change
  if (change.id === undefined || !path.startsWith('/objects/')) return null
  const id = asText(change.id)
  if (/^\/objects\/\d+$/.test(path)) {
    if (kind === 'removed' || kind === 'omitted') rows.delete(id)
    else rows.set(id, rowOf(after as Partial<ObjectRow>, id))
    return id
  }
  const [member = ''] = path.split('/').slice(3)
  const row = rows.get(id)
  if (row !== undefined && fields.includes(member as never)) {
    rows.set(id, rowOf({ ...row, [member]: after }, id))
  }
  return id
}

function rowOf(item: Partial<ObjectRow>, id: string): ObjectRow {
  const { name, type, parent, visible, selected } = item
  // A row has no room for more.
  const text = (value: unknown) =>
    value === undefined || value === null ? undefined : cleanText(String(value), maxTextChars)
  return {
    id,
    name: text(name),
    type: text(type),
    parent: parent === undefined || parent === null ? undefined : String(parent),
    visible,
    selected,
  }
}
