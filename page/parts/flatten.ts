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

/** The objects below their parents, in the order of the scene, without the children of `closed`. */
export function flatten(
  rows: ReadonlyMap<string, ObjectRow>,
  closed: ReadonlySet<string>,
): readonly TreeRow[] {
  const roots: ObjectRow[] = []
  const children = new Map<string, ObjectRow[]>()
  for (const row of rows.values()) {
    const { parent } = row
    if (parent === undefined || parent === row.id || !rows.has(parent)) roots.push(row)
    else {
      const list = children.get(parent)
      if (list === undefined) children.set(parent, [row])
      else list.push(row)
    }
  }
  // Objects whose parents are in a circle are below no root.
  const reached = new Set<string>()
  const reach = (root: ObjectRow): void => {
    // No recursion here and below: a chain of parents may be as long as the scene.
    const waiting = [root]
    for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
      if (reached.has(row.id)) continue
      reached.add(row.id)
      for (const child of children.get(row.id) ?? []) waiting.push(child)
    }
  }
  roots.forEach(reach)
  for (const row of rows.values()) {
    if (reached.has(row.id)) continue
    roots.push(row)
    reach(row)
  }
  const flat: TreeRow[] = []
  const shown = new Set<string>()
  // The lists that are gone through now, the deepest last.
  const open = [{ list: roots, at: 0 }]
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const { list, at } = level
    const row = list[at]
    level.at++
    if (row === undefined) open.pop()
    if (row === undefined || shown.has(row.id)) continue
    shown.add(row.id)
    const below = children.get(row.id) ?? []
    const isOpen = below.length > 0 && !closed.has(row.id)
    const { length: childCount } = below
    const place = { level: open.length, position: at + 1, siblings: list.length }
    flat.push({ row, childCount, isOpen, ...place })
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
