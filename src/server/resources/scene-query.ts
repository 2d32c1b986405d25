import { asText, cleanText } from '../../lib/util/text.ts'
import {
  escapePointer,
  isJsonObject,
  type JsonObject,
  resolvePointer,
} from '../../lib/util/json.ts'
import { isVector } from '../../lib/util/json-diff.ts'
import { suggestedLimits } from './completion.ts'
import { ResourceUriInvalid } from './errors.ts'
import {
  listParameter,
  countParameter,
  onlyParameters,
  rangeParameter,
  wordParameter,
} from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'

/** The parameters of `scene://current`, in the order of its template. */
export const sceneParameters = [
  'view',
  'pointer',
  'depth',
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
  /** Levels of objects and arrays that are shown. */
  readonly depth: number
  /** Each tells whether an item belongs to the answer. */
  readonly filters: readonly ((item: JsonObject) => boolean)[]
  /** Members to show of an item or object; undefined: all. */
  readonly fields: readonly string[] | undefined
  readonly offset: number | undefined
  readonly limit: number | undefined
}

export const defaultSceneItems = 50
export const maxSceneItems = 1000
export const maxSceneDepth = 64

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
    depth: rangeParameter(uri, 'depth', 1, maxSceneDepth) ?? maxSceneDepth,
    filters: filtersOf(uri),
    fields: listParameter(uri, 'fields'),
    offset: countParameter(uri, 'offset'),
    limit: rangeParameter(uri, 'limit', 1, maxSceneItems),
  }
}

/** The selected part of the scene, with the pointer that leads to it. */
export function selectPart(scene: JsonObject, query: SceneSelection): JsonObject {
  const { filters, fields, offset, limit, depth } = query
  const wantsItems = filters.length > 0 || offset !== undefined || limit !== undefined
  const pointer = query.pointer ?? (wantsItems || fields !== undefined ? itemsPointer(scene) : '')
  const value = valueAt(scene, pointer)
  if (Array.isArray(value) && (value.length === 0 || !isVector(value)))
    return page(pointer, value, query)
  if (wantsItems) {
    throw new ResourceUriInvalid(
      'type, name, ids, where, offset and limit select items of an array; pointer leads to no array',
    )
  }
  return { pointer, value: cut(pick(value, fields), depth) }
}

function page(
  pointer: string,
  items: unknown[],
  { filters, fields, depth, offset = 0, limit = defaultSceneItems }: SceneSelection,
): JsonObject {
  const matching =
    filters.length === 0
      ? items
      : items.filter(item => isJsonObject(item) && filters.every(filter => filter(item)))
  const shown = matching.slice(offset, offset + limit)
  const end = offset + shown.length
  return {
    pointer,
    total: matching.length,
    returned: shown.length,
    ...(end < matching.length && { next_offset: end }),
    items: shown.map(item => cut(pick(item, fields), depth)),
  }
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

const maxNamed = 20

function valueAt(scene: JsonObject, pointer: string): unknown {
  const found = resolvePointer(scene, pointer)
  if (found.ok) return found.value
  const { parent } = found.failure
  if (!isJsonObject(parent)) {
    throw new ResourceUriInvalid('pointer leads to nothing in this scene: view=summary shows it')
  }
  const names = Object.keys(parent)
  const more = names.length - maxNamed
  const shown = names.slice(0, maxNamed).map(name => cleanText(name, 60))
  const known = [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
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

/** Objects and arrays below `depth` become a text that tells their size; vectors stay. */
function cut(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || isVector(value)) return value
  if (depth === 0) return sizeOf(value)
  if (Array.isArray(value)) return value.map(item => cut(item, depth - 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, cut(each, depth - 1)]),
  )
}

export function sizeOf(value: object): string {
  const count = Array.isArray(value) ? value.length : Object.keys(value).length
  const [kind, item] = Array.isArray(value) ? ['array', 'item'] : ['object', 'member']
  return `[${kind}: ${count} ${item}${count === 1 ? '' : 's'}]`
}

function filtersOf(uri: ResourceUri): ((item: JsonObject) => boolean)[] {
  const filters = []
  const types = listParameter(uri, 'type')?.map(type => type.toLowerCase())
  if (types !== undefined) {
    const isOne = (type: unknown) => typeof type === 'string' && types.includes(type.toLowerCase())
    filters.push((item: JsonObject) => isOne(item.type) || isOne(item.native_type))
  }
  const glob = uri.query.get('name')
  if (glob !== undefined) {
    const isOne = (name: unknown) => typeof name === 'string' && matchesGlob(name, glob)
    filters.push((item: JsonObject) => isOne(item.name) || isOne(item.id))
  }
  const ids = listParameter(uri, 'ids')
  if (ids !== undefined) {
    const wanted = new Set(ids)
    filters.push(({ id, name }: JsonObject) => wanted.has(asText(id)) || wanted.has(asText(name)))
  }
  const where = uri.query.get('where')
  if (where !== undefined) filters.push(whereFilter(where))
  return filters
}

/** `member:value`: the value as JSON, or a text without quotes. */
function whereFilter(text: string): (item: JsonObject) => boolean {
  const colon = text.indexOf(':')
  if (colon < 1) {
    throw new ResourceUriInvalid('query parameter "where" must be member:value, as visible:false')
  }
  const [name, value] = [text.slice(0, colon), text.slice(colon + 1)]
  return item => {
    if (!Object.hasOwn(item, name)) return false
    const found = item[name]
    return typeof found === 'string' ? found === value : JSON.stringify(found) === value
  }
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
      return textsOf(items.map(({ id }) => (typeof id === 'number' ? String(id) : id)))
    case 'fields':
      return textsOf(items.flatMap(item => Object.keys(item)))
    case 'where':
      return ['visible:false', 'visible:true', 'selected:true', 'animated:true']
    case 'depth':
      return ['1', '2', '3']
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
