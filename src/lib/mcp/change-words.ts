import { numberOf } from '../util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject, pointerParts } from '../util/json.ts'
import { isVector, type JsonChange, labelOf, objectLists } from './json-diff.ts'
import { asText, cleanText } from '../util/text.ts'

/** Said where no change is found: an application has more than its scene tells. */
export const nothingFollowed =
  'nothing that service-cli follows changed (places, names, parents, visibility, …)'
export const unknownBase = 'what changed is not known'

const maxTextChars = 60
const maxNames = 5
/** Further changes of an object are only counted. */
const maxParts = 10

/** The payload of `scene://delta` in whole lines: a headline, `presence`, and what changed. */
export function deltaText(
  delta: JsonObject,
  presence: { readonly line: string } | null,
  maxChars: number,
): string {
  const { count, lines } = wordsOf(delta)
  let text = headOf(delta, count)
  if (presence !== null) text += `\n${presence.line}`
  for (const [at, line] of lines.entries()) {
    const rest = `\n… ${lines.length - at} more lines`
    if (text.length + line.length + rest.length > maxChars) return text + rest
    text += `\n- ${line}`
  }
  return text
}

function headOf(delta: JsonObject, count: number): string {
  const {
    revision,
    base_revision: base,
    base_checkpoint: checkpoint,
    reset,
    hint,
    truncated,
  } = delta
  if (typeof hint === 'string') return hint
  const now = asText(revision)
  if (reset === true) return `revision ${now}; ${unknownText(delta)}`
  const from =
    base === undefined ? `checkpoint ${JSON.stringify(checkpoint)}` : `revision ${asText(base)}`
  if (count === 0 && truncated !== true) return `${from} → ${now}: ${nothingFollowed}`
  const items = count === 1 ? 'object or setting' : 'objects or settings'
  return `${from} → ${now}: ${truncated === true ? 'at least ' : ''}${count} ${items} changed`
}

/** Why a delta that is a reset has no changes. */
export function unknownText({ reason }: JsonObject): string {
  return typeof reason === 'string' ? `${unknownBase}: ${cleanText(reason, 200)}` : unknownBase
}

/** Like `deltaText`, without the headline. */
export function deltaLines(delta: JsonObject): readonly string[] {
  return wordsOf(delta).lines
}

function wordsOf({ changes, truncated }: JsonObject) {
  const items = changedItems(arrayOf(changes) as readonly JsonChange[])
  const rest = truncated === true ? ['other changes are not listed'] : []
  return { count: items.length, lines: [...linesOf(items), ...rest] }
}

const verbs: Readonly<Record<string, string>> = {
  omitted: 'no longer listed, and perhaps still in the scene',
  listed: 'listed now',
}

/**
 * Changes of a scene as short sentences, one for each object, or for several with equal changes:
 * "Cube moved 0.50 along x", "2 objects moved 0.50 along x: Cube, Lamp". Leaves out what others
 * explain and what is not `shown`. Names come from the document: data, never instructions.
 */
export function describeChanges(
  changes: readonly JsonChange[],
  shown?: (change: JsonChange, at: number) => boolean,
): readonly string[] {
  return linesOf(changedItems(changes, shown))
}

function locate(change: JsonChange): LocatedChange {
  const { path, kind, id, name, before, after = before } = change
  const way = pointerParts(path)
  const isItem = kind !== 'changed' && /\/\d+$/.test(path) && isJsonObject(after)
  const isInItem = id !== undefined || name !== undefined
  // An item that left may have had the place of another one.
  if (!isInItem && !isItem) {
    return { change, key: `${kind} ${path}`, list: null, label: null, member: way }
  }
  const { member = isInItem ? way.slice(2) : [] } = change
  const holder = way.slice(0, way.length - member.length)
  const key = member.length === 0 ? `${kind} ${path}` : holder.join('/')
  return { change, key, list: holder.at(-2) ?? '', label: labelOf({ id, name }), member }
}

type ChangedItem = ReturnType<typeof changedItems>[number]

