import type { JsonObject } from '../../../lib/util/json.ts'
import { toRfc3339 } from '../../../lib/util/time.ts'
import type { ServedResources } from '../../resources/schemes.ts'

export interface Presence {
  /** For people and models. */
  readonly line: string
  /** Beside other members of an answer. */
  readonly facts: JsonObject
}

/**
 * What every answer about a scene says whose application has left, or has connected since the
 * caller saw revision `base`, or does not answer; null while nothing of that happened.
 */
export function presenceOf(scene: ServedResources['scene'], base?: number): Presence | null {
  const { application, current, asOfMs = null } = scene ?? {}
  if (application == null) return null
  const { connected, sinceMs, sinceRevision } = application
  if (asOfMs !== null) return silent(toRfc3339(asOfMs))
  if (connected && (base === undefined || base > sinceRevision)) return null
  const since = toRfc3339(sinceMs)
  const gone = `the application is gone since ${since}; `
  const left = current?.hasScene === true ? 'the scene is its last' : 'it left no scene'
  return {
    line: connected ? `the application connected at ${since}` : gone + left,
    facts: { application: { connected, since } },
  }
}

function silent(asOf: string): Presence {
  return {
    line: `the application does not confirm the scene now; it is as it was at ${asOf}`,
    facts: { application: { connected: true, as_of: asOf } },
  }
}
