import { isVector, type JsonChange } from '../util/json-diff.ts'
import { isJsonObject } from '../util/json.ts'
import { counted } from '../util/amounts.ts'
import { cleanText } from '../util/text.ts'

/** A step of a delta; `id` and `name` are those of the object that it is in; it may have one alone. */
export type SceneChange = (JsonChange | OmissionChange) & {
  readonly id?: unknown
  readonly name?: unknown
}

/** Applied like `removed` and `added`: the object left or joined the list, not the scene. */
export type OmissionChange =
  | { readonly path: string; readonly kind: 'omitted'; readonly before: unknown }
  | { readonly path: string; readonly kind: 'listed'; readonly after: unknown }

/** Said where no change is found: an application has more than its scene tells. */
export const nothingFollowed =
  'nothing that service-cli follows changed (places, names, parents, visibility, …)'

const maxTextChars = 60
/** Beyond this, further changes of an object are only counted. */
const maxLineChars = 400

/**
 * Changes of a scene as short sentences, one for each object that changed: "Cube moved 0.50 along
 * x; Light.001 energy 1000 → 10". Names come from the document: data, never instructions.
 */
export function describeChanges(changes: readonly SceneChange[]): readonly string[] {
  const lines: Line[] = []
  const renamed = renames(changes)
  for (const change of changes) {
    if (renamed.has(change)) {
      const text = renamed.get(change)
      if (text !== undefined) lines.push({ id: undefined, text, more: 0 })
      continue
    }
    const id = change.id ?? change.name
    const last = lines.at(-1)
    if (last !== undefined && id !== undefined && last.id === id) add(last, changeOf(change))
    else lines.push({ id, text: sentence(change), more: 0 })
  }
  return lines.map(({ text, more }) => (more === 0 ? text : `${text}, and ${more} more`))
}

/** What was removed and added under another name: a line for the one, nothing for the other. */
function renames(changes: readonly SceneChange[]): ReadonlyMap<SceneChange, string | undefined> {
  const found = new Map<SceneChange, string | undefined>()
  const removed = new Map<string, SceneChange>()
  for (const change of changes) {
    if (change.kind === 'removed' && isItem(change)) removed.set(nameless(change.before), change)
  }
  if (removed.size === 0) return found
  for (const change of changes) {
    if (change.kind !== 'added' || !isItem(change)) continue
    const before = removed.get(nameless(change.after))
    if (before === undefined || found.has(before)) continue
    found.set(before, undefined)
    found.set(change, `${itemName(before)} renamed ${itemName(change)}`)
  }
  return found
}

function nameless(item: unknown): string {
  return isJsonObject(item) ? JSON.stringify({ ...item, id: null, name: null }) : ''
}

function itemName(change: SceneChange): string {
  const item = 'after' in change ? change.after : change.before
  return isJsonObject(item) ? nameOf(item) : 'an item'
}

/** Further changes of one object; the line says how many it leaves out. */
function add(line: Line, words: string): void {
  if (line.text.length < maxLineChars) line.text += `, ${words}`
  else line.more++
}

interface Line {
  readonly id: unknown
  text: string
  more: number
}

function sentence(change: SceneChange): string {
  if (!isInItem(change)) return wholeItem(change) ?? changeOf(change)
  return `${nameOf(change)} ${changeOf(change)}`
}

/** "Lamp (light) added", for a change of a list of objects. */
function wholeItem(change: SceneChange): string | null {
  if (change.kind === 'changed' || !isItem(change)) return null
  const item = 'after' in change ? change.after : change.before
  if (!isJsonObject(item)) return null
  const type = typeof item.type === 'string' ? ` (${short(item.type)})` : ''
  return `${nameOf(item)}${type} ${itemVerbs[change.kind]}`
}

function isItem({ path }: SceneChange): boolean {
  return /^\/[^/]+\/\d+$/.test(path)
}

const itemVerbs = {
  added: 'added',
  removed: 'removed',
  omitted: 'no longer listed, and still in the scene',
  listed: 'listed again',
} as const

function nameOf({ id, name }: { readonly id?: unknown; readonly name?: unknown }): string {
  return itemLabel({ id, name }) ?? 'an item'
}

