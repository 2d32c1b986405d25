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
 * says which objects a person has opened or closed. Parents in a circle are at the end, one of them at
 * the top.
 */
export function flatten(
  rows: ReadonlyMap<string, ObjectRow>,
  toggled: ReadonlyMap<string, boolean>,
): readonly TreeRow[] {
  const children = Map.groupBy(rows.values(), ({ id, parent }) =>
    parent === undefined || parent === id || !rows.has(parent) ? null : parent,
  )
  const roots = children.get(null) ?? []
  // Neither here nor below is there recursion: a chain of parents may be as long as the scene.
  const reached = new Set<string>()
  const reach = (root: ObjectRow): void => {
    const waiting = [root]
    for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
      if (reached.has(row.id)) continue
      reached.add(row.id)
      waiting.push(...(children.get(row.id) ?? []))
    }
  }
  roots.forEach(reach)
  const circles = [...rows.values()].filter(row => {
    const isFirst = !reached.has(row.id)
    if (isFirst) reach(row)
    return isFirst
  })
  const flat: TreeRow[] = []
  const shown = new Set<string>()
  // The lists that are gone through now, the deepest last.
  const open = [{ list: [...roots, ...circles], at: 0 }]
  for (let place = open.at(-1); place !== undefined; place = open.at(-1)) {
    const { list, at } = place
    const row = list[at]
    place.at++
    if (row === undefined) open.pop()
    if (row === undefined || shown.has(row.id)) continue
    shown.add(row.id)
    const below = children.get(row.id) ?? []
    const level = open.length
    const isOpen = below.length > 0 && (toggled.get(row.id) ?? level < 2)
    flat.push({
      row,
      level,
      childCount: below.length,
      isOpen,
      position: at + 1,
      siblings: list.length,
    })
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
