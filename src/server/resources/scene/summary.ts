import { counted } from '../../../lib/util/amounts.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { numberOf } from '../../../lib/util/exact-json.ts'
import { isVector } from '../../../lib/mcp/json-diff.ts'
import { asText } from '../../../lib/util/text.ts'
import { pick } from './query.ts'
import type { SceneApplication } from './state.ts'

/** A summary is never larger: about 1,000 tokens. */
const maxSummaryBytes = 4096

/** How many entries of each list are tried, until the summary is small enough. */
const listSizes = [20, 10, 5, 2, 0]
const maxTextChars = 80

/**
 * The scene on one page: the facts of `dcc-scene/1` that most questions are about; for scenes of
 * another form their members, counts and sizes. Lists are cut until it fits.
 * `application`: its facts, where the scene does not say it.
 */
export function summariseScene(scene: JsonObject, application: SceneApplication['facts']): string {
  const isDccScene = typeof scene.schema === 'string' && scene.schema.startsWith('dcc-scene/')
  for (const most of listSizes) {
    const { dcc, document } = application ?? {}
    const facts = isDccScene
      ? dccFacts({ ...application, ...scene }, most)
      : { dcc: shortened(dcc), document: shortened(document), members: shapeOf(scene, most + 5) }
    const text = JSON.stringify({ view: 'summary', ...facts })
    if (Buffer.byteLength(text) <= maxSummaryBytes) return text
  }
  return JSON.stringify({ view: 'summary', members: Object.keys(scene).length })
}

/** The members of `dcc-scene/1` that are small and are shown as they are. */
const plainMembers = ['document', 'scene', 'time', 'mode', 'render', 'units', 'axes']

/** Where a camera is. */
const placeMembers = ['id', 'translate', 'world_translate', 'rotate', 'quaternion']

function dccFacts(scene: JsonObject, most: number): JsonObject {
  const objects = arrayOf(scene.objects).filter(isJsonObject)
  const hidden = objects.filter(({ visible }) => visible === false)
  const dcc = memberOf(scene, 'dcc')
  const selection = memberOf(scene, 'selection')
  const camera = objects.find(({ id }) => id !== undefined && id === scene.camera)
  const total = memberOf(scene, 'truncated').total ?? objects.length
  return {
    schema: scene.schema,
    dcc: { type: shortened(dcc.type), version: shortened(dcc.version), mode: dcc.mode },
    ...Object.fromEntries(plainMembers.map(name => [name, shortened(scene[name])])),
    selection: {
      count: selection.count ?? arrayOf(selection.ids).length,
      active: shortened(selection.active ?? null),
      ids: few(arrayOf(selection.ids), most),
    },
    camera: shortened(camera ? pick(camera, placeMembers) : (scene.camera ?? null)),
    objects: {
      total,
      listed: objects.length,
      by_type: countsByType(scene, objects, most),
      ...(objects.length > 0 && objects.length <= most && { ids: few(idsOf(objects), most) }),
    },
    hidden: { count: hidden.length, ids: few(idsOf(hidden), most) },
    collections: few(arrayOf(scene.collections).filter(isJsonObject).map(collectionText), most),
    warnings: few(arrayOf(scene.warnings).map(shortened), most),
  }
}

/** The most frequent types; of all objects where the scene counts those that it does not list. */
function countsByType(scene: JsonObject, objects: JsonObject[], most: number): JsonObject {
  const given = memberOf(memberOf(scene, 'counts'), 'by_type')
  const types = Object.entries(Object.groupBy(objects, ({ type = 'unknown' }) => asText(type)))
  const found = types.map(([type, same = []]) => [type, same.length] as const)
  const known = Object.entries(given).map(([type, count]) => [type, numberOf(count) ?? 0] as const)
  const counts = (known.length > 0 ? known : found).filter(([, count]) => count > 0)
  const sorted = counts.toSorted(([, a], [, b]) => b - a).slice(0, most + 3)
  return Object.fromEntries(sorted.map(([type, count]) => [cutText(type), count]))
}

/** "Props (12)": name and number of objects. */
function collectionText({ name, objects }: JsonObject): string {
  return `${cutText(asText(name))} (${numberOf(objects) ?? 0})`
}

/** Members with their count or value. */
function shapeOf(value: JsonObject, most: number): JsonObject {
  const members = Object.entries(value)
  const left = members.length - most
  return Object.fromEntries([
    ...members
      .slice(0, most)
      .map(([name, each]) => [cutText(name), isJsonObject(each) ? sizeOf(each) : shortened(each)]),
    ...(left > 0 ? [['…', `${left} more members`]] : []),
  ])
}

function sizeOf(value: object): string {
  return Array.isArray(value)
    ? `[array: ${counted(value.length, 'item')}]`
    : `[object: ${counted(Object.keys(value).length, 'member')}]`
}

function memberOf(value: JsonObject, name: string): JsonObject {
  const member = value[name]
  return isJsonObject(member) ? member : {}
}

function idsOf(objects: readonly JsonObject[]): readonly unknown[] {
  return objects.map(({ id, name }) => id ?? name)
}

/** The first entries, and how many more there are. */
function few(values: readonly unknown[], most: number): readonly unknown[] {
  const shown = values.slice(0, most).map(shortened)
  return values.length > most ? [...shown, `… ${values.length - most} more`] : shown
}

/** Long texts and lists cut, so that no single value fills the summary. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value)
  if (Array.isArray(value)) return isVector(value) ? value : sizeOf(value)
  return isJsonObject(value) ? shapeOf(value, 20) : value
}

function cutText(text: string): string {
  return text.length <= maxTextChars ? text : `${text.slice(0, maxTextChars - 1)}…`
}
