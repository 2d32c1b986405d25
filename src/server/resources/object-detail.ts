import { parseExact } from '../../lib/util/exact-json.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { diffJson, type JsonChange } from '../../lib/mcp/json-diff.ts'
import type { Reader } from './producer.ts'
import { reservedSchemes } from './schemes.ts'
import type { ServedResources } from './served-resources.ts'

/** Whether the URI is of one of an application's own schemes. Notes are the server's. */
export function isOfApplication(uri: string): boolean {
  const scheme = uri.slice(0, uri.indexOf(':'))
  return scheme !== 'notes' && !reservedSchemes.has(scheme)
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

/** What changed in objects of which both details are known, each called as `called` says. */
export function detailChanges(
  before: readonly unknown[],
  after: readonly unknown[],
  called: readonly ({ readonly id: string; readonly name?: string } | null)[],
  maxChanges: number,
): readonly JsonChange[] {
  // As if they were objects of a scene, so that they are described as such. The pairs are known.
  const [old, now] = [before, after].map(details => ({
    objects: called.flatMap((each, at) => {
      const [detail, isPair] = [details[at], isJsonObject(before[at]) && isJsonObject(after[at])]
      return each && isPair ? [{ ...each, ...(detail as JsonObject), id: each.id, uid: at }] : []
    }),
  }))
  return diffJson(old, now, { maxChanges }).changes
}
