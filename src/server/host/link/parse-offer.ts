import type { HostLimits } from '../limits.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Descriptor, Template } from '../../resources/producer.ts'
import { EntryReader } from '../../resources/producer-check.ts'
import { isScheme } from '../../resources/resource-uri.ts'
import { type MemberFailure, pointerTo } from '../../../lib/host-link/member-reader.ts'
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
  const reader = new EntryReader(scheme, 'refuse')
  return parseList(value, '/resources', limits, 'uri', reader.descriptor.bind(reader))
}

/** The member `templates`, likewise. */
export function parseTemplates(
  value: unknown,
  scheme: string,
  limits: OfferLimits,
): Result<readonly Template[], LinkRefusal> {
  const reader = new EntryReader(scheme, 'refuse')
  return parseList(value, '/templates', limits, 'uriTemplate', reader.template.bind(reader))
}

function parseList<Key extends string, Item extends Readonly<Record<Key, string>>>(
  value: unknown,
  pointer: string,
  { maxLinkResources }: OfferLimits,
  key: Key,
  parse: (item: unknown, pointer: string) => Result<Item, MemberFailure>,
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
    const item = parse(raw, pointerTo(pointer, index))
    if (!item.ok) {
      const { pointer: where, detail } = item.failure
      return fail(new LinkRefusal('invalid', `${where} ${detail}`))
    }
    const name = item.value[key]
    if (!items.has(name)) items.set(name, item.value)
  }
  return ok(Object.freeze([...items.values()]))
}
