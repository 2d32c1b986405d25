import { digitsOf, numberOf, parseExact } from '../../../lib/util/exact-json.ts'
import {
  arrayOf,
  escapePointer,
  isJsonObject,
  type JsonObject,
  resolvePointer,
} from '../../../lib/util/json.ts'
import { isVector } from '../../../lib/mcp/json-diff.ts'
import { asText, cleanText, nearest } from '../../../lib/util/text.ts'
import { ResourceUriInvalid } from '../errors.ts'
import {
  listParameter,
  onlyParameters,
  integerParameter,
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

/** A value of the scene, and what to show of it. */
interface SceneSelection {
  /** JSON pointer (RFC 6901); undefined: the scene, or its objects when items are selected. */
  readonly pointer: string | undefined
  readonly filters: readonly Filter[]
  /** Members to show of an item or object; undefined: all. */
  readonly fields: readonly string[] | undefined
  readonly offset: number | undefined
  readonly limit: number | undefined
}

/** An object belongs to the answer when it is one of the words. */
interface Filter {
  readonly member: string
  readonly words: readonly string[]
  /** What the words are compared with, for hints. */
  valueOf(item: JsonObject): unknown
  isOne(item: JsonObject, word: string): boolean
}

export const defaultSceneItems = 50
export const maxSceneItems = 1000

/** Null when the whole scene is asked for. Throws `ResourceUriInvalid`. */
export function parseSceneQuery(uri: ResourceUri): SceneSelection | 'summary' | null {
  onlyParameters(uri, sceneParameters)
  if (uri.query.size === 0) return null
  if (wordParameter(uri, 'view', ['summary']) !== undefined) {
    if (uri.query.size > 1) throw new ResourceUriInvalid('view=summary takes no other parameter')
    return 'summary'
  }
  return {
    pointer: uri.query.get('pointer'),
    filters: filtersOf(uri),
    fields: listParameter(uri, 'fields'),
    offset: integerParameter(uri, 'offset'),
    limit: integerParameter(uri, 'limit', 1, maxSceneItems),
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
  const hint = fieldHints([value], fields).join('; ')
  return { pointer, ...(hint && { hint }), value: pick(value, fields) }
}

function page(
  scene: JsonObject,
  pointer: string,
  items: unknown[],
  query: SceneSelection,
): JsonObject {
  const { filters, fields, offset = 0, limit = defaultSceneItems } = query
  const matching = items.filter(item =>
    filters.every(
      ({ words, isOne }) => isJsonObject(item) && words.some(word => isOne(item, word)),
    ),
  )
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

/** What was asked for and is nowhere; an empty text when all of it was found. */
function pageHint(
  scene: JsonObject,
  all: unknown[],
  matching: unknown[],
  { filters, fields, offset = 0 }: SceneSelection,
): string {
  const { length } = matching
  if (length > 0 && offset >= length) return `offset ${offset} is past the last of ${length}`
  const items = all.filter(isJsonObject)
  const hints = filters.flatMap(filter => filterHints(filter, items))
  if (length === 0 && filters.length > 0 && hints.length === 0) {
    hints.push('no object matches all of these parameters together')
  }
  const total = isJsonObject(scene.truncated) ? numberOf(scene.truncated.total) : undefined
  if (hints.length > 0 && Number(total) > items.length) {
    hints.push(`the application lists only ${items.length} of ${total} objects`)
  }
  return [...hints, ...(length > 0 ? fieldHints(matching, fields) : [])].join('; ')
}

function fieldHints(values: unknown[], fields: readonly string[] = []): readonly string[] {
  const items = values.filter(isJsonObject)
  if (items.length === 0) return []
  const missing = fields.filter(field => !items.some(item => Object.hasOwn(item, field)))
  return missing.slice(0, maxHinted).map(field => memberHint(items, field))
}

function memberHint(items: JsonObject[], name: string): string {
  const names = items.slice(0, maxCompared).flatMap(item => Object.keys(item))
  return `there is no member ${quoted(name)} here; ${alike(name, names)}`
}

/** For the words that no item is. */
function filterHints({ member, words, valueOf, isOne }: Filter, items: JsonObject[]): string[] {
  const unknown = words.filter(word => !items.some(item => isOne(item, word)))
  const values = unknown.length === 0 ? [] : items.map(valueOf).filter(each => each != null)
  if (unknown.length > 0 && values.length === 0) return [memberHint(items, member)]
  const name = cleanText(member, 60)
  return unknown
    .slice(0, maxHinted)
    .map(word => `no ${name} is ${quoted(word)}; ${alike(word, values)}`)
}

const maxHinted = 3
/** Enough to find a mistake in typing; each costs time. */
const maxCompared = 2000

/** Those of the values that are like the word, else the first ones. */
function alike(word: string, values: unknown[]): string {
  const texts = distinctTexts(values)
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
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ') || 'none'
}

function quoted(text: string): string {
  return JSON.stringify(cleanText(text, 60))
}

/** The array of objects that filters apply to. */
function itemsPointer(scene: JsonObject): string {
  if (Array.isArray(scene.objects)) return '/objects'
  throw new ResourceUriInvalid('name the array of items with pointer, as in pointer=/nodes')
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
export function pick(value: unknown, fields: readonly string[] | undefined): unknown {
  if (fields === undefined || !isJsonObject(value)) return value
  const names = fields.includes('id') ? fields : ['id', ...fields]
  return Object.fromEntries(
    names.flatMap(name => (Object.hasOwn(value, name) ? [[name, value[name]]] : [])),
  )
}

function filtersOf(uri: ResourceUri): Filter[] {
  const [types, ids] = [listParameter(uri, 'type'), listParameter(uri, 'ids')]
  const [glob, where] = [uri.query.get('name'), uri.query.get('where')]
  const filters: (Filter | undefined)[] = [
    types && {
      member: 'type',
      words: types.map(type => type.toLowerCase()),
      valueOf: ({ type }) => type,
      isOne: ({ type, native_type: native }, word) =>
        [type, native].some(each => typeof each === 'string' && each.toLowerCase() === word),
    },
    glob === undefined
      ? undefined
      : {
          member: 'name',
          words: [glob],
          valueOf: ({ id, name }) => wordOf(name ?? id),
          isOne: ({ id, name }, word) => [name, id].some(each => matchesGlob(wordOf(each), word)),
        },
    ids && idFilter(ids),
    where === undefined ? undefined : whereFilter(where),
  ]
  return filters.filter(filter => filter !== undefined)
}

/** Ids, or names. Numbers are compared by their digits: 1 and 1.0 are the same. */
function idFilter(ids: readonly string[]): Filter {
  const digits = new Map(ids.map(id => [id, digitsOf(jsonOf(id))]))
  return {
    member: 'id',
    words: ids,
    valueOf: ({ id, name }) => wordOf(id ?? name),
    isOne({ id, name }, word) {
      if (id === word || name === word) return true
      const isNumber = typeof id !== 'string' && numberOf(id) !== undefined
      return isNumber && digitsOf(id) === digits.get(word)
    },
  }
}

/** `member:value`: the value as JSON, or a text without quotes. */
function whereFilter(text: string): Filter {
  const colon = text.indexOf(':')
  if (colon < 1) {
    throw new ResourceUriInvalid('query parameter "where" must be member:value, as visible:false')
  }
  const [member, value] = [text.slice(0, colon), text.slice(colon + 1)]
  const valueOf = (item: JsonObject) => (Object.hasOwn(item, member) ? item[member] : undefined)
  const bare = value.trim()
  const wanted = comparable(jsonOf(bare))
  return {
    member,
    words: [value],
    valueOf,
    isOne(item) {
      const found = valueOf(item)
      if (found === undefined) return false
      if (typeof found === 'boolean') return String(found) === bare.toLowerCase()
      return found === value || found === bare || comparable(found) === wanted
    },
  }
}

/** A name or an id as a text; null when it is neither a text nor a number. */
function wordOf(value: unknown): string | null {
  return numberOf(value) === undefined && typeof value !== 'string' ? null : asText(value)
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
function matchesGlob(text: string | null, glob: string): boolean {
  if (text === null) return false
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

const suggested: Readonly<Record<string, readonly string[]>> = {
  view: ['summary'],
  where: ['visible:false', 'visible:true', 'selected:true', 'animated:true'],
}

/** Values of a parameter that select something in this scene. */
export function sceneValues(scene: JsonObject, parameter: string): readonly string[] {
  if (parameter === 'pointer') return Object.keys(scene).map(name => `/${escapePointer(name)}`)
  const items = arrayOf(scene.objects).filter(isJsonObject)
  if (parameter === 'fields') return distinctTexts(items.flatMap(item => Object.keys(item)))
  const member = parameter === 'ids' ? 'id' : parameter
  return suggested[parameter] ?? distinctTexts(items.map(item => item[member]))
}

/** Each value once, in the order in which it occurs first. */
function distinctTexts(values: unknown[]): readonly string[] {
  return [...new Set(values.filter(value => value != null).map(asText))]
}
