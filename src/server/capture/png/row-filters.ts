/** Filters of the rows of a PNG file (PNG specification, section 9), three bytes a pixel. */
export const rowFilters = ['none', 'sub', 'up', 'paeth'] as const
export type RowFilter = (typeof rowFilters)[number]

const marks: Readonly<Record<RowFilter, number>> = { none: 0, sub: 1, up: 2, paeth: 4 }
const pixelBytes = 3

/** Rows `from` to `to`, each with the mark of its filter in front. */
export function filterRows(
  bytes: Uint8Array,
  rowBytes: number,
  filter: RowFilter,
  from: number,
  to: number,
): Uint8Array {
  const filtered = new Uint8Array((rowBytes + 1) * (to - from))
  for (let row = from; row < to; row++) {
    const start = row * rowBytes
    const target = (row - from) * (rowBytes + 1)
    filtered[target] = marks[filter]
    if (filter === 'none') {
      filtered.set(bytes.subarray(start, start + rowBytes), target + 1)
    } else {
      write[filter](bytes, start, rowBytes, filtered, target + 1)
    }
  }
  return filtered
}

type WriteRow = (
  bytes: Uint8Array,
  start: number,
  rowBytes: number,
  into: Uint8Array,
  to: number,
) => void

const write: Readonly<Record<Exclude<RowFilter, 'none'>, WriteRow>> = {
  sub(bytes, start, rowBytes, into, to) {
    for (let at = 0; at < rowBytes; at++) {
      const left = at < pixelBytes ? 0 : (bytes[start + at - pixelBytes] as number)
      into[to + at] = (bytes[start + at] as number) - left
    }
  },
  up(bytes, start, rowBytes, into, to) {
    const above = start - rowBytes
    for (let at = 0; at < rowBytes; at++) {
      into[to + at] =
        (bytes[start + at] as number) - (above < 0 ? 0 : (bytes[above + at] as number))
    }
  },
  paeth(bytes, start, rowBytes, into, to) {
    const above = start - rowBytes
    for (let at = 0; at < rowBytes; at++) {
      const left = at < pixelBytes ? 0 : (bytes[start + at - pixelBytes] as number)
      const up = above < 0 ? 0 : (bytes[above + at] as number)
      const corner = at < pixelBytes || above < 0 ? 0 : (bytes[above + at - pixelBytes] as number)
      into[to + at] = (bytes[start + at] as number) - paeth(left, up, corner)
    }
  },
}

function paeth(left: number, up: number, corner: number): number {
  const fromLeft = Math.abs(up - corner)
  const fromUp = Math.abs(left - corner)
  const fromCorner = Math.abs(left + up - 2 * corner)
  if (fromLeft <= fromUp && fromLeft <= fromCorner) return left
  return fromUp <= fromCorner ? up : corner
}
