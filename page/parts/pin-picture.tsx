import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Pin } from '../live/drafts.ts'
import type { Live } from '../live/live.ts'

const uri = 'capture://viewport?max_width=1920'
const step = 0.02
const keys: Readonly<Record<string, Pin>> = {
  ArrowLeft: [-step, 0],
  ArrowRight: [step, 0],
  ArrowUp: [0, -step],
  ArrowDown: [0, step],
  Enter: [0, 0],
}

/** The view on the screen, to point at something in it. */
export function PinPicture({ live: { carrier, drafts } }: { live: Live }) {
  const trouble = useSignal<string | null>(null)
  useEffect(() => {
    // A view that was pointed at before another screen was shown is kept.
    if (drafts.view.value !== null) return
    let isOver = false
    carrier.read(uri).then(
      ({ blob, mimeType, _meta }) => {
        if (isOver) return
        const { view } = (_meta?.['service-cli/capture'] ?? {}) as { view?: object }
        if (view === undefined) trouble.value = 'The application cannot draw this view again.'
        else drafts.view.value = { source: `data:${mimeType};base64,${blob}`, view }
      },
      (error: Error) => (trouble.value = error.message),
    )
    return () => void (isOver = true)
  }, [])
  const drawn = drafts.view.value
  if (drawn === null) return <p class="quiet">{trouble.value ?? 'Taking a picture …'}</p>
  const pin = drafts.pin.value
  const point = (left: number, top: number) => {
    const within = (share: number) => Math.round(Math.min(1, Math.max(0, share)) * 1e4) / 1e4
    drafts.pin.value = [within(left), within(top)]
  }
  return (
    <figure class="compare">
      <div
        class="pair pointing"
        role="application"
        tabIndex={0}
        aria-label="The view: click to point at something, or move the pin with the arrow keys"
        onKeyDown={event => {
          const moved = keys[event.key]
          if (moved === undefined) return
          event.preventDefault()
          const [x, y] = pin ?? [0.5, 0.5]
          point(x + moved[0], y + moved[1])
        }}
        onClick={event => {
          const { left, top, width, height } = event.currentTarget.getBoundingClientRect()
          point((event.clientX - left) / width, (event.clientY - top) / height)
        }}
      >
        <img src={drawn.source} alt="The view on the screen" />
        {pin !== null && <PinMark pin={pin} />}
      </div>
      <figcaption>
        {pin === null
          ? 'Click what you mean.'
          : 'The note shows this place. It names the object there where the application tells which it is, and otherwise none.'}
      </figcaption>
    </figure>
  )
}

export function PinMark({ pin: [x, y] }: { pin: Pin }) {
  return <span class="pin" style={{ left: `${x * 100}%`, top: `${y * 100}%` }} aria-hidden="true" />
}
