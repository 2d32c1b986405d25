import type { PNG } from 'pngjs'

export type Pixel = readonly [x: number, y: number]

interface Bounds {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** A view as a note of Blender has it: matrices row by row. */
export interface NoteView {
  readonly view_matrix: readonly number[]
  readonly projection_matrix: readonly number[]
  readonly width: number
  readonly height: number
}

/** Edges are smoothed over the next pixel. */
const edge = 2
/** Of 256; software drawing rounds in more than one way. */
const shades = 2

export function differingPixels(one: PNG, other: PNG): readonly Pixel[] {
  const found: Pixel[] = []
  for (let at = 0; at < one.data.length; at += 4) {
    const apart = [0, 1, 2].map(colour => one.data[at + colour]! - other.data[at + colour]!)
    if (apart.some(each => Math.abs(each) > shades)) {
      found.push([(at / 4) % one.width, Math.floor(at / 4 / one.width)])
    }
  }
  return found
}

export function isInside([x, y]: Pixel, { left, top, width, height }: Bounds): boolean {
  return x >= left && x < left + width && y >= top && y < top + height
}

/** The pixels that a box in the scene may cover, by its middle and half its size. */
export function boundsOfCube(
  view: NoteView,
  middle: readonly number[],
  half: readonly number[],
): Bounds {
  const corners = Array.from({ length: 8 }, (_, corner) =>
    middle.map((value, axis) => value + (corner & (1 << axis) ? half[axis]! : -half[axis]!)),
  )
  const places = corners.map(corner => {
    const seen = times(view.view_matrix, [...corner, 1])
    const [x = 0, y = 0, , w = 1] = times(view.projection_matrix, seen)
    return [((x / w + 1) / 2) * view.width, ((1 - y / w) / 2) * view.height]
  })
  const [xs, ys] = [0, 1].map(axis => places.map(place => place[axis]!))
  const [left, top] = [Math.min(...xs!) - edge, Math.min(...ys!) - edge]
  return { left, top, width: Math.max(...xs!) + edge - left, height: Math.max(...ys!) + edge - top }
}

function times(matrix: readonly number[], point: readonly number[]): readonly number[] {
  return [0, 4, 8, 12].map(row =>
    point.reduce((sum, value, column) => sum + matrix[row + column]! * value, 0),
  )
}
