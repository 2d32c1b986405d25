import { parseRfc3339, toRfc3339 } from '../util/time.ts'
import { numberOf } from '../util/exact-json.ts'
import { escapePointer, isJsonObject, type JsonObject } from '../util/json.ts'
import { type Result, fail, ok } from '../util/result.ts'

const control = /[\u0000-\u001f\u007f]/

/** Which member is wrong (RFC 6901 pointer into the body) and what it must be. */
export interface MemberFailure {
  readonly pointer: string
  readonly detail: string
}

/**
 * Reads the members of one untrusted object, each at most once. The first wrong member is kept,
 * and so is an unknown one: a misspelt name must not lose its value silently (unless
 * `others` says that a newer writer may say more). A member that is null counts as absent.
 */
export class MemberReader {
  /** Not copied: an object of a few megabytes may have half a million members. */
  readonly #members: JsonObject
  readonly #pointer: string
  readonly #known = new Set<string>()
  readonly #others: 'refuse' | 'pass'
  #failure: MemberFailure | null = null

  constructor(value: unknown, pointer: string, others: 'refuse' | 'pass' = 'refuse') {
    this.#pointer = pointer
    this.#others = others
    this.#members = isJsonObject(value) ? value : {}
    if (!isJsonObject(value)) this.refuse(null, 'must be an object')
  }

  /** Any JSON value. */
  any(name: string): unknown {
    this.#known.add(name)
    // Names such as "__proto__" are only names here.
    return Object.hasOwn(this.#members, name) ? (this.#members[name] ?? undefined) : undefined
  }

  /** A text that need not say anything, of any length. */
  text(name: string): string | undefined {
    const value = this.any(name)
    if (value === undefined || typeof value === 'string') return value
    return this.refuse(name, 'must be a string')
  }

  /** Any text of at most `maxChars`. */
  shortText(name: string, maxChars: number): string | undefined {
    const value = this.text(name)
    if (value === undefined || value.length <= maxChars) return value
    return this.refuse(name, `must not be longer than ${maxChars} characters`)
  }

  /** A non-empty text of at most `maxChars`, fit for one line of a log. */
  name(name: string, maxChars: number): string | undefined {
    const value = this.shortText(name, maxChars)
    if (value === undefined) return undefined
    if (value === '') return this.refuse(name, 'must not be empty')
    if (control.test(value)) return this.refuse(name, 'must not have control characters')
    return value
  }

  /** Makes absence a failure; `instead` only fills the type. */
  required<Value>(name: string, value: Value | undefined, instead: Value): Value {
    if (value === undefined) this.refuse(name, 'is required')
    return value ?? instead
  }

  durationMs(name: string): number | undefined {
    if (this.any(name) === undefined) return undefined
    const value = numberOf(this.any(name))
    if (value !== undefined && Number.isFinite(value) && value >= 0) return value
    return this.refuse(name, 'must be a number of milliseconds, 0 or more')
  }

  flag(name: string): boolean | undefined {
    const value = this.any(name)
    if (value === undefined || typeof value === 'boolean') return value
    return this.refuse(name, 'must be true or false')
  }

  integer(name: string, least: number, most: number): number | undefined {
    if (this.any(name) === undefined) return undefined
    const value = numberOf(this.any(name)) ?? NaN
    if (Number.isSafeInteger(value) && value >= least && value <= most) return value
    return this.refuse(name, `must be a whole number from ${least} to ${most}`)
  }

  /** One of the given words. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.any(name)
    if (value === undefined) return undefined
    const found = words.find(word => word === value)
    return found ?? this.refuse(name, `must be ${words.join(' or ')}`)
  }

  /** RFC 3339 in, RFC 3339 in UTC with milliseconds out. */
  time(name: string): string | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const timeMs = parseRfc3339(value)
    return timeMs === null ? this.refuse(name, 'must be a time as in RFC 3339') : toRfc3339(timeMs)
  }

  /** Notes what is wrong with a member (null: with the object itself). The first one stays. */
  refuse(name: string | null, detail: string): undefined {
    const pointer = name === null ? this.#pointer : pointerTo(this.#pointer, name)
    this.#failure ??= { pointer, detail }
    return undefined
  }

  /** Takes over what a nested reader found wrong. */
  inherit(failure: MemberFailure | null): void {
    this.#failure ??= failure
  }

  /** The first failure of what was read so far. */
  get firstFailure(): MemberFailure | null {
    return this.#failure
  }

  get failure(): MemberFailure | null {
    if (this.#failure !== null || this.#others === 'pass') return this.#failure
    const unknown = Object.keys(this.#members).find(name => !this.#known.has(name))
    if (unknown !== undefined) this.refuse(unknown, 'is not known here')
    return this.#failure
  }

  finish<Value>(value: Value): Result<Value, MemberFailure> {
    const failure = this.failure
    return failure === null ? ok(value) : fail(failure)
  }
}

/** RFC 6901; a long name is cut, because the pointer goes back to the client. */
export function pointerTo(parent: string, name: string | number): string {
  const text = String(name).slice(0, 64)
  return `${parent}/${escapePointer(text)}`
}
