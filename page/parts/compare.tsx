import { useSignal } from '@preact/signals'
import type { PixelBox } from '../../src/lib/mcp/note-proof.ts'
import type { Carrier } from '../mcp/carrier.ts'
import type { Pin } from '../live/drafts.ts'
import { PinMark } from './pin-picture.tsx'
import { useRead } from './use-read.ts'

interface CompareProps {
  readonly carrier: Carrier
  readonly before: string
  readonly after: string | undefined
  readonly pin: Pin | undefined
  readonly difference: { readonly share: number; readonly box: PixelBox | null } | undefined
}

const sides = 'Left of the line: before. Right of it: after.'

/** Two pictures from one view over each other, with a slider between them. */
export function Compare({ carrier, before, after, pin, difference }: CompareProps) {
  const [{ value: first, trouble }, { value: second, trouble: noSecond }] = [
    usePicture(carrier, before),
    usePicture(carrier, after),
  ]
  const size = useSignal<{ width: number; height: number } | null>(null)
  const box = difference?.box ?? null
  const moved = useSignal<number | null>(null)
  const at = moved.value ?? startOf(box, size.value?.width)
  if (first === null) {
    return (
      <p class="quiet">
        {trouble === null ? 'Reading the picture …' : `The picture is missing: ${trouble}`}
      </p>
    )
  }
  return (
    <figure class="compare">
      <div class="pair">
        <img
          src={first}
          alt="Before"
          onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) => {
            size.value = { width, height }
          }}
        />
        {pin !== undefined && <PinMark pin={pin} />}
        {second !== null && (
          <>
            <img
              class="over"
              src={second}
              alt="After"
              style={{ clipPath: `inset(0 0 0 ${at}%)` }}
            />
            <span class="line" style={{ left: `${at}%` }} aria-hidden="true" />
            {box !== null && size.value !== null && <Mark box={box} of={size.value} />}
            <input
              type="range"
              min="0"
              max="100"
              value={at}
              aria-label={sides}
              onInput={event => (moved.value = Number(event.currentTarget.value))}
            />
          </>
        )}
      </div>
      <figcaption>
        {second !== null
          ? captionOf(difference?.share)
          : noSecond === null
            ? 'Before'
            : `Before; the picture after the answer is missing: ${noSecond}`}
      </figcaption>
    </figure>
  )
}

/** The line stands left of what changed, so that it is seen at first. */
function startOf(box: PixelBox | null, width: number | undefined): number {
  if (box === null || width === undefined) return 50
  return Math.max(0, Math.round((box.left / width) * 100) - 2)
}

function captionOf(share: number | undefined): string {
  if (share === undefined) return sides
  if (share === 0) return 'No pixel is different.'
  return `${sides} ${(share * 100).toPrecision(2)} % of the picture is different.`
}

function Mark({ box, of }: { box: PixelBox; of: { width: number; height: number } }) {
  const style = {
    left: `${(box.left / of.width) * 100}%`,
    top: `${(box.top / of.height) * 100}%`,
    width: `${(box.width / of.width) * 100}%`,
    height: `${(box.height / of.height) * 100}%`,
  }
  return <span class="mark" style={style} aria-hidden="true" />
}

/** The source of an image element; null without a URI. */
function usePicture(carrier: Carrier, uri: string | undefined) {
  const read = async () => {
    if (uri === undefined) return null
    const { blob, mimeType } = await carrier.read(uri)
    return `data:${mimeType};base64,${blob}`
  }
  return useRead(read, [uri]).value
}
