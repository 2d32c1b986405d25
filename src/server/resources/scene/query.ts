import { numberOf, parseExact } from '../../../lib/util/exact-json.ts'
import {
  arrayOf,
  escapePointer,
  isJsonObject,
  type JsonObject,
  resolvePointer,
} from '../../../lib/util/json.ts'
import { isSame, isVector } from '../../../lib/mcp/json-diff.ts'
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
type SceneSelection = Exclude<ReturnType<typeof parseSceneQuery>, 'summary' | null>

/** An object belongs to the answer when one of its values is one of the words. */
interface Filter {
  readonly member: string
  /** The first one is what hints tell. */
  valuesOf(item: JsonObject): readonly unknown[]
  readonly words: readonly FilterWord[]
}

interface FilterWord {
  readonly text: string
  matches(value: unknown): boolean
}

export const defaultSceneItems = 50
export const maxSceneItems = 1000

/** Null when the whole scene is asked for. Throws `ResourceUriInvalid`. */
export function parseSceneQuery(uri: ResourceUri) {
  onlyParameters(uri, sceneParameters)
  if (uri.query.size === 0) return null
  if (wordParameter(uri, 'view', ['summary']) !== undefined) {
    if (uri.query.size > 1) throw new ResourceUriInvalid('view=summary takes no other parameter')
    return 'summary'
  }
  return {
    /** JSON pointer (RFC 6901); undefined: the scene, or its objects when items are selected. */
    pointer: uri.query.get('pointer'),
    filters: filtersOf(uri),
    /** Members to show of an item or object; undefined: all. */
    fields: listParameter(uri, 'fields'),
    offset: integerParameter(uri, 'offset'),
    limit: integerParameter(uri, 'limit', 1, maxSceneItems),
  }
}

/** The selected part of the scene, with the pointer that leads to it. */
export function selectPart(scene: JsonObject, query: SceneSelection): JsonObject {
  const { filters, fields, offset, limit } = query
  const wantsItems = filters.length > 0 || offset !== undefined || limit !== undefined
  const pointer = query.pointer ?? (wantsItems || fields !== undefined ? '/objects' : '')
  const value = valueAt(scene, pointer)
  if (Array.isArray(value) && (value.length === 0 || !isVector(value))) {
    return page(scene, pointer, value, query)
  }
  if (wantsItems) {
    throw new ResourceUriInvalid(
      'type, name, ids, where, offset and limit select items of an array; pointer leads to no array',
    )
  }
  const hint = fieldHints([value], fields).join()
  return { pointer, ...(hint && { hint }), value: pick(value, fields) }
}

function page(
  scene: JsonObject,
  pointer: string,
  items: unknown[],
  { filters, fields, offset = 0, limit = defaultSceneItems }: SceneSelection,
): JsonObject {
  const matching = items.filter(item =>
    filters.every(
      ({ words, valuesOf }) =>
        isJsonObject(item) && valuesOf(item).some(each => words.some(word => word.matches(each))),
    ),
  )
  const shown = matching.slice(offset, offset + limit)
  const end = offset + shown.length
  // A single word is known when anything was found.
  const unsure = matching.length > 0 ? filters.filter(({ words }) => words.length > 1) : filters
  const unknown = filterHints(scene, items.filter(isJsonObject), unsure)
  const hint = [...unknown, ...fieldHints(matching, fields)].join('; ')
  return {
    pointer,
    total: matching.length,
    returned: shown.length,
    ...(end < matching.length && { next_offset: end }),
    ...(hint && { hint }),
    items: shown.map(item => pick(item, fields)),
  }
}

/** For the words that no item is. */
function filterHints(
  scene: JsonObject,
  items: JsonObject[],
  filters: readonly Filter[],
): readonly string[] {
  const hints = filters.flatMap(({ member, words, valuesOf }) => {
    const all = items.flatMap(valuesOf)
    const unknown = words.filter(word => !all.some(word.matches))
    if (unknown.length === 0) return []
    const texts = unknown.map(({ text }) => text)
    const values = items.map(item => valuesOf(item)[0]).filter(isSet)
    return [values.length > 0 ? noMatchText(member, texts, values) : noMember([member], items)]
  })
  const total = isJsonObject(scene.truncated) ? numberOf(scene.truncated.total) : undefined
  if (hints.length > 0 && Number(total) > items.length) {
    hints.push(`the application lists only ${items.length} of ${total} objects`)
  }
  return hints
}

function fieldHints(values: unknown[], fields: readonly string[] = []): readonly string[] {
  const items = values.filter(isJsonObject)
  const missing = fields.filter(field => !items.some(item => Object.hasOwn(item, field)))
  return items.length > 0 && missing.length > 0 ? [noMember(missing, items)] : []
}

function noMember(names: readonly string[], items: JsonObject[]): string {
  return noMatchText('member', names, items.slice(0, maxCompared).flatMap(Object.keys))
}