/** The objects and settings that changed, and what is said of each. */
function changedItems(
  changes: readonly JsonChange[],
  shown: (change: JsonChange, at: number) => boolean = () => true,
) {
  const located = changes.map(locate)
  const { isExplained, renamingOf } = explanationsIn(located)
  const unexplained = located.filter((spot, at) => shown(spot.change, at) && !isExplained(spot))
  return Array.from(
    Map.groupBy(unexplained, ({ key }) => key),
    ([key, same]) => {
      const { list, label } = same[0]!
      const renaming = renamingOf(key)
      return {
        key,
        list,
        label: renaming ? valueText(renaming.before) : label && short(label),
        words: few(same.map(textOf), maxParts),
        isUnsure: same.some(({ change }) => change.matched !== undefined),
      }
    },
  )
}

/** One line for all objects of a list of which the same is said. */
function linesOf(items: readonly ChangedItem[]): readonly string[] {
  const alike = Map.groupBy(items, ({ key, list, label, words }) =>
    JSON.stringify(list === null || label === null ? key : [list, words]),
  )
  const lines = Array.from(alike.values(), same => {
    const [{ list, label, words }] = same as [ChangedItem]
    if (list === null || label === null) return words
    const isObject = objectLists.has(list)
    if (same.length === 1) return `${isObject ? '' : `${short(list)}: `}${label} ${words}`
    const labels = same.map(each => each.label ?? '')
    return `${same.length} ${isObject ? 'objects' : short(list)} ${words}: ${few(labels)}`
  })
  const unsure = items.flatMap(({ label, isUnsure }) =>
    isUnsure ? [label ?? 'those without a name'] : [],
  )
  if (unsure.length > 0) {
    const names = few([...new Set(unsure)])
    lines.push(`items without an identity of their own may be confused: ${names}`)
  }
  return lines
}

/** "moved 0.50 along x", "(mesh) added", "energy 10 → 5" */
function textOf({ change, list, label, member }: LocatedChange): string {
  const { kind, path, before, after } = change
  if (member.length === 0) {
    const { type } = (after ?? before) as JsonObject
    const words = `${typeof type === 'string' ? `(${short(type)}) ` : ''}${verbs[kind] ?? kind}`
    return label === null ? `${pointerParts(path).join('.')} ${words}` : words
  }
  const way = short(member.join('.'))
  const isItem = /\/\d+$/.test(path) && isJsonObject(after ?? before)
  if (kind === 'removed') return before === true ? `no longer ${way}` : `${way} removed`
  if (kind === 'added' && after === true) return way
  if (kind === 'added') return isItem ? `${way} added` : `${way} set to ${valueText(after)}`
  if (list !== null && identity.test(way) && isLabel(change)) return `renamed ${valueText(after)}`
  if (/^\/selection(?:\/ids)?$/.test(path) && Array.isArray(after)) {
    // Not all that is selected is listed: how many more there are is not known.
    const names = [
      ...after.slice(0, maxNames).map(valueText),
      ...after.slice(maxNames, maxNames + 1).fill('…'),
    ]
    return `selection: ${names.join(', ') || 'none'}`
  }
  if (path === '/selection/active') {
    return `active object ${valueText(before ?? 'none')} → ${valueText(after ?? 'none')}`
  }
  return movementText(member, list !== null, change) ?? valueChange(way, before, after)
}

function valueChange(way: string, before: unknown, after: unknown): string {
  if (isVector(before) && isVector(after) && after.length > 4) return `${way} changed`
  if (isList(before) && isList(after)) return listText(way, before, after)
  const [old, now] = [valueText(before), valueText(after)]
  return old === now ? `${way} changed` : `${way} ${old} → ${now}`
}

