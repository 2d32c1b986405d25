import { isJsonObject } from '../../util/json.ts'
import type { JsonChange } from '../../util/json-diff.ts'

interface Applied {
  readonly value: unknown
  /** For each change its path in words: array elements by what they are called. */
  readonly labels: readonly string[]
}

/**
 * Takes the steps of a diff, one after the other; null when one of them does not fit the value. The
 * value given is left as it is: what is changed of it is copied.
 */
export function applyChanges(before: unknown, changes: readonly JsonChange[]): Applied | null {
  const root: Record<string, unknown> = { '': before }
  const owned = new WeakSet<object>([root])
  const labels: string[] = []
  for (const change of changes) {
    const label = applyOne(root, owned, change)
    if (label === null) return null
    labels.push(label)
  }
  return { value: root[''], labels }
}

type Holder = Record<string, unknown> | unknown[]

function applyOne(root: Holder, owned: WeakSet<object>, change: JsonChange): string | null {
  const names = change.path.split('/').map(unescapePointer)
  const last = names.pop() ?? ''
  let holder: Holder = root
  const words: string[] = []
  for (const name of names) {
    const inner = own(holder, name, owned)
    if (inner === null) return null
    words.push(wordOf(holder, name))
    holder = inner
  }
  if (!take(holder, last, change)) return null
  words.push(wordOf(holder, last, change.kind === 'removed' ? change.before : undefined))
  // The first is the root itself.
  return words.slice(1).join('/')
}

/** The inner array or object, made our own before it is changed. */
function own(holder: Holder, name: string, owned: WeakSet<object>): Holder | null {
  const inner = memberOf(holder, name)
  if (!Array.isArray(inner) && !isJsonObject(inner)) return null
  if (owned.has(inner)) return inner as Holder
  const copy: Holder = Array.isArray(inner) ? [...inner] : { ...inner }
  owned.add(copy)
  setMember(holder, name, copy)
  return copy
}

function take(holder: Holder, name: string, change: JsonChange): boolean {
  if (Array.isArray(holder)) {
    const at = Number(name)
    const most = change.kind === 'added' ? holder.length : holder.length - 1
    if (!/^\d+$/.test(name) || at > most) return false
    if (change.kind === 'removed') holder.splice(at, 1)
    else holder.splice(at, change.kind === 'added' ? 0 : 1, change.after)
    return true
  }
  if (change.kind !== 'added' && !Object.hasOwn(holder, name)) return false
  if (change.kind === 'removed') return Reflect.deleteProperty(holder, name)
  setMember(holder, name, change.after)
  return true
}

function memberOf(holder: Holder, name: string): unknown {
  if (Array.isArray(holder)) return /^\d+$/.test(name) ? holder[Number(name)] : undefined
  return Object.hasOwn(holder, name) ? holder[name] : undefined
}

/** Never an assignment: a member called `__proto__` is one like any other. */
function setMember(holder: Holder, name: string, value: unknown): void {
  if (Array.isArray(holder)) holder[Number(name)] = value
  else {
    const shown = { value, writable: true, enumerable: true, configurable: true }
    Object.defineProperty(holder, name, shown)
  }
}

/** The element of an array goes by its `name` or `id`, which people know; its index they do not. */
function wordOf(holder: Holder, name: string, gone?: unknown): string {
  if (!Array.isArray(holder)) return name
  const element = gone ?? holder[Number(name)]
  if (!isJsonObject(element)) return name
  const word = element.name ?? element.id
  return typeof word === 'string' || typeof word === 'number' ? String(word) : name
}

function unescapePointer(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}
