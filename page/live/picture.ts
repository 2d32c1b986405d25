import { signal } from '@preact/signals'
import { type Carrier, listKey, McpError } from '../mcp/carrier.ts'
import { refresher } from './refresh.ts'

const windowUri = 'capture://current_window'
const viewportUri = 'capture://viewport'
/** A picture costs the application at most one part in so many of its time. */
const shareOfTime = 50
const leastMs = 1000
/** A read that waited for a busy application or a slow network says little of its cost. */
const mostMs = 30_000
/** No sharper than the screen. */
const width = Math.min(2560, Math.ceil(screen.width * devicePixelRatio))
/** An application tells of a change before its window shows it. */
const drawnMs = 300

export type PictureState =
  /** Why there is none; null: it is being taken. */
  | { readonly kind: 'none'; readonly reason: string | null }
  | {
      readonly kind: 'shown'
      readonly source: string
      readonly atMs: number
      /** The scene may have changed since: a newer picture will be taken. */
      readonly isBehind: boolean
      /** Why there is no newer one. */
      readonly stale: string | null
    }

/** The picture of the application, taken again after a change while somebody looks at it. */
export class Picture {
  readonly state = signal<PictureState>({ kind: 'none', reason: null })
  readonly #carrier: Carrier
  /** By the clock that nobody sets. */
  #restUntilMs = 0
  #watched = 0
  #isDue = true
  #isTaking = false
  #timer = 0

  constructor(carrier: Carrier) {
    this.#carrier = carrier
    const due = refresher(0, async () => {
      this.#isDue = true
      await this.#take()
    })
    const changed = () => {
      const { value: state } = this.state
      if (state.kind === 'shown') this.state.value = { ...state, isBehind: true }
      setTimeout(due, drawnMs)
    }
    carrier.follow('scene://current', changed)
    carrier.follow(listKey, due)
    document.addEventListener('visibilitychange', due)
  }

  /** A screen shows it. Returns the end. */
  watch(): () => void {
    this.#watched++
    void this.#take()
    return () => void this.#watched--
  }

  async #take(): Promise<void> {
    clearTimeout(this.#timer)
    if (!this.#isDue || this.#isTaking || this.#watched === 0 || document.hidden) return
    const waitMs = this.#restUntilMs - performance.now()
    if (waitMs > 0) {
      this.#timer = window.setTimeout(() => void this.#take(), waitMs)
      return
    }
    this.#isDue = false
    const startedMs = performance.now()
    this.#isTaking = true
    const state = await this.#read(Date.now())
    this.#isTaking = false
    const endedMs = performance.now()
    const restMs = Math.max(leastMs, (endedMs - startedMs) * shareOfTime)
    this.#restUntilMs = endedMs + Math.min(mostMs, restMs)
    this.state.value = state
    if (this.#isDue) await this.#take()
  }

  async #read(atMs: number): Promise<PictureState> {
    let refused: Error | null = null
    for (const uri of [windowUri, viewportUri]) {
      try {
        const { blob, mimeType } = await this.#carrier.read(`${uri}?max_width=${width}`)
        const source = `data:${mimeType};base64,${blob}`
        return { kind: 'shown', source, atMs, isBehind: false, stale: null }
      } catch (error) {
        // The window may be covered or absent while the application draws on request.
        refused ??= error as Error
        if (!(error instanceof McpError)) break
      }
    }
    const reason = refused?.message ?? 'the picture is empty'
    const before = this.state.value
    // The server serves no picture any more: the application is gone, or its user shares none.
    const isOver = refused instanceof McpError && !this.#carrier.schemes.value.has('capture')
    if (before.kind === 'none' || isOver) return { kind: 'none', reason }
    return { ...before, stale: reason }
  }
}
