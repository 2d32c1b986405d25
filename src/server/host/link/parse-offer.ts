import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import type { Descriptor, Template } from '../../resources/producer.ts'
import { isScheme, parseResourceUri } from '../../resources/resource-uri.ts'
import { type MemberFailure, MemberReader, pointerTo } from '../../../lib/util/member-reader.ts'
import { present } from '../messages.ts'
import { readHints } from './parse-hints.ts'
import { LinkRefusal } from './refusal.ts'

export type OfferLimits = Pick<Limits, 'maxLinkResources' | 'maxUriChars' | 'maxIcons'>

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
  return parseList(value, '/resources', limits, 'uri', (item, pointer) =>
    parseDescriptor(item, pointer, scheme, limits),
  )
}

/** The member `templates`, likewise. */
export function parseTemplates(
  value: unknown,
  scheme: string,
  limits: OfferLimits,
): Result<readonly Template[], LinkRefusal> {
  return parseList(value, '/templates', limits, 'uriTemplate', (item, pointer) =>
    parseTemplate(item, pointer, scheme, limits),
  )
}

function parseDescriptor(
  value: unknown,
  pointer: string,
  scheme: string,
  limits: OfferLimits,
): Result<Descriptor, MemberFailure> {
  const reader = new MemberReader(value, pointer)
  const uri = reader.any('uri')
  const parsed = parseResourceUri(uri, limits.maxUriChars)
  if (!parsed.ok) reader.refuse('uri', parsed.failure.replace(/^uri /, ''))
  else if (parsed.value.scheme !== scheme) reader.refuse('uri', `must begin with ${scheme}:`)
  const size = reader.integer('size', 0, Number.MAX_SAFE_INTEGER)
  const entry = readEntry(reader, pointer, limits)
  return reader.finish<Descriptor>(present({ uri: String(uri), ...entry, size }))
}

function parseTemplate(
  value: unknown,
  pointer: string,
  scheme: string,
  limits: OfferLimits,
): Result<Template, MemberFailure> {
  const reader = new MemberReader(value, pointer)
  const text = reader.shortText('uriTemplate', limits.maxUriChars)
  const uriTemplate = reader.required('uriTemplate', text, '')
  if (!uriTemplate.startsWith(`${scheme}:`)) {
    reader.refuse('uriTemplate', `must begin with ${scheme}:`)
  }
  return reader.finish<Template>(present({ uriTemplate, ...readEntry(reader, pointer, limits) }))
}

/** What resources and templates have in common; short, for every client is sent every entry. */
function readEntry(reader: MemberReader, pointer: string, limits: OfferLimits) {
  const text = (name: string) => reader.shortText(name, limits.maxUriChars)
  return {
    name: reader.required('name', text('name'), ''),
    title: text('title'),
    description: text('description'),
    mimeType: text('mimeType'),
    ...readHints(reader, pointer, limits),
  }
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
    const message = `${pointer} must not have more than ${maxLinkResources} entries (maxLinkResources)`
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
    if (!items.has(name)) items.set(name, Object.freeze(item.value))
  }
  return ok(Object.freeze([...items.values()]))
}
