import { z } from 'zod'
import { numberOf } from '../../lib/util/exact-json.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { Annotations, BlobContent, Content } from './producer.ts'
import { parseResourceUri } from './resource-uri.ts'

/** Numbers of the host link keep their digits. */
const number = z.preprocess(value => numberOf(value) ?? value, z.number())

const common = {
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
  annotations: z.custom<Annotations>(isJsonObject).optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
}

/** An entry of `resources/list` under the scheme. */
export function descriptorForm(scheme: string) {
  const uri = z.string().superRefine((text, { addIssue }) => {
    const parsed = parseResourceUri(text)
    if (!parsed.ok) addIssue(parsed.failure.replace(/^uri /, ''))
    else if (parsed.value.scheme !== scheme) addIssue(`must begin with ${scheme}:`)
  })
  return z.object({ uri, ...common, size: number.pipe(z.int().min(0)).optional() })
}

/** An entry of `resources/templates/list` under the scheme. */
export function templateForm(scheme: string) {
  const uriTemplate = z.string().startsWith(`${scheme}:`, `must begin with ${scheme}:`)
  return z.object({ uriTemplate, ...common })
}

const head = { uri: z.string(), mimeType: z.string().optional() }

/** One of the contents of a resource: text or bytes, never both. */
export const contentForm = z.union([
  z.object({ ...head, text: z.string(), blob: z.undefined().optional() }).readonly(),
  z
    .object({
      ...head,
      blob: z.custom<BlobContent['blob']>(isBlob),
      text: z.undefined().optional(),
    })
    .readonly(),
])

function isBlob(blob: unknown): boolean {
  if (typeof blob === 'string') return blob.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(blob)
  if (blob instanceof Uint8Array) return true
  if (!isJsonObject(blob)) return false
  if (blob['base64'] instanceof Uint8Array) return true
  return Number.isSafeInteger(blob['size']) && typeof blob['open'] === 'function'
}

/**
 * Gives contents that name no MIME type the one of their listing, else the type that claims
 * least. Returns the identical array where each names one.
 */
export function typedContents(
  contents: readonly Content[],
  listedType: (uri: string) => string | undefined,
): readonly Content[] {
  if (contents.every(({ mimeType }) => mimeType !== undefined)) return contents
  return contents.map(({ uri, mimeType, ...body }) => {
    const least = 'text' in body ? 'text/plain' : 'application/octet-stream'
    return { uri, mimeType: mimeType ?? listedType(uri) ?? least, ...body }
  })
}