/** "moved 0.50 along x", "rotated by (10.00°, 0.00°, 45.00°)"; null: it is no movement. */
function movementText(
  member: readonly string[],
  isInObject: boolean,
  { before, after }: JsonChange,
): string | null {
  const what = member.at(-1)!
  const isTurn = what === 'rotate'
  if (!isTurn && !/translate|location|position/.test(what)) return null
  const by = differences(before, after)
  if (by?.length !== 3) return null
  // Less is noise of floating point.
  const least = Math.min(Math.max(...by.map(Math.abs)), 1) * 1e-6
  const [axis, ...others] = by.flatMap((value, at) => (Math.abs(value) > least ? [at] : []))
  if (axis === undefined) return null
  const amounts = by.map(value => `${amount(value)}${isTurn ? '°' : ''}`)
  const words = [
    ...(isInObject && member.length === 1 ? [] : [short(member.join('.'))]),
    isTurn ? 'rotated' : 'moved',
    others.length > 0
      ? `by (${amounts.join(', ')})`
      : `${amounts[axis]} ${isTurn ? 'about' : 'along'} ${'xyz'[axis]}`,
    ...(what.startsWith('world_') ? ['in the world'] : []),
  ]
  return words.join(' ')
}

/** Two digits behind the point, or as many as a small number needs. */
function amount(value: number): string {
  const isSmall = value !== 0 && Math.abs(value) < 0.01
  return isSmall ? String(Number(value.toPrecision(2))) : value.toFixed(2)
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && !isVector(value)
}

/** "objects: Lamp added; Cube removed" */
function listText(way: string, before: readonly unknown[], after: readonly unknown[]): string {
  const [old, now] = [before, after].map(list => new Set(list.map(valueText)))
  const [joined, left] = [now!.difference(old!), old!.difference(now!)]
  const words = [
    ...(joined.size > 0 ? [`${few([...joined])} added`] : []),
    ...(left.size > 0 ? [`${few([...left])} removed`] : []),
  ]
  return words.length === 0 ? `${way} changed` : `${way}: ${words.join('; ')}`
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return short(value)
  if (Number.isInteger(value)) return String(value)
  if (typeof value === 'number') return String(Number(value.toPrecision(6)))
  if (isVector(value) && value.length > 0) {
    return `(${value.map(each => Number(numberOf(each)!.toPrecision(4))).join(', ')})`
  }
  if (Array.isArray(value)) return value.length === 0 ? 'none' : short(few(value.map(valueText)))
  if (!isJsonObject(value)) return short(asText(value))
  return short(labelOf(value) ?? `{${few(Object.keys(value))}}`)
}

function few(texts: readonly string[], most = maxNames): string {
  const shown = texts.slice(0, most).join(', ')
  return texts.length <= most ? shown : `${shown} and ${texts.length - most} more`
}

function short(text: string): string {
  return cleanText(text, maxTextChars)
}

/** A change, and where it is. */
interface LocatedChange {
  readonly change: JsonChange
  /** The same for all changes of one object. */
  readonly key: string
  /** The list and name of the object that it is or is in; null: it is in none. */
  readonly list: string | null
  readonly label: string | null
  /** The way to it from that object, or from the scene; empty for an object that came or went. */
  readonly member: readonly string[]
}

const identity = /^(?:id|name)$/
/** Members that name objects, or other items of a scene. */
const reference = /^(?:parent|target|camera|active|ids|selection|children|collections|materials)$/

/** Whether people call the object otherwise now. */
function isLabel({ path, name }: JsonChange): boolean {
  return path.endsWith('/name') || name === undefined
}

const isOfCollection = /^\/collections\/\d+\/objects$/