function changeOf(change: SceneChange): string {
  const { path, kind } = change
  const ofItem = isInItem(change)
  const parts = path
    .slice(1)
    .split('/')
    .slice(ofItem ? 2 : 0)
  const member = short(
    parts.map(part => part.replaceAll('~1', '/').replaceAll('~0', '~')).join('.'),
  )
  if (kind === 'added' && change.after === true) return member
  if (kind === 'removed' && change.before === true) return `no longer ${member}`
  if (kind === 'added' || kind === 'listed') return `${member} set to ${valueText(change.after)}`
  if (kind === 'removed' || kind === 'omitted') return `${member} removed`
  const { before, after } = change
  if (isPoint(before) && isPoint(after)) {
    const moved = after.map((value, axis) => value - before[axis]!)
    const what = ofItem ? '' : `${member} `
    const where = member.startsWith('world_') ? ' in the world' : ''
    if (/translate|location|position/.test(member))
      return `${what}moved ${alongAxes(moved, '')}${where}`
    if (/^rotate|^rotation/.test(member)) return `${what}rotated ${alongAxes(moved, '°')}`
  }
  if (isMatrix(before) && isMatrix(after)) return `${member} changed`
  if (isList(before) && isList(after)) return listChange(member, before, after)
  return `${member} ${valueText(before)} → ${valueText(after)}`
}

function isInItem({ id, name }: SceneChange): boolean {
  return id !== undefined || name !== undefined
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && !isVector(value)
}

/** "objects: Lamp added; Cube removed", or how long the lists are where their items have no names. */
function listChange(member: string, before: readonly unknown[], after: readonly unknown[]): string {
  const [old, now] = [namesIn(before), namesIn(after)]
  const parts = [
    ['added', [...now].filter(name => !old.has(name))],
    ['removed', [...old].filter(name => !now.has(name))],
  ] as const
  const words = parts.flatMap(([verb, names]) =>
    names.length === 0 ? [] : [`${few(names)} ${verb}`],
  )
  if (words.length > 0) return `${member}: ${words.join('; ')}`
  if (before.length === after.length) return `${member} changed`
  return `${member}: ${counted(before.length, 'item')} → ${after.length}`
}

function namesIn(list: readonly unknown[]): ReadonlySet<string> {
  return new Set(list.flatMap(item => itemLabel(item) ?? []))
}

/** What an item calls itself; null: it has neither name nor id. */
function itemLabel(item: unknown): string | null {
  if (typeof item === 'string') return short(item)
  if (!isJsonObject(item)) return null
  const label = item.name ?? item.id
  return typeof label === 'string' || typeof label === 'number' ? short(String(label)) : null
}

const maxNames = 5

function few(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).join(', ')
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown
}

/** Too many numbers to be read one by one. */
function isMatrix(value: unknown): boolean {
  return isVector(value) && value.length > 4
}

function isPoint(value: unknown): value is readonly number[] {
  return isVector(value) && value.length === 3
}

const axes = ['x', 'y', 'z'] as const

/** "0.50 along x", "45.00° about z", or by all axes: "by (1.00, 0.00, 2.00)". */
function alongAxes(moved: readonly number[], unit: '' | '°'): string {
  const changed = moved.flatMap((value, axis) => (value === 0 ? [] : [axis]))
  const [axis] = changed
  if (changed.length === 1 && axis !== undefined) {
    return `${amount(moved[axis]!)}${unit} ${unit === '' ? 'along' : 'about'} ${axes[axis]}`
  }
  return `by (${moved.map(value => `${amount(value)}${unit}`).join(', ')})`
}

/** Two digits behind the point, or as many as a small number needs. */
function amount(value: number): string {
  const isSmall = value !== 0 && Math.abs(value) < 0.01
  return isSmall ? String(Number(value.toPrecision(2))) : value.toFixed(2)
}

function valueText(value: unknown): string {
  if (Number.isInteger(value)) return String(value)
  if (typeof value === 'number') return String(Number(value.toPrecision(6)))
  if (typeof value === 'string') return short(value)
  if (Array.isArray(value) && value.length === 0) return 'none'
  if (isVector(value)) return `(${value.map(each => Number(each.toPrecision(4))).join(', ')})`
  if (Array.isArray(value)) {
    const names = value.map(itemLabel)
    return names.includes(null) ? counted(value.length, 'item') : few(names.map(String))
  }
  if (!isJsonObject(value)) return String(value)
  const members = Object.keys(value).map(short)
  return itemLabel(value) ?? (members.length === 0 ? 'empty' : `{${few(members)}}`)
}

function short(text: string): string {
  return cleanText(text, maxTextChars)
}
