import { MemberReader, pointerTo } from '../../../lib/util/member-reader.ts'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'

export type EntryLimits = Pick<GatewayLimits, 'maxCatalogTextChars' | 'maxCatalogItems'>

const maxLabelChars = 255
const maxUrlChars = 2048

/** Reads the members of a catalog entry; what is absent stays undefined. */
export class EntryReader extends MemberReader {
  readonly #own: string
  readonly #limits: EntryLimits

  constructor(value: unknown, pointer: string, limits: EntryLimits) {
    super(value, pointer)
    this.#own = pointer
    this.#limits = limits
  }

  label(name: string): string | undefined {
    return this.name(name, maxLabelChars)
  }

  /** The one text that may have lines. */
  description(name: string): string | undefined {
    const { maxCatalogTextChars: most } = this.#limits
    const text = this.text(name)
    if (text === undefined) return undefined
    if (text.trim() === '') return this.refuse(name, 'must not be empty')
    if (text.length > most) return this.refuse(name, `must not be longer than ${most} characters`)
    if (controls.test(text)) return this.refuse(name, 'must not have control characters')
    return text
  }

  /** Where a person reads on: nothing that a browser would run. */
  url(name: string): string | undefined {
    const text = this.name(name, maxUrlChars)
    if (text === undefined || isWebUrl(text)) return text
    return this.refuse(name, 'must be an http or https URL without user and password')
  }

  matching(name: string, form: RegExp, what: string): string | undefined {
    const text = this.label(name)
    if (text === undefined || form.test(text)) return text
    return this.refuse(name, `must be ${what}`)
  }

  labels(name: string): string[] | undefined {
    return this.#list(name, (items, at) => items.required(at, items.label(at), ''))
  }

  urls(name: string): string[] | undefined {
    return this.#list(name, (items, at) => items.required(at, items.url(at), ''))
  }

  object<Value>(name: string, read: (reader: EntryReader) => Value): Value | undefined {
    const value = this.any(name)
    if (value === undefined) return undefined
    const reader = new EntryReader(value, pointerTo(this.#own, name), this.#limits)
    const parsed = read(reader)
    this.inherit(reader.failure)
    return parsed
  }

  objects<Value>(name: string, read: (reader: EntryReader) => Value): Value[] | undefined {
    const parsed = this.#list(name, (items, at) => {
      const value = items.object(at, read)
      if (value === undefined) items.refuse(at, 'must be an object')
      return value
    })
    return parsed?.filter(value => value !== undefined)
  }

  #list<Value>(name: string, read: (items: EntryReader, at: string) => Value): Value[] | undefined {
    const value = this.any(name)
    if (value === undefined) return undefined
    if (!Array.isArray(value)) return this.refuse(name, 'must be a list')
    const { maxCatalogItems: most } = this.#limits
    if (value.length > most) return this.refuse(name, `must not have more than ${most} items`)
    const items = new EntryReader(
      Object.fromEntries(value.entries()),
      pointerTo(this.#own, name),
      this.#limits,
    )
    const parsed = value.map((_, at) => read(items, String(at)))
    this.inherit(items.failure)
    return parsed
  }
}

/** All but tab and line feed. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

function isWebUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || url.protocol === 'http:'
}
