import type { ObjectRow } from '../live/objects.ts'

export interface TreeRow {
  readonly row: ObjectRow
  /** From 1. */
  readonly level: number
  readonly childCount: number
  readonly isOpen: boolean
  /** Among its siblings, from 1, and how many they are. */
  readonly position: number
  readonly siblings: number
}

/**
 * The objects below their parents, in the order of the scene. Two levels are open at first; `toggled`
 * says which objects a person has opened or closed.
 */
export function flatten(
  rows: ReadonlyMap<string, ObjectRow>,
  toggled: ReadonlyMap<string, boolean>,
): readonly TreeRow[] {
  const children = Map.groupBy(rows.values(), ({ id, parent }) =>
    parent === undefined || parent === id || !rows.has(parent) ? null : parent,
  )
  const flat: TreeRow[] = []
  // The lists that are gone through now, the deepest last. No recursion: a chain of parents may be as
  // long as the scene.
  const open = [{ list: children.get(null) ?? [], at: 0 }]
  for (let place = open.at(-1); place !== undefined; place = open.at(-1)) {
    const { list, at } = place
    const row = list[at]
    if (row === undefined) {
      open.pop()
      continue
    }
    place.at++
    const below = children.get(row.id) ?? []
    const level = open.length
    const isOpen = below.length > 0 && (toggled.get(row.id) ?? level < 2)
    const [childCount, position, siblings] = [below.length, at + 1, list.length]
    flat.push({ row, level, childCount, isOpen, position, siblings })
    if (isOpen) open.push({ list: below, at: 0 })
  }
  return flat
}

/** The rows whose name, id or type has the text, without their parents. */
export function search(rows: ReadonlyMap<string, ObjectRow>, text: string): readonly TreeRow[] {
  const wanted = text.toLowerCase()
  const found = [...rows.values()].filter(({ id, name = '', type = '' }) =>
    [id, name, type].some(each => each.toLowerCase().includes(wanted)),
  )
  return found.map((row, at) => ({
    row,
    level: 1,
    childCount: 0,
    isOpen: false,
    position: at + 1,
    siblings: found.length,
  }))
}
