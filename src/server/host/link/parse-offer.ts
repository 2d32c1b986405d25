import { omitUndefined } from '../../../lib/util/members.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import {
  type Annotations,
  type Descriptor,
  hintForms,
  type Icon,
  isAudience,
  isIconSizes,
  isIconSource,
  isPriority,
  type Template,
} from '../../resources/producer.ts'
import { isScheme, parseResourceUri } from '../../resources/resource-uri.ts'
import { type MemberFailure, MemberReader, pointerTo } from '../../../lib/util/member-reader.ts'
import { LinkRefusal } from './failures.ts'

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
  const { text = '' } = parsed.ok ? parsed.value : {}
  return reader.finish<Descriptor>(omitUndefined({ uri: text, ...entry, size }))
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
  return reader.finish<Template>(
    omitUndefined({ uriTemplate, ...readEntry(reader, pointer, limits) }),
  )
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

/** The members `annotations` and `icons` of an entry, whose pointer is given. */
function readHints(reader: MemberReader, pointer: string, limits: OfferLimits) {
  const annotations = reader.any('annotations')
  const icons = reader.any('icons')
  const at = (name: string) => pointerTo(pointer, name)
  return {
    annotations:
      annotations === undefined
        ? undefined
        : taken(reader, parseAnnotations(annotations, at('annotations'))),
    icons: icons === undefined ? undefined : taken(reader, parseIcons(icons, at('icons'), limits)),
  }
}

function parseAnnotations(value: unknown, pointer: string): Result<Annotations, MemberFailure> {
  const reader = new MemberReader(value, pointer)
  const audience = reader.any('audience')
  const priority = reader.any('priority')
  const lastModified = reader.time('lastModified')
  return reader.finish<Annotations>(
    omitUndefined({
      audience: checked(reader, 'audience', audience, isAudience),
      priority: checked(reader, 'priority', priority, isPriority),
      lastModified,
    }),
  )
}

function parseIcons(
  value: unknown,
  pointer: string,
  limits: OfferLimits,
): Result<readonly Icon[], MemberFailure> {
  if (!Array.isArray(value) || value.length > limits.maxIcons) {
    return fail({ pointer, detail: `must be an array of at most ${limits.maxIcons} icons` })
  }
  const icons: Icon[] = []
  for (const [index, item] of value.entries()) {
    const icon = parseIcon(item, pointerTo(pointer, index), limits)
    if (!icon.ok) return icon
    icons.push(Object.freeze(icon.value))
  }
  return ok(Object.freeze(icons))
}

function parseIcon(
  value: unknown,
  pointer: string,
  limits: OfferLimits,
): Result<Icon, MemberFailure> {
  const reader = new MemberReader(value, pointer)
  const src = reader.shortText('src', limits.maxUriChars)
  const isSizes = (sizes: unknown): sizes is Icon['sizes'] & {} =>
    isIconSizes(sizes, limits.maxIcons)
  return reader.finish<Icon>(
    omitUndefined({
      src: reader.required('src', checked(reader, 'src', src, isIconSource), ''),
      mimeType: reader.shortText('mimeType', limits.maxUriChars),
      sizes: checked(reader, 'sizes', reader.any('sizes'), isSizes),
      theme: reader.word('theme', ['light', 'dark']),
    }),
  )
}

function checked<Value>(
  reader: MemberReader,
  name: keyof typeof hintForms,
  value: unknown,
  isRight: (value: unknown) => value is Value,
): Value | undefined {
  if (value === undefined || isRight(value)) return value
  return reader.refuse(name, hintForms[name])
}

function taken<Value>(
  reader: MemberReader,
  parsed: Result<Value, MemberFailure>,
): Value | undefined {
  if (parsed.ok) return parsed.value
  reader.inherit(parsed.failure)
  return undefined
}
