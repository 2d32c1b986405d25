import { type ReadonlySignal, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Live } from '../live/live.ts'
import type { Objects } from '../live/objects.ts'
import { refresher } from '../live/refresh.ts'
import { readJson } from '../mcp/carrier.ts'
import { serverNow } from '../mcp/server-clock.ts'
import { boxesOf, type Placed } from '../parts/boxes-of.ts'
import type { BoxView } from '../three/box-view.ts'

/** More boxes are a blur, and slow without a graphics card. */
const maxBoxes = 3000
const pageSize = 1000
const changedForMs = 10_000
const refreshMs = 1000

interface BoxesProps {
  readonly live: Live
  readonly objects: Objects
  readonly selected: ReadonlySignal<string | null>
  readonly onSelect: (id: string) => void
}

/** The objects as boxes in space. */
export function Boxes({ live, objects, selected, onSelect }: BoxesProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const view = useSignal<BoxView | null>(null)
  const placed = useSignal<readonly Placed[]>([])
  const total = useSignal(0)
  const failure = useSignal<string | null>(null)

  useEffect(() => {
    const element = canvas.current
    if (element === null) return
    const measure = new ResizeObserver(() =>
      view.value?.resize(element.clientWidth, element.clientHeight),
    )
    void (async () => {
      try {
        const { BoxView } = await import('../three/box-view.ts')
        view.value = new BoxView({ canvas: element, colours: coloursOf(element), onSelect })
        measure.observe(element)
      } catch {
        failure.value = 'This browser draws no 3D.'
      }
    })()
    return () => {
      measure.disconnect()
      view.value?.close()
    }
  }, [])

  useEffect(() => {
    const read = refresher(refreshMs, async () => {
      try {
        const page = await readPlaced(live)
        placed.value = page.items
        total.value = page.total
      } catch (error) {
        failure.value = (error as Error).message
      }
    })
    read()
    return live.scene.onStep(read)
  }, [live])

  useSignalEffect(() => {
    const up = live.scene.summary.value?.axes?.up === 'y' ? 'y' : 'z'
    const now = serverNow()
    const changed = objects.changed.value
    view.value?.show(
      boxesOf(placed.value, up),
      selected.value,
      id => now - (changed.get(id) ?? 0) < changedForMs,
    )
  })

  return (
    <div class="boxes">
      <canvas
        ref={canvas}
        tabIndex={0}
        aria-label="Objects as boxes; the list beside it has them as text"
      />
      {failure.value !== null && <p class="warning">{failure.value}</p>}
      {total.value > maxBoxes && (
        <p class="quiet">
          The first {maxBoxes} of {total.value} objects.
        </p>
      )}
    </div>
  )
}

async function readPlaced(live: Live): Promise<{ items: readonly Placed[]; total: number }> {
  const items: Placed[] = []
  let [total, next]: [number, number | undefined] = [0, 0]
  while (next !== undefined && items.length < maxBoxes) {
    const query: string = `fields=bbox,world_translate,translate&limit=${pageSize}&offset=${next}`
    const page: { items: Placed[]; total: number; next_offset?: number } = await readJson(
      live.carrier,
      `scene://current?${query}`,
    )
    items.push(...page.items)
    total = page.total
    next = page.next_offset
  }
  return { items, total }
}

function coloursOf(element: Element) {
  const style = getComputedStyle(element)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  return { usual: '#7f8b99', selected: colour('--box-selected'), changed: colour('--box-changed') }
}
