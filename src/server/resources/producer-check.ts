import { z } from 'zod'
import { numberOf } from '../../lib/util/exact-json.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { parseRfc3339, toRfc3339 } from '../../lib/util/time.ts'
import type { BlobContent } from './producer.ts'
import { parseResourceUri } from './resource-uri.ts'

/** Numbers of the host link keep their digits. */
const number = z.preprocess(value => numberOf(value) ?? value, z.number())
const time = z
  .string()
  .refine(text => parseRfc3339(text) !== null, 'must be a time as in RFC 3339')
  .transform(text => toRfc3339(parseRfc3339(text) ?? 0))
/** Clients must not follow any other scheme. */
const iconSource = z
  .string()
  .regex(/^(?:https?:\/\/|data:image\/)\S+$/i, 'must be an https, http or data:image address')

const common = {
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
  annotations: z
    .object({
      audience: z.array(z.enum(['user', 'assistant'])).optional(),
      priority: number.pipe(z.number().min(0).max(1)).optional(),
      lastModified: time.optional(),
    })
    .optional(),
  icons: z
    .array(
      z.object({
        src: iconSource,
        mimeType: z.string().optional(),
        sizes: z.array(z.string()).optional(),
        theme: z.enum(['light', 'dark']).optional(),
      }),
    )
    .optional(),
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
