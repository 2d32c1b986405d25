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
  return connected === false ? goneLine({ asOf: as_of }) : doubtLine(as_of)
}

/** The scene is of an application that has left. */
export function goneLine({
  since,
  asOf,
  hasScene = true,
}: {
  /** When it left. */
  since?: string
  /** When it set the scene. */
  asOf?: string
  hasScene?: boolean
}): string {
  const gone = `the application is gone${since === undefined ? '' : ` since ${since}`}`
  if (!hasScene) return `${gone}; it left no scene`
  return `${gone}; the scene is its last${asOf === undefined ? '' : `, of ${asOf}`}`
}

/** The scene is of a connected application that does not confirm it. */
export function doubtLine(asOf: string): string {
  return `the application has not confirmed its scene since ${asOf}; later changes are missing`
}
