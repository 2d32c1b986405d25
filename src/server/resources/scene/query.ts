import { digitsOf, numberOf, parseExact } from '../../../lib/util/exact-json.ts'
import {
  escapePointer,
  isJsonObject,
  type JsonObject,
  resolvePointer,
} from '../../../lib/util/json.ts'
import { isVector } from '../../../lib/mcp/json-diff.ts'
import { asText, cleanText, nearest } from '../../../lib/util/text.ts'
import { suggestedLimits } from '../completion.ts'
import { ResourceUriInvalid } from '../errors.ts'
import {
  listParameter,
  countParameter,
  onlyParameters,
  rangeParameter,
  wordParameter,
} from '../query-parameters.ts'
import type { ResourceUri } from '../resource-uri.ts'

/** The parameters of `scene://current`, in the order of its template. */
export const sceneParameters = [
  'view',
  'pointer',
  'type',
  'name',
  'ids',
  'where',
  'fields',
  'offset',
  'limit',
] as const

/** A part of the scene: `view` alone, or a value with what to show of it. */
type SceneQuery = { readonly view: 'summary' } | SceneSelection

interface SceneSelection {
  readonly view?: undefined
  /** JSON pointer (RFC 6901); undefined: the scene, or its objects when items are selected. */
  readonly pointer: string | undefined
  readonly filters: readonly Filter[]
  /** Members to show of an item or object; undefined: all. */
  readonly fields: readonly string[] | undefined
  readonly offset: number | undefined
  readonly limit: number | undefined
}

interface Filter {
  /** Whether the item belongs to the answer. */
  matches(item: JsonObject): boolean
  /** For the reader when no item does: what there is instead. */
  hint(items: JsonObject[]): string
  /** For the reader when some do: what else was asked for and is nowhere. */
  partHint?(items: JsonObject[]): string
}

export const defaultSceneItems = 50
export const maxSceneItems = 1000

/** Null when the whole scene is asked for. Throws `ResourceUriInvalid`. */
export function parseSceneQuery(uri: ResourceUri): SceneQuery | null {
  onlyParameters(uri, sceneParameters)
  if (uri.query.size === 0) return null
  if (wordParameter(uri, 'view', ['summary']) !== undefined) {
    if (uri.query.size > 1) throw new ResourceUriInvalid('view=summary takes no other parameter')
    return { view: 'summary' }
  }
  return {
    pointer: uri.query.get('pointer'),
    filters: filtersOf(uri),
    fields: listParameter(uri, 'fields'),
    offset: countParameter(uri, 'offset'),
    limit: rangeParameter(uri, 'limit', 1, maxSceneItems),
  }
}

/** The selected part of the scene, with the pointer that leads to it. */
export function selectPart(scene: JsonObject, query: SceneSelection): JsonObject {
  const { filters, fields, offset, limit } = query
  const wantsItems = filters.length > 0 || offset !== undefined || limit !== undefined
  const pointer = query.pointer ?? (wantsItems || fields !== undefined ? itemsPointer(scene) : '')
  const value = valueAt(scene, pointer)
  if (Array.isArray(value) && (value.length === 0 || !isVector(value))) {
    return page(scene, pointer, value, query)
  }
  if (wantsItems) {
    throw new ResourceUriInvalid(
      'type, name, ids, where, offset and limit select items of an array; pointer leads to no array',
    )
  }
  const hint = fieldsHint([value], fields)
  return { pointer, ...(hint && { hint }), value: pick(value, fields) }
}

function page(
  scene: JsonObject,
  pointer: string,
  items: unknown[],
  query: SceneSelection,
): JsonObject {
  const { filters, fields, offset = 0, limit = defaultSceneItems } = query
  const matching = items.filter(item => {
    const object = asObject(item)
    return filters.every(({ matches }) => object !== null && matches(object))
  })
  const shown = matching.slice(offset, offset + limit)
  const end = offset + shown.length
  const hint = pageHint(scene, items, matching, query)
  return {
    pointer,
    total: matching.length,
    returned: shown.length,
    ...(end < matching.length && { next_offset: end }),
    ...(hint && { hint }),
    items: shown.map(item => pick(item, fields)),
  }
}

/** Why nothing of some field, or nothing at all, was found; an empty text when neither is so. */
function pageHint(
  scene: JsonObject,
  all: unknown[],
  matching: unknown[],
  { filters, fields, offset = 0 }: SceneSelection,
): string {
  const { length } = matching
  if (length > 0 && offset >= length) return `offset ${offset} is past the last of ${length}`
  const items = all.map(asObject).filter(item => item !== null)
  if (length > 0) {
    const parts = filters.map(({ partHint }) => partHint?.(items) ?? '').filter(Boolean)
    if (parts.length > 0) parts.push(...listedHint(scene, items))
    return [...parts, fieldsHint(matching, fields)].filter(Boolean).join('; ')
  }
  if (items.length === 0) return filters.length > 0 ? 'there are no objects here' : ''
  const alone = filters.filter(({ matches }) => !items.some(matches))
  const hints = alone.map(({ hint }) => hint(items))
  if (alone.length === 0) hints.push('no object matches all of these parameters together')
  return [...hints, ...listedHint(scene, items)].join('; ')
}

