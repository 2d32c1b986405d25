type Point = readonly [number, number, number]

/** What the 3D view reads of an object. */
export interface Placed {
  readonly id: string
  readonly translate?: readonly number[]
  readonly world_translate?: readonly number[]
  readonly bbox?: { readonly min: readonly number[]; readonly max: readonly number[] }
}

/** An axis-aligned box in the world; objects without bounds are small cubes. */
export interface Box {
  readonly id: string
  readonly centre: Point
  readonly size: Point
  /** Only its position is known. */
  readonly isPoint: boolean
}

/** The boxes of the objects that have a place. `up`: the axis that points up in the scene. */
export function boxesOf(objects: readonly Placed[], up: 'y' | 'z'): readonly Box[] {
  const turned = (point: readonly number[]): Point => {
    const [x = 0, y = 0, z = 0] = point
    return up === 'z' ? [x, z, -y] : [x, y, z]
  }
  return objects.flatMap(({ id, bbox, world_translate, translate }): Box[] => {
    const place = world_translate ?? translate
    if (bbox !== undefined) {
      const [low, high] = [turned(bbox.min), turned(bbox.max)]
      const centre = low.map((value, axis) => (value + high[axis]!) / 2) as unknown as Point
      const size = low.map((value, axis) => Math.abs(high[axis]! - value)) as unknown as Point
      return [{ id, centre, size, isPoint: false }]
    }
    if (place === undefined) return []
    return [{ id, centre: turned(place), size: [0, 0, 0], isPoint: true }]
  })
}

/** The centre of all boxes, and the radius of a sphere around them. */
export function boundsOf(boxes: readonly Box[]): { centre: Point; radius: number } {
  const low = [Infinity, Infinity, Infinity]
  const high = [-Infinity, -Infinity, -Infinity]
  for (const { centre, size } of boxes) {
    for (let axis = 0; axis < 3; axis++) {
      low[axis] = Math.min(low[axis]!, centre[axis]! - size[axis]! / 2)
      high[axis] = Math.max(high[axis]!, centre[axis]! + size[axis]! / 2)
    }
  }
  if (boxes.length === 0) return { centre: [0, 0, 0], radius: 1 }
  const centre = low.map((value, axis) => (value + high[axis]!) / 2) as unknown as Point
  const diagonal = Math.hypot(...low.map((value, axis) => high[axis]! - value))
  return { centre, radius: Math.max(diagonal / 2, 0.5) }
}