/** Enough to find a mistake in typing; each costs time. */
const maxCompared = 2000

/** "no type is "lamp"; known: light, mesh", with those that are like the words first. */
function noMatchText(member: string, words: readonly string[], values: unknown[]): string {
  const texts = distinctTexts(values)
  const isLike = (text: string) =>
    words
      .slice(0, 3)
      .some(word => text.toLowerCase().includes(word.toLowerCase()) || nearest(word, [text]))
  const known = new Set([...texts.slice(0, maxCompared).filter(isLike), ...texts])
  const names = words.map(word => JSON.stringify(cleanText(word, 60)))
  return `no ${cleanText(member, 60)} is ${listed(names, 5)}; known: ${listed([...known])}`
}

function listed(texts: readonly string[], most = 12): string {
  const more = texts.length - most
  const shown = texts.slice(0, most).map(text => cleanText(text, 60))
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ') || 'none'
}

function valueAt(scene: JsonObject, pointer: string): unknown {
  const found = resolvePointer(scene, pointer)
  if (found.ok) return found.value
  const { parent } = found.failure
  const known = isJsonObject(parent) ? `; members there: ${listed(Object.keys(parent), 20)}` : ''
  throw new ResourceUriInvalid(`pointer leads to nothing in this scene${known}`)
}

/** `id` stays, because it names the item. */
export function pick(value: unknown, fields: readonly string[] | undefined): unknown {
  if (fields === undefined || !isJsonObject(value)) return value
  const names = fields.includes('id') ? fields : ['id', ...fields]
  return Object.fromEntries(
    names.flatMap(name => (Object.hasOwn(value, name) ? [[name, value[name]]] : [])),
  )
}

function filtersOf(uri: ResourceUri): readonly Filter[] {
  const filters: Filter[] = []
  const add = (
    member: string,
    words: readonly string[] | undefined,
    matcherOf: (word: string) => FilterWord['matches'],
    valuesOf: Filter['valuesOf'],
  ): void => {
    if (words === undefined) return
    const meant = words.map(text => ({ text, matches: matcherOf(text) }))
    filters.push({ member, words: meant, valuesOf })
  }
  const [name, where] = [uri.query.get('name'), uri.query.get('where')]
  add('type', listParameter(uri, 'type'), typeTest, item => [item.type, item.native_type])
  add('name', name === undefined ? undefined : [name], globTest, ({ id, name }) =>
    [name, id].filter(isSet),
  )
  add('id', listParameter(uri, 'ids'), equalTo, ({ id, name }) => [id, name].filter(isSet))
  if (where === undefined) return filters
  const [, member, value = ''] = /^([^:]+):(.*)$/s.exec(where) ?? []
  if (member === undefined) {
    throw new ResourceUriInvalid('query parameter "where" must be member:value, as visible:false')
  }
  add(member, [value], equalTo, item => (Object.hasOwn(item, member) ? [item[member]] : []))
  return filters
}

function isSet(value: unknown): boolean {
  return value != null
}

function typeTest(word: string): FilterWord['matches'] {
  const type = word.toLowerCase()
  return value => typeof value === 'string' && (value === type || value.toLowerCase() === type)
}

/** The word as a text, or as JSON: numbers are compared by their digits. */
function equalTo(word: string): FilterWord['matches'] {
  const text = word.trim()
  let json: unknown
  try {
    json = parseExact(/^(?:true|false)$/i.test(text) ? text.toLowerCase() : text)
  } catch {
    json = text
  }
  return value =>
    typeof value === 'string' ? value === word || value === json : isSame(value, json)
}

/** `*` is any text, `?` any character, without regard to case. */
function globTest(glob: string): FilterWord['matches'] {
  const parts = glob.split('*').map(part => RegExp.escape(part).replaceAll('\\?', '.'))
  const last = parts.length > 1 ? `.*${parts.pop()}` : ''
  const [first, ...others] = parts
  // A part that is found stays found: many stars would else cost exponential time.
  const between = others.map((part, at) => `(?=(.*?${part}))\\${at + 1}`).join('')
  const pattern = new RegExp(`^${first}${between}${last}$`, 'isu')
  return value => pattern.test(asText(value))
}

/** Values of a parameter that select something in this scene. */
export function sceneValues(scene: JsonObject, parameter: string): readonly string[] {
  if (parameter === 'view') return ['summary']
  if (parameter === 'pointer') return Object.keys(scene).map(name => `/${escapePointer(name)}`)
  const items = arrayOf(scene.objects).filter(isJsonObject)
  if (parameter === 'fields') return distinctTexts(items.flatMap(item => Object.keys(item)))
  const member = parameter === 'ids' ? 'id' : parameter
  return distinctTexts(items.map(item => item[member]))
}

/** Each value once, in the order in which it occurs first. */
function distinctTexts(values: unknown[]): readonly string[] {
  return [...new Set(values.filter(isSet).map(asText))]
}
