import { parseRfc3339 } from '../../lib/util/clock.ts'

/** For whom an entry of a listing is and how much it matters. Members as in the MCP schema. */
export interface Annotations {
  readonly audience?: readonly Audience[]
  /** From 0, the least important, to 1, without which little makes sense. */
  readonly priority?: number
  /** RFC 3339 */
  readonly lastModified?: string
}

export type Audience = 'user' | 'assistant'

/** A picture for an entry; clients of 2025-11-25 and later may show it. */
export interface Icon {
  /** `https://…`, `http://…` or `data:image/…`. */
  readonly src: string
  readonly mimeType?: string
  /** Such as `48x48`, or `any`. */
  readonly sizes?: readonly string[]
  /** The background that it is made for. */
  readonly theme?: Theme
}

export type Theme = 'light' | 'dark'

/** What each member must be, for whoever refuses another. */
export const hintForms = {
  audience: 'must be an array of "user" and "assistant"',
  priority: 'must be a number from 0 to 1',
  lastModified: 'must be a time as in RFC 3339',
  src: 'must be an https, http or data:image address',
  sizes: 'must be an array of sizes such as "48x48" or "any"',
  theme: 'must be light or dark',
} as const

export function isAudience(value: unknown): value is readonly Audience[] {
  return (
    Array.isArray(value) &&
    value.length <= 2 &&
    value.every(each => each === 'user' || each === 'assistant')
  )
}

export function isPriority(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1
}

export function isTime(value: unknown): value is string {
  return typeof value === 'string' && parseRfc3339(value) !== null
}

/** Clients must not follow any other scheme. */
export function isIconSource(value: unknown): value is string {
  return typeof value === 'string' && /^(?:https?:\/\/[^\s]+|data:image\/[^\s]+)$/i.test(value)
}

export function isIconSizes(value: unknown, most: number): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= most &&
    value.every(each => typeof each === 'string' && /^(?:\d{1,5}x\d{1,5}|any)$/.test(each))
  )
}

export function isTheme(value: unknown): value is Theme {
  return value === 'light' || value === 'dark'
}