function listedHint(scene: JsonObject, items: JsonObject[]): string[] {
  const { total } = isJsonObject(scene.truncated) ? scene.truncated : {}
  const isPart = Number(numberOf(total)) > items.length
  return isPart ? [`the application lists only ${items.length} of ${asText(total)} objects`] : []
}

function fieldsHint(values: unknown[], fields: readonly string[] | undefined): string {
  const items = fields === undefined ? [] : values.filter(isJsonObject)
  if (fields === undefined || items.length === 0) return ''
  const missing = fields.filter(field => !items.some(item => Object.hasOwn(item, field)))
  return missing
    .slice(0, maxHinted)
    .map(field => memberHint(items, field))
    .join('; ')
}

function memberHint(items: JsonObject[], name: string): string {
  const names = items.slice(0, maxCompared).flatMap(item => Object.keys(item))
  return `there is no member ${quoted(name)} here; ${alike(name, names)}`
}

const maxHinted = 3
/** Enough to find a mistake in typing; each costs time. */
const maxCompared = 2000

/** Those of the texts that are like the word, else the first ones. */
function alike(word: string, values: unknown[]): string {
  const texts = textsOf(values)
  const plain = word.replaceAll(/[*?]/g, '').toLowerCase()
  const near = texts.filter(text => plain !== '' && text.toLowerCase().includes(plain))
  // Any two short words are near each other.
  const meant = plain.length > 3 ? nearest(plain, texts.slice(0, maxCompared)) : undefined
  if (near.length === 0 && meant !== undefined) near.push(meant)
  return near.length > 0 ? `near: ${listed(near)}` : `known: ${listed(texts)}`
}

