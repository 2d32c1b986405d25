import { type Result, fail, ok } from '../../../lib/util/result.ts'
import {
  type Annotations,
  type Icon,
  hintForms,
  isAudience,
  isIconSizes,
  isIconSource,
  isPriority,
} from '../../resources/hints.ts'
import { type MemberFailure, MemberReader, pointerTo } from '../../../lib/util/member-reader.ts'
import { present } from '../messages.ts'
import type { OfferLimits } from './parse-offer.ts'

/** The members `annotations` and `icons` of an entry, whose pointer is given. */
export function readHints(reader: MemberReader, pointer: string, limits: OfferLimits) {
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
    present({
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
    present({
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
