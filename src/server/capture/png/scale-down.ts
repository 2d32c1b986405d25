import type { RgbPicture } from './pixels.ts'

/** The height that keeps the shape of the picture. */
function heightFor({ width, height }: RgbPicture, newWidth: number): number {
  return Math.max(1, Math.round((height * newWidth) / width))
}

/**
 * A smaller picture of which each pixel is the mean of what it covers: thin lines and small text
 * become faint, not broken. Never made larger.
 */
export function scaleDown(picture: RgbPicture, newWidth: number): RgbPicture {
  const width = Math.max(1, Math.min(newWidth, picture.width))
  if (width === picture.width) return picture
  const height = Math.min(heightFor(picture, width), picture.height)
  const bytes = new Uint8Array(width * height * 3)
  const columns = sharesOf(picture.width, width)
  const rows = sharesOf(picture.height, height)
  const sums = new Float64Array(width * 3)
  const row = new Float64Array(width * 3)
  for (let y = 0; y < height; y++) {
    const { first, shares } = rows[y] as Share
    sums.fill(0)
    for (let index = 0; index < shares.length; index++) {
      meanAcross(picture, first + index, columns, row)
      const share = shares[index] as number
      for (let at = 0; at < row.length; at++)
        sums[at] = (sums[at] as number) + share * (row[at] as number)
    }
    for (let at = 0; at < sums.length; at++)
      bytes[y * sums.length + at] = Math.round(sums[at] as number)
  }
  return { bytes, width, height }
}

/** Which old pixels are in a new one, and how much of it each is; the sum is 1. */
interface Share {
  readonly first: number
  readonly shares: Float64Array
}

function sharesOf(from: number, to: number): Share[] {
  return Array.from({ length: to }, (_, index) => {
    const start = (index * from) / to
    const end = ((index + 1) * from) / to
    const first = Math.floor(start)
    const last = Math.min(from, Math.ceil(end - 1e-9))
    const shares = new Float64Array(last - first)
    for (let at = first; at < last; at++) {
      shares[at - first] = (Math.min(at + 1, end) - Math.max(at, start)) / (end - start)
    }
    return { first, shares }
  })
}

function meanAcross(picture: RgbPicture, y: number, columns: Share[], into: Float64Array) {
  const { bytes, width } = picture
  for (let x = 0; x < columns.length; x++) {
    const { first, shares } = columns[x] as Share
    let at = (y * width + first) * 3
    let red = 0
    let green = 0
    let blue = 0
    for (let index = 0; index < shares.length; index++, at += 3) {
      const share = shares[index] as number
      red += share * (bytes[at] as number)
      green += share * (bytes[at + 1] as number)
      blue += share * (bytes[at + 2] as number)
    }
    into[x * 3] = red
    into[x * 3 + 1] = green
    into[x * 3 + 2] = blue
  }
}
