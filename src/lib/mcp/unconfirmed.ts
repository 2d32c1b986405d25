import { asText } from '../util/text.ts'

/** Whether a scene is what its application shows. Members have the same names on the wire. */
export interface Unconfirmed {
  /** RFC 3339: when it last was, for certain. Absent: it is now, or no application can say. */
  readonly as_of?: string
  /** Only with `as_of`: the application is gone. */
  readonly connected?: false
}

/**
 * Says that the application is gone or does not confirm its scene; null when neither is so. `since`:
 * when it left. Facts of another server may be anything.
 */
export function unconfirmedLine(
  { connected, since, as_of: asOf }: { connected?: unknown; since?: unknown; as_of?: unknown },
  hasScene = true,
): string | null {
  if (connected === false) {
    const gone = `the application is gone${since === undefined ? '' : ` since ${asText(since)}`}`
    if (!hasScene) return `${gone}; it left no scene`
    return `${gone}; the scene is its last${asOf === undefined ? '' : `, of ${asText(asOf)}`}`
  }
  if (asOf === undefined) return null
  return `the application has not confirmed its scene since ${asText(asOf)}; later changes may be missing`
}

/** Whether the URI names a delta between two kept scenes, which no application can change. */
export function isPast(uri: string): boolean {
  return /[?&]until=/.test(uri)
}
