import type { JsonObject } from '../util/json.ts'

/** Whether a scene is what its application shows. Members have the same names on the wire. */
export interface Unconfirmed {
  /** RFC 3339: when it last was, for certain. Absent: it is now, or no application can say. */
  readonly as_of?: string
  /** Only with `as_of`: the application is gone. */
  readonly connected?: false
}

/** Returns whether the answer of a server can be told with `unconfirmedLine`. */
export function isUnconfirmed(value: JsonObject): value is JsonObject & Unconfirmed {
  return ['string', 'undefined'].includes(typeof value.as_of)
}

/** Whether the URI names a delta between two kept scenes, which no application can change. */
export function isPast(uri: string): boolean {
  return /[?&]until=/.test(uri)
}

/** A line for people and models; null when the scene is confirmed. */
export function unconfirmedLine({ as_of, connected }: Unconfirmed): string | null {
  if (as_of === undefined) return null
  if (connected === false) {
    return `the application is not connected; its last scene is used, as of ${as_of}`
  }
  return `the application has not confirmed its scene since ${as_of}; later changes are missing`
}
