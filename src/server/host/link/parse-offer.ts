import type { z } from 'zod'
import type { HostLimits } from '../limits.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Descriptor, Template } from '../../resources/producer.ts'
import { descriptorForm, templateForm } from '../../resources/producer-check.ts'
import { isScheme } from '../../resources/resource-uri.ts'
import { isJsonObject } from '../../../lib/util/json.ts'
import { LinkRefusal } from './failures.ts'

export type OfferLimits = Pick<HostLimits, 'maxLinkResources'>

export function parseScheme(value: unknown): Result<string, LinkRefusal> {
  if (isScheme(value)) return ok(value)
  const form = 'a lower-case letter, then letters, digits, "+", "-" or ".", at most 64 characters'
  return fail(new LinkRefusal('invalid', `/scheme must be ${form}`))
}

/** The member `resources`; frozen. Of several with one URI the first counts. */
export function parseResources(
  value: unknown,
  scheme: string,
  limits: OfferLimits,
): Result<readonly Descriptor[], LinkRefusal> {
  return parseList(value, '/resources', limits, 'uri', descriptorForm(scheme).strict())
}

/** The member `templates`, likewise. */
export function parseTemplates(
  value: unknown,
  scheme: string,
  limits: OfferLimits,
): Result<readonly Template[], LinkRefusal> {
  return parseList(value, '/templates', limits, 'uriTemplate', templateForm(scheme).strict())
}

function parseList<Key extends string, Item extends Readonly<Record<Key, string>>>(
  value: unknown,
  pointer: string,
  { maxLinkResources }: OfferLimits,
  key: Key,
  form: z.ZodType<Item>,
): Result<readonly Item[], LinkRefusal> {
  if (!Array.isArray(value)) {
    return fail(new LinkRefusal('invalid', `${pointer} must be an array`))
  }
  if (value.length > maxLinkResources) {
    const message = `${pointer} must not have more than ${maxLinkResources} entries`
    return fail(new LinkRefusal('limit', message))
  }
  const items = new Map<string, Item>()
  for (const [index, raw] of value.entries()) {
    const { success, data, error } = form.safeParse(withoutNulls(raw))
    if (!success) {
      const { path = [], message = '' } = error.issues[0] ?? {}
      const where = [pointer, index, ...path.map(String)].join('/')
      return fail(new LinkRefusal('invalid', `${where}: ${message}`))
    }
    const name = data[key]
    if (!items.has(name)) items.set(name, Object.freeze(data))
  }
  return ok(Object.freeze([...items.values()]))
}

/** On the link a member that is null counts as absent. */
export function withoutNulls(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}
