import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { cleanText } from '../../util/text.ts'
import { incompleteKey } from '../call-meta.ts'
import { unconfirmedLine } from '../unconfirmed.ts'
import { callMethod, type McpServer } from './call.ts'
import { unexpectedAnswer } from './failure.ts'

/** A listed resource. Missing or invalid members are null. */
export interface Listed {
  readonly uri: string
  readonly name: string
  readonly title: string | null
  readonly mimeType: string | null
  readonly size: number | null
  /** RFC 3339, as the server wrote it. */
  readonly modified: string | null
  /** The whole entry. */
  readonly raw: JsonObject
}

/**
 * Reads all pages of resources, or of URI templates; `incomplete` is told what the server could not
 * list. Rejects with `ServiceError`.
 */
export async function listResources(
  server: McpServer,
  member: 'resources' | 'resourceTemplates',
  incomplete: (what: string) => void,
): Promise<Listed[]> {
  const method = member === 'resources' ? 'resources/list' : 'resources/templates/list'
  const listed: Listed[] = []
  for (let params: JsonObject = {}; ;) {
    const result = await callMethod(server, method, params)
    const { [member]: values, nextCursor: cursor, _meta: meta } = result
    if (!Array.isArray(values)) throw unexpectedAnswer(server.url, method)
    const lacks = isJsonObject(meta) ? textOf(meta[incompleteKey]) : null
    if (lacks !== null) incomplete(cleanText(lacks, 300))
    listed.push(...values.flatMap(value => parseListed(value) ?? []))
    if (typeof cursor !== 'string') return listed
    params = { cursor }
  }
}

function parseListed(raw: unknown): Listed | null {
  if (!isJsonObject(raw)) return null
  const uri = textOf(raw.uri ?? raw.uriTemplate)
  if (uri === null) return null
  const { annotations, size } = raw
  return {
    uri,
    name: textOf(raw.name) ?? uri,
    title: textOf(raw.title),
    mimeType: textOf(raw.mimeType),
    size: typeof size === 'number' && size >= 0 ? size : null,
    modified: isJsonObject(annotations) ? textOf(annotations.lastModified) : null,
    raw,
  }
}

/** One of the contents of a resource. */
export interface Contents {
  readonly uri: string
  readonly mimeType: string | null
  /** Text, or bytes. */
  readonly content: string | Buffer
  readonly meta: JsonObject
}

/** `raw` is the whole result. Rejects with `ServiceError`, such as `resource_not_found`. */
export async function readResource(server: McpServer, uri: string, signal?: AbortSignal) {
  const raw = await callMethod(server, 'resources/read', { uri }, signal)
  const contents = Array.isArray(raw.contents) ? raw.contents.map(parseContents) : [null]
  if (contents.every(each => each !== null)) return { contents, raw }
  throw unexpectedAnswer(server.url, cleanText(uri, 300))
}

function parseContents(value: unknown): Contents | null {
  if (!isJsonObject(value) || typeof value.uri !== 'string') return null
  const { uri, mimeType, text, blob, _meta } = value
  const content = typeof blob === 'string' ? Buffer.from(blob, 'base64') : text
  if (typeof content !== 'string' && !Buffer.isBuffer(content)) return null
  return { uri, mimeType: textOf(mimeType), content, meta: isJsonObject(_meta) ? _meta : {} }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** Why a scene may be older than what its application shows; null when it is not. */
export function staleReason(meta: JsonObject): string | null {
  const scene = sceneOf(meta)
  return unconfirmedLine(applicationOf(scene), scene.size !== 0)
}

/** What the `_meta` of a scene says of it. */
export function sceneOf(meta: JsonObject): JsonObject {
  const { 'service-cli/scene': scene } = meta
  return isJsonObject(scene) ? scene : {}
}

/** What that says of its application. */
export function applicationOf({ application }: JsonObject): JsonObject {
  return isJsonObject(application) ? application : {}
}

export function isJsonType(mimeType: string | null): boolean {
  return /^[\w.+-]+\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(mimeType ?? '')
}