function listed(texts: readonly string[], most = 12): string {
  const more = texts.length - most
  const shown = texts.slice(0, most).map(text => cleanText(text, 60))
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

function counted(values: unknown[]): string {
  const counts = countsOf(values).toSorted(([, a], [, b]) => b - a)
  return listed(counts.map(([text, count]) => `${cleanText(text, 50)} (${count})`)) || 'none'
}

/** How often each value occurs, as a text, in the order in which they occur first. */
export function countsOf(values: unknown[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const value of values) {
    if (value === undefined) continue
    const text = asText(value)
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return [...counts]
}

function quoted(text: string): string {
  return JSON.stringify(cleanText(text, 60))
}

/** A text or a number is the name of an object. */
function asObject(item: unknown): JsonObject | null {
  if (isJsonObject(item)) return item
  return wordOf(item) === undefined ? null : { name: item }
}

/** The array of objects that filters apply to. */
function itemsPointer(scene: JsonObject): string {
  if (Array.isArray(scene.objects)) return '/objects'
  const [name, ...more] = Object.keys(scene).filter(key => isArrayOfObjects(scene[key]))
  if (name !== undefined && more.length === 0) return `/${escapePointer(name)}`
  throw new ResourceUriInvalid('name the array of items with pointer, as in pointer=/objects')
}

function isArrayOfObjects(value: unknown): boolean {
  return Array.isArray(value) && isJsonObject(value[0])
}

function valueAt(scene: JsonObject, pointer: string): unknown {
  const found = resolvePointer(scene, pointer)
  if (found.ok) return found.value
  const { parent } = found.failure
  if (!isJsonObject(parent)) {
    throw new ResourceUriInvalid('pointer leads to nothing in this scene: view=summary shows it')
  }
  const known = listed(Object.keys(parent), 20)
  throw new ResourceUriInvalid(`pointer leads to nothing in this scene; members there: ${known}`)
}

/** `id` stays, because it names the item. */
function pick(value: unknown, fields: readonly string[] | undefined): unknown {
  if (fields === undefined || !isJsonObject(value)) return value
  const names = fields.includes('id') ? fields : ['id', ...fields]
  return Object.fromEntries(
    names.flatMap(name => (Object.hasOwn(value, name) ? [[name, value[name]]] : [])),
  )
}

function filtersOf(uri: ResourceUri): Filter[] {
  const { query } = uri
  const [types, ids] = [listParameter(uri, 'type'), listParameter(uri, 'ids')]
  const [glob, where] = [query.get('name'), query.get('where')]
  const filters = [
    types && typeFilter(types),
    glob !== undefined && nameFilter(glob),
    ids && idFilter(ids),
    where !== undefined && whereFilter(where),
  ]
  return filters.filter(filter => typeof filter === 'object')
}

function typeFilter(types: readonly string[]): Filter {
  const lower = types.map(type => type.toLowerCase())
  const isOne = (type: unknown) => typeof type === 'string' && lower.includes(type.toLowerCase())
  return {
    matches: item => isOne(item.type) || isOne(item.native_type),
    hint: items =>
      `no object has the type ${quoted(types.join(', '))}; types: ${counted(items.map(({ type }) => type))}`,
  }
}

function nameFilter(glob: string): Filter {
  const isOne = (word: string | undefined) => word !== undefined && matchesGlob(word, glob)
  return {
    matches: ({ id, name }) => isOne(wordOf(name)) || isOne(wordOf(id)),
    hint: items =>
      `no name is ${quoted(glob)}; ${alike(
        glob,
        items.map(({ id, name }) => wordOf(name ?? id)),
      )}`,
  }
}

/** A name or an id as a text; undefined when it is neither a text nor a number. */
function wordOf(value: unknown): string | undefined {
  return numberOf(value) === undefined && typeof value !== 'string' ? undefined : asText(value)
}

/** Ids, or names. Ids that are numbers are compared by their digits: 1 and 1.0 are the same. */
function idFilter(ids: readonly string[]): Filter {
  const texts = new Set<string | undefined>(ids)
  const numbers = new Set(ids.map(id => digitsOf(jsonOf(id))))
  return {
    matches: ({ id, name }) =>
      numbers.has(digitsOf(id) ?? '') || [id, name].some(given => texts.has(wordOf(given))),
    hint: unknownIds,
    partHint: unknownIds,
  }

  function unknownIds(items: JsonObject[]): string {
    const found = new Set(items.flatMap(({ id, name }) => [wordOf(id), wordOf(name), digitsOf(id)]))
    const known = items.map(({ id, name }) => wordOf(id ?? name))
    return ids
      .filter(id => !found.has(id) && !found.has(digitsOf(jsonOf(id)) ?? id))
      .slice(0, maxHinted)
      .map(id => `no id is ${quoted(id)}; ${alike(id, known)}`)
      .join('; ')
  }
}

/** `member:value`: the value as JSON, or a text without quotes. */
function whereFilter(text: string): Filter {
  const colon = text.indexOf(':')
  if (colon < 1) {
    throw new ResourceUriInvalid('query parameter "where" must be member:value, as visible:false')
  }
  const [name, value] = [text.slice(0, colon), text.slice(colon + 1)]
  const bare = value.trim()
  const wanted = comparable(jsonOf(bare))
  return {
    matches(item) {
      if (!Object.hasOwn(item, name)) return false
      const found = item[name]
      if (typeof found === 'boolean') return String(found) === bare.toLowerCase()
      return found === value || found === bare || comparable(found) === wanted
    },
    hint(items) {
      const values = items.filter(item => Object.hasOwn(item, name)).map(item => item[name])
      if (values.length === 0) return memberHint(items, name)
      return `no ${quoted(name)} is ${quoted(value)}; values: ${counted(values)}`
    },
  }
}

/** The text as JSON where it is some, else as it is. */
function jsonOf(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return text
  }
}

/** The JSON of the value, the same for 1, 1.0 and 1e0. */
function comparable(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (numberOf(each) === undefined) return each
    // Infinity, which would be null, equals no number of a scene.
    return JSON.rawJSON(digitsOf(each) ?? '1e999')
  })
}

/** Longer names are compared by their beginning. */
const maxComparedChars = 256

/** `*` is any text, `?` any character, without regard to case. */
function matchesGlob(text: string, glob: string): boolean {
  const name = text.slice(0, maxComparedChars).toLowerCase()
  const pattern = glob.toLowerCase()
  let [at, from, star, resume] = [0, 0, -1, 0]
  while (at < name.length) {
    if (pattern[from] === '*') {
      star = from++
      resume = at
    } else if (from < pattern.length && (pattern[from] === '?' || pattern[from] === name[at])) {
      from++
      at++
    } else if (star !== -1) {
      from = star + 1
      at = ++resume
    } else {
      return false
    }
  }
  while (pattern[from] === '*') from++
  return from === pattern.length
}

/** Values of a parameter that select something in this scene. */
export function sceneValues(scene: JsonObject, parameter: string): readonly string[] {
  if (parameter === 'view') return ['summary']
  if (parameter === 'pointer') return Object.keys(scene).map(name => `/${escapePointer(name)}`)
  const items = Array.isArray(scene.objects) ? scene.objects.filter(isJsonObject) : []
  switch (parameter) {
    case 'type':
      return textsOf(items.map(({ type }) => type))
    case 'name':
      return textsOf(items.map(({ name }) => name))
    case 'ids':
      return textsOf(items.map(({ id }) => wordOf(id)))
    case 'fields':
      return textsOf(items.flatMap(item => Object.keys(item)))
    case 'where':
      return ['visible:false', 'visible:true', 'selected:true', 'animated:true']
    case 'offset':
      return ['0']
    case 'limit':
      return suggestedLimits(defaultSceneItems, maxSceneItems)
    default:
      return []
  }
}

/** Each text once, in the order in which it occurs first. */
function textsOf(values: unknown[]): readonly string[] {
  return [...new Set(values)].filter(value => typeof value === 'string')
}
