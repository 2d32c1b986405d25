import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { cleanText } from '../../util/text.ts'
import { unconfirmedLine } from '../unconfirmed.ts'
import { type Contents, type Listed, parseContents, parseListed } from './ask.ts'
import { unexpectedAnswer } from './failure.ts'
import type { McpClientLimits } from './limits.ts'
import type { McpSession } from './context.ts'

interface Listing {
  readonly entries: readonly Listed[]
  /** The listing exceeds a limit. */
  readonly cut: boolean
}

type ListLimits = Pick<McpClientLimits, 'maxPages' | 'maxListed'>

const lists = {
  resources: { method: 'resources/list', member: 'resources', key: 'uri' },
  templates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
  },
} as const

/** Reads all pages of a listing. Rejects with `ServiceError`. */
export async function listAll(
  session: McpSession,
  what: keyof typeof lists,
  limits: ListLimits,
  signal: AbortSignal,
): Promise<Listing> {
  const { method, member, key } = lists[what]
  const entries: Listed[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < limits.maxPages; page++) {
    const result = await session.request(method, cursor === undefined ? {} : { cursor }, signal)
    if (!Array.isArray(result[member])) throw unexpectedAnswer(session.url, method)
    entries.push(...parseListed(result[member], key))
    const { nextCursor: next } = result
    if (entries.length > limits.maxListed) {
      return { entries: entries.slice(0, limits.maxListed), cut: true }
    }
    // A repeated cursor would never end.
    if (typeof next !== 'string' || seen.has(next)) return { entries, cut: false }
    seen.add(next)
    cursor = next
  }
  return { entries, cut: true }
}

interface ReadResult {
  readonly contents: readonly Contents[]
  /** The unparsed result. */
  readonly raw: JsonObject
}

/** Rejects with `ServiceError`, such as `resource_not_found`. */
export async function readResource(
  session: McpSession,
  uri: string,
  signal: AbortSignal,
): Promise<ReadResult> {
  const raw = await session.request('resources/read', { uri }, signal)
  const contents = parseContents(raw)
  if (contents !== null) return { contents, raw }
  throw unexpectedAnswer(session.url, cleanText(uri, 300))
}

interface Completed {
  readonly values: readonly string[]
  readonly more: boolean
}

/** Values for a template variable that begin with `value`. */
export async function completeTemplate(
  session: McpSession,
  { uri, name, value }: { uri: string; name: string; value: string },
  signal: AbortSignal,
): Promise<Completed> {
  const params = { ref: { type: 'ref/resource', uri }, argument: { name, value } }
  const { completion } = await session.request('completion/complete', params, signal)
  const { values, hasMore } = isJsonObject(completion) ? completion : {}
  const texts = Array.isArray(values) ? values.filter(each => typeof each === 'string') : []
  return { values: texts, more: hasMore === true }
}

/** Why a scene may be older than what its application shows; null when it is not. */
export function staleReason(meta: JsonObject | undefined): string | null {
  return unconfirmedLine(applicationOf(meta), sceneOf(meta).size !== 0)
}

/** What the `_meta` of a scene says of its application. */
export function applicationOf(meta: JsonObject | undefined): JsonObject {
  const { application } = sceneOf(meta)
  return isJsonObject(application) ? application : {}
}

/** What the `_meta` of a scene says of it. */
export function sceneOf(meta: JsonObject | undefined): JsonObject {
  const scene = meta?.['service-cli/scene']
  return isJsonObject(scene) ? scene : {}
}

export function isJsonType(mimeType: string | null): boolean {
  return /^[\w.+-]+\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(mimeType ?? '')
}