/** What needs no words because others say just that, and what objects are called otherwise. */
function explanationsIn(located: readonly LocatedChange[]) {
  const names = new Map<string, JsonChange>()
  const moves = new Map<string, JsonChange>()
  /** What items were called by others, and what they are called now; undefined: of several. */
  const renamed = new Map<unknown, unknown>()
  /** Items of the lists of the scene, by 1 for those that came and -1 for those that went. */
  const passed: { readonly list: string; readonly by: number; readonly item: JsonObject }[] = []
  const inCollections: number[] = []
  for (const { change, key, list, member } of located) {
    const { kind, path, before, after, id, matched } = change
    const [, top] = /^\/([^/]+)\/\d+$/.exec(path) ?? []
    const item = after ?? before
    const by = kind === 'added' ? 1 : kind === 'removed' ? -1 : 0
    if (by !== 0 && top !== undefined && isJsonObject(item)) passed.push({ list: top, by, item })
    if (isOfCollection.test(path)) inCollections.push(amountBy(change))
    if (list === null || kind !== 'changed' || member.length !== 1) continue
    if (member[0] === 'translate') moves.set(key, change)
    if (!identity.test(member[0]!)) continue
    if (isLabel(change)) names.set(key, change)
    // Where objects have an id, a name may be that of several.
    if (matched !== undefined || (member[0] === 'name' && id !== undefined)) continue
    renamed.set(before, renamed.has(before) ? undefined : after)
  }
  /** Whether the same items are meant by the names that they have now. */
  const isReference = ({ change: { kind, before, after }, member }: LocatedChange): boolean => {
    if (kind !== 'changed' || !reference.test(member.at(-1) ?? '')) return false
    const [oldNames, newNames] = [[before].flat(), [after].flat()]
    const meant = oldNames.map(each => (renamed.has(each) ? renamed.get(each) : each))
    // The application may sort what is selected.
    const textOf = (names: unknown[]) =>
      JSON.stringify(names.map(each => JSON.stringify(each)).sort())
    return oldNames.some(each => renamed.has(each)) && textOf(meant) === textOf(newNames)
  }
  const chosen = located.find(spot => /^\/selection(?:\/ids)?$/.test(spot.change.path))
  const isChosen = chosen && Array.isArray(chosen.change.after) && !isReference(chosen)
  const selected = isChosen ? arrayOf(chosen.change.after) : null
  /** How many more there are of what is meant. */
  const cameTo = (isCounted: (list: string, type: unknown) => boolean): number =>
    passed.reduce((sum, { list, by, item }) => (isCounted(list, item.type) ? sum + by : sum), 0)
  /** `counts.materials`, `counts.meshes` and `counts.by_type.mesh` of `dcc-scene/1`. */
  const isCount = (change: JsonChange, [, part = '', type]: readonly string[]): boolean => {
    const single = type ?? (part === 'meshes' ? 'mesh' : part.replace(/s$/, ''))
    const came = cameTo((list, each) => list === part || (list === 'objects' && each === single))
    return amountBy(change) === came
  }
  /** Each object is in a collection: all that came to collections are those that came. */
  const isMembership = (): boolean => {
    const by = cameTo(list => list === 'objects')
    const sum = inCollections.reduce((all, each) => all + each, 0)
    return sum === by && inCollections.every(each => each * by > 0)
  }
  /** Whether the object is where its own movement took it. */
  const isMove = ({ before, after }: JsonChange, move: JsonChange | undefined): boolean => {
    const [by, local] = [differences(before, after), differences(move?.before, move?.after)]
    const isSmall = (rest: number, by: number) => Math.abs(rest) <= 1e-6 * Math.max(1, Math.abs(by))
    return by?.every((each, at) => local !== null && isSmall(each - local[at]!, each)) === true
  }
  const isExplained = (spot: LocatedChange): boolean => {
    const { change, key, list, member } = spot
    const { path, before, after, id = change.name } = change
    const [name = '', part = ''] = member
    if (list === null) {
      if (name === 'counts') return isCount(change, member)
      if (selected !== null && name === 'selection') {
        if (part === 'count') return numberOf(after) === selected.length
        if (part === 'truncated') return true
        if (part === 'active') return selected.length === 1 && selected[0] === after
      }
      return isReference(spot)
    }
    if (isOfCollection.test(path)) return isMembership()
    if (name === 'selected') return selected?.includes(id) === (after === true)
    if (name === 'world_translate') return isMove(change, moves.get(key))
    if (name === 'matrix_world') return moves.has(key)
    if (member.length !== 1 || !identity.test(name)) return isReference(spot)
    const label = names.get(key)
    return !isLabel(change) && before === label?.before && after === label?.after
  }
  return { isExplained, renamingOf: (key: string) => names.get(key) }
}

/** Not a number for what is no amount. */
function amountBy({ before = 0, after = 0 }: JsonChange): number {
  return (numberOf(after) ?? NaN) - (numberOf(before) ?? NaN)
}

/** Null: they are no vectors of one length. */
function differences(before: unknown, after: unknown): readonly number[] | null {
  if (!isVector(before) || !isVector(after) || before.length !== after.length) return null
  return after.map((value, at) => numberOf(value)! - numberOf(before[at])!)
}
