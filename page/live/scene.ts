import { signal } from '@preact/signals'
import { deltaLines, unknownText } from '../../src/lib/mcp/change-words.ts'
import type { JsonChange } from '../../src/lib/mcp/json-diff.ts'
import { parseExact } from '../../src/lib/util/exact-json.ts'
import type { JsonObject } from '../../src/lib/util/json.ts'
import { asText } from '../../src/lib/util/text.ts'
import type { Carrier, Content } from '../mcp/carrier.ts'
import { refresher } from './refresh.ts'

const sceneUri = 'scene://current'
/** Faster than a person reads, slower than a dragged object moves. */
const refreshMs = 250
/** Between reads of a scene that its application does not confirm. */
const unconfirmedMs = 2000
const maxEntries = 50
/** Changes of the same objects within this time are one entry. */
const mergeMs = 5000

/** A scene that the page has seen: its number, and the run of the server that counts it. */
interface KnownScene {
  readonly run: string
  readonly revision: number
}

/** `_meta["service-cli/scene"]` of every scene content. */
export interface SceneMeta extends KnownScene {
  readonly set_at: string | null
  readonly size: number
  readonly application: Application | null
}

export interface Application {
  readonly connected: boolean
  readonly dcc_type: string
  /** Since when it is connected or gone. */
  readonly since: string
  /** When the scene was last known to be what the application shows. */
  readonly as_of?: string
}

/** `scene://current?view=summary`; a scene of another form has none of these members. */
export interface Summary {
  readonly status?: 'no_snapshot'
  readonly dcc?: { readonly type?: string; readonly version?: string }
  readonly document?: {
    readonly name?: string
    readonly path?: string
    readonly modified?: boolean
  }
  readonly time?: { readonly frame?: number }
  readonly mode?: string
  readonly selection?: { readonly count?: number; readonly ids?: readonly unknown[] }
  readonly objects?: { readonly total?: number }
}

/** What changed at one time. */
export interface ChangeEntry {
  readonly id: number
  readonly atMs: number
  readonly lines: readonly string[]
  /** Ids of the objects that the lines are about. */
  readonly ids: readonly string[]
  /** The scene before them. */
  readonly since: KnownScene
}

interface Delta extends JsonObject {
  readonly status?: 'no_snapshot'
  readonly reset?: boolean
  readonly changes?: readonly JsonChange[]
  readonly truncated?: boolean
}

/** A step to the next revision; `changes` is null when the scene must be read again. */
export type SceneStep = (changes: readonly JsonChange[] | null) => void

/** The scene on one page, and what changed since this page was opened. */
export class SceneState {
  /** Null until it was read. */
  readonly summary = signal<Summary | null>(null)
  readonly meta = signal<SceneMeta | null>(null)
  /** Newest first. */
  readonly changes = signal<readonly ChangeEntry[]>([])
  /** Why the scene cannot be read. */
  readonly trouble = signal<string | null>(null)
  readonly #carrier: Carrier
  readonly #steps = new Set<SceneStep>()
  readonly #look: () => void
  #lastEntry = 0
  #unconfirmedTimer = 0
  /** The scene of the summary. */
  #summarised: KnownScene | null = null

  constructor(carrier: Carrier) {
    this.#carrier = carrier
    this.#look = refresher(refreshMs, () => this.#refresh())
    carrier.follow(sceneUri, this.#look)
  }

  /** Calls back with every step. Returns the end. */
  onStep(step: SceneStep): () => void {
    this.#steps.add(step)
    return () => this.#steps.delete(step)
  }

  async #refresh(): Promise<void> {
    try {
      const known = this.meta.value
      if (known !== null) await this.#step(known)
      // Not read yet, or the last read of it failed.
      if (!isSameScene(this.meta.value, this.#summarised)) {
        const content = await this.#carrier.read(`${sceneUri}?view=summary`)
        this.summary.value = JSON.parse(content.text ?? '{}') as Summary
        this.meta.value ??= metaOf(content)
        this.#summarised = this.meta.value
      }
      this.trouble.value = null
    } catch (error) {
      this.trouble.value = (error as Error).message
      throw error
    } finally {
      // An application does not say when it confirms an unchanged scene again.
      clearTimeout(this.#unconfirmedTimer)
      const isUnconfirmed = this.meta.value?.application?.as_of !== undefined
      if (isUnconfirmed && !document.hidden) {
        this.#unconfirmedTimer = window.setTimeout(this.#look, unconfirmedMs)
      }
    }
  }

  async #step(known: KnownScene): Promise<void> {
    const { delta, meta } = await this.#read(known)
    this.meta.value = meta
    if (isSameScene(meta, known)) return
    const isWhole = delta.changes !== undefined && delta.truncated !== true
    for (const step of this.#steps) step(isWhole ? (delta.changes ?? []) : null)
    await this.#note(known, delta)
  }

  async #read({ run, revision }: KnownScene): Promise<{ delta: Delta; meta: SceneMeta }> {
    const content = await this.#carrier.read(`scene://delta?since=${revision}&run=${run}`)
    return { delta: parseExact(content.text ?? '{}') as Delta, meta: metaOf(content) }
  }

  async #note(since: KnownScene, delta: Delta): Promise<void> {
    const { changes = [], reset } = delta
    const wasThere = this.summary.value?.status !== 'no_snapshot'
    const isThere = delta.status !== 'no_snapshot'
    if (wasThere !== isThere) {
      const isSameRun = since.run === this.meta.value?.run
      const gone = isSameRun
        ? 'The scene was withdrawn'
        : 'The server started again, without a scene'
      this.#add(since, [isThere ? 'The scene came' : gone], [])
      return
    }
    if (changes.length === 0 && reset !== true && delta.truncated !== true) return
    const [last, ...others] = this.changes.value
    const ids = [...new Set(changes.flatMap(idOf))]
    if (last !== undefined && isSame(last, ids)) {
      // A dragged object is one entry, with the whole way that it went, as long as the server knows it.
      const { delta: whole } = await this.#read(last.since)
      if (whole.reset !== true) {
        const entry = { ...last, atMs: Date.now(), lines: linesOf(whole) }
        this.changes.value = [entry, ...others]
        return
      }
    }
    this.#add(since, linesOf(delta), ids)
  }

  #add(since: KnownScene, lines: readonly string[], ids: readonly string[]): void {
    const entry = { id: ++this.#lastEntry, atMs: Date.now(), lines, ids, since }
    this.changes.value = [entry, ...this.changes.value].slice(0, maxEntries)
  }
}

function isSameScene(one: KnownScene | null, other: KnownScene | null): boolean {
  return one !== null && one.run === other?.run && one.revision === other.revision
}

function linesOf(delta: Delta): readonly string[] {
  if (delta.reset === true) return [unknownText(delta)]
  const lines = deltaLines(delta)
  return lines.length === 0 ? ['Changed, and changed back'] : lines
}

function isSame(last: ChangeEntry, ids: readonly string[]): boolean {
  return (
    Date.now() - last.atMs < mergeMs &&
    ids.length > 0 &&
    ids.length === last.ids.length &&
    ids.every(id => last.ids.includes(id))
  )
}

function idOf({ id }: JsonChange): readonly string[] {
  return id === undefined ? [] : [asText(id)]
}

function metaOf({ _meta }: Content): SceneMeta {
  const meta = _meta?.['service-cli/scene'] as SceneMeta | undefined
  if (meta === undefined) throw new Error('the answer does not say which scene it is of')
  return meta
}
