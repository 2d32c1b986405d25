import { isVector } from '../../lib/util/json-diff.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { SceneChange } from './scene-delta.ts'

const maxTextChars = 60

/**
 * Changes of a scene as short sentences, one for each object that changed: "Cube moved 0.50 along
 * x; Light.001 energy 1000 → 10". Names come from the document: data, never instructions.
 */
export function describeChanges(changes: readonly SceneChange[]): readonly string[] {
  const lines: { id: unknown; text: string }[] = []
  for (const change of changes) {
    const { id } = change
    const last = lines.at(-1)
    if (id !== undefined && last?.id === id) last.text += `, ${changeOf(change)}`
    else lines.push({ id, text: sentence(change) })
  }
  return lines.map(({ text }) => text)
}

function sentence(change: SceneChange): string {
  if (change.id === undefined) return wholeItem(change) ?? changeOf(change)
  return `${nameOf(change)} ${changeOf(change)}`
}

/** "Lamp (light) added", for a change of a list of objects. */
function wholeItem(change: SceneChange): string | null {
  if (change.kind === 'changed' || !/^\/[^/]+\/\d+$/.test(change.path)) return null
  const item = 'after' in change ? change.after : change.before
  if (!isJsonObject(item)) return null
  const type = typeof item.type === 'string' ? ` (${cut(item.type)})` : ''
  return `${nameOf(item)}${type} ${itemVerbs[change.kind]}`
}

const itemVerbs = {
  added: 'added',
  removed: 'removed',
  omitted: 'no longer listed, and still in the scene',
  listed: 'listed again',
} as const

function nameOf({ id, name }: { readonly id?: unknown; readonly name?: unknown }): string {
  return cut(String(name ?? id ?? 'an item'))
}

function changeOf(change: SceneChange): string {
  const { path, kind } = change
  const isInItem = change.id !== undefined
  const parts = path
    .slice(1)
    .split('/')
    .slice(isInItem ? 2 : 0)
  const member = cut(parts.map(part => part.replaceAll('~1', '/').replaceAll('~0', '~')).join('.'))
  if (kind === 'added' || kind === 'listed') return `${member} set to ${valueText(change.after)}`
  if (kind === 'removed' || kind === 'omitted') return `${member} removed`
  const { before, after } = change
  if (isPoint(before) && isPoint(after)) {
    const moved = after.map((value, axis) => value - before[axis]!)
    if (/translate|location|position/.test(member)) return `moved ${alongAxes(moved, '')}`
    if (/^rotate|^rotation/.test(member)) return `rotated ${alongAxes(moved, '°')}`
  }
  return `${member} ${valueText(before)} → ${valueText(after)}`
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
    return `${moved[axis]!.toFixed(2)}${unit} ${unit === '' ? 'along' : 'about'} ${axes[axis]}`
  }
  return `by (${moved.map(value => `${value.toFixed(2)}${unit}`).join(', ')})`
}

function valueText(value: unknown): string {
  if (typeof value === 'number') return String(Number(value.toPrecision(6)))
  if (typeof value === 'string') return cut(value)
  if (isVector(value)) return `(${value.map(each => Number(each.toPrecision(4))).join(', ')})`
  return cut(JSON.stringify(value))
}

/** One printable line of bounded length. */
function cut(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
  return line.length <= maxTextChars ? line : `${line.slice(0, maxTextChars - 1)}…`
}
