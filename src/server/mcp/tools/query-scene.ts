import { z } from 'zod'
import { publicMessage, ServiceError } from '../../../lib/util/errors.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { asText } from '../../../lib/util/text.ts'
import { readDetail } from '../../resources/object-detail.ts'
import type { Reader } from '../../resources/producer.ts'
import { defaultSceneItems, maxSceneItems } from '../../resources/scene/query.ts'
import { sceneCurrentUri } from '../../resources/scene/listing.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { fitting, maxChars } from './pages.ts'
import { presenceOf } from './presence.ts'
import { contentObject, createTool, failedResult, textResult } from './tool.ts'
import { withQuery } from './written-uri.ts'

/** Each object that is asked for in detail costs the application time. */
const maxDetailed = 10

/** Reads a part of the scene as `scene://current` selects it, cut to the space of the caller. */
export const queryScene = createTool({
  name: 'query_scene',
  title: 'Query the scene',
  description:
    'Read or list what is open in the application: objects, what is selected, cameras, lights, ' +
    'materials, hidden objects, render settings. Without arguments: a summary with document, ' +
    'counts, revision and warnings. Objects: type, name, ids, where; fields chooses their members, ' +
    'detail adds all that the application tells of them. Other parts: pointer.',
  searchHint: 'list scene objects, selected object, lights, materials, meshes, cameras, transforms',
  meta: { 'anthropic/alwaysLoad': true },
  input: z.strictObject({
    view: z.enum(['summary']).describe('the scene on one page').optional(),
    pointer: z.string().describe('JSON pointer, such as /render or /objects/0').optional(),
    type: z.string().describe('object types, such as light or mesh,curve').optional(),
    name: z.string().describe('glob on the name, such as *wheel*').optional(),
    ids: z.array(z.string()).max(100).describe('ids or names of objects').optional(),
    detail: z
      .boolean()
      .describe(
        'with ids: add modifiers, energy and whatever else the application tells of each object',
      )
      .default(false),
    where: z.string().describe('member:value, such as visible:false').optional(),
    fields: z.array(z.string()).max(100).describe('members to show of each object').optional(),
    offset: z.int().min(0).describe('next_offset of the answer before').optional(),
    limit: z
      .int()
      .min(1)
      .max(maxSceneItems)
      .describe(`objects of one answer; absent: ${defaultSceneItems}`)
      .optional(),
    max_chars: maxChars,
  }),
  async call({ max_chars: most, detail, ...selection }, caller, { registry }) {
    const { ids, limit = maxDetailed, offset = 0 } = selection
    if (detail && ids === undefined) return failedResult('argument_invalid', 'detail needs ids')
    if (detail) selection.limit = Math.min(limit, maxDetailed)
    const given = Object.keys(selection).length === 0 ? { view: 'summary' } : selection
    const part = await readScenePart(registry, given, caller)
    const shown = fit(detail ? await withDetails(registry, part, caller) : part, most, offset)
    if (shown !== null) return textResult(JSON.stringify(shown), shown)
    const message = `the answer is longer than max_chars (${most}): choose fields or a pointer`
    return failedResult('argument_invalid', message)
  },
})

/** The items with what the application tells of each. */
async function withDetails(
  registry: ServedResources,
  part: JsonObject,
  reader: Reader,
): Promise<JsonObject> {
  const items = arrayOf(part.items).map(async item => {
    if (!isJsonObject(item)) return item
    try {
      const detail = await readDetail(registry, asText(item.id ?? item.name), reader)
      return detail === null
        ? { ...item, no_detail: 'the application offers none' }
        : { ...item, detail }
    } catch (error) {
      if (error instanceof ServiceError) return { ...item, no_detail: publicMessage(error) }
      throw error
    }
  })
  return items.length === 0 ? part : { ...part, items: await Promise.all(items) }
}

/** The part, with fewer items where it is too long; null when that does not help. */
function fit(part: JsonObject, most: number, offset: number): JsonObject | null {
  if (JSON.stringify(part).length <= most) return part
  const { items, returned, next_offset: _, ...rest } = part
  if (!Array.isArray(items)) return null
  const frame = { ...rest, returned, next_offset: offset + items.length, items: [] }
  const kept = fitting(items, most - JSON.stringify(frame).length, JSON.stringify)
  if (kept === 0) return null
  return { ...rest, returned: kept, next_offset: offset + kept, items: items.slice(0, kept) }
}

/** The part with its run and revision. Goes through the resource, which makes it once for all who ask. */
export async function readScenePart(
  registry: ServedResources,
  selection: JsonObject,
  reader: Reader,
): Promise<JsonObject> {
  const contents = await registry.read(withQuery(sceneCurrentUri, selection), reader)
  const scene = contents[0]?._meta?.['service-cli/scene']
  const { run, revision } = isJsonObject(scene) ? scene : {}
  // Known only once the application was asked.
  const presence = presenceOf(registry.scene)?.facts
  return { ...presence, run, revision, ...contentObject(contents) }
}
