import { parseExact } from '../../lib/util/exact-json.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import type { Reader } from './producer.ts'
import { isReservedScheme, type ServedResources } from './schemes.ts'

/** Whether the URI is of one of an application's own schemes. Notes are the server's. */
export function isOfApplication(uri: string): boolean {
  const scheme = uri.slice(0, uri.indexOf(':'))
  return scheme !== 'notes' && !isReservedScheme(scheme)
}

/**
 * Where the application tells all of the object with this id: its scheme whose URIs are an id.
 * Null: it has none.
 */
export function detailUri(registry: ServedResources, id: string): string | null {
  for (const { uriTemplate } of registry.templates()) {
    const [, start] = /^([a-z][^{}]*:\/\/)\{(?:id|name)\}$/.exec(uriTemplate) ?? []
    if (start === undefined || !isOfApplication(start)) continue
    return start + encodeURIComponent(id.toWellFormed())
  }
  return null
}

/** What the application tells of that object; null: nothing. Rejects as a read does. */
export async function readDetail(
  registry: ServedResources,
  id: string,
  reader?: Reader,
): Promise<JsonObject | null> {
  const uri = detailUri(registry, id)
  const [content] = uri === null ? [] : await registry.read(uri, reader)
  const detail = content !== undefined && 'text' in content ? parseExact(content.text) : null
  return isJsonObject(detail) ? detail : null
}
