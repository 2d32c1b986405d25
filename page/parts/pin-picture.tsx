import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Carrier } from '../mcp/carrier.ts'

/** A place on a picture: shares of its width and height, from the top left. */
export type Pin = readonly [number, number]

/** What a note needs of the picture that a person pointed at. */
export interface Pointed {
  readonly pin: Pin
  /** With it the application draws the same picture again. */
  readonly view: object
}

interface PinPictureProps {
  readonly carrier: Carrier
  readonly pointed: Pointed | null
  readonly onPoint: (pointed: Pointed | null) => void
}

const uri = 'capture://viewport?max_width=1280'
const step = 0.02

/** The view on the screen, to point at something in it. */
export function PinPicture({ carrier, pointed, onPoint }: PinPictureProps) {
  const source = useSignal<string | null>(null)
  const view = useSignal<object | null>(null)
  const trouble = useSignal<string | null>(null)
  useEffect(() => {
    carrier.read(uri).then(
      ({ blob, mimeType, _meta }) => {
        const { view: drawn } = (_meta?.['service-cli/capture'] ?? {}) as { view?: object }
        if (drawn === undefined) trouble.value = 'The application cannot draw this view again.'
        else view.value = drawn
        source.value = `data:${mimeType};base64,${blob}`
      },
      (error: Error) => (trouble.value = error.message),
    )
  }, [carrier])
  if (source.value === null) return <p class="quiet">{trouble.value ?? 'Taking a picture …'}</p>
  const drawn = view.value
  if (drawn === null) return <p class="quiet">{trouble.value}</p>
  const [x, y] = pointed?.pin ?? [0.5, 0.5]
  const point = (left: number, top: number) => {
    const within = (share: number) => Math.round(Math.min(1, Math.max(0, share)) * 1e4) / 1e4
    onPoint({ pin: [within(left), within(top)], view: drawn })
  }
  const keys: Readonly<Record<string, Pin>> = {
    ArrowLeft: [-step, 0],
    ArrowRight: [step, 0],
    ArrowUp: [0, -step],
    ArrowDown: [0, step],
    Enter: [0, 0],
  }
  return (
    <div
      class="pair pointing"
      role="application"
      tabIndex={0}
      aria-label="The view: click to point at something, or move the pin with the arrow keys"
      onKeyDown={event => {
        const moved = keys[event.key]
        if (moved === undefined) return
        event.preventDefault()
        point(x + moved[0], y + moved[1])
      }}
      onClick={event => {
        const { left, top, width, height } = event.currentTarget.getBoundingClientRect()
        point((event.clientX - left) / width, (event.clientY - top) / height)
      }}
    >
      <img src={source.value} alt="The view on the screen" />
      {pointed !== null && <PinMark pin={pointed.pin} />}
    </div>
  )
}

export function PinMark({ pin: [x, y] }: { pin: Pin }) {
  return <span class="pin" style={{ left: `${x * 100}%`, top: `${y * 100}%` }} aria-hidden="true" />
}
