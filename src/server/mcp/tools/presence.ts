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
 * caller saw revision `base`; null while nothing of that happened.
 */
export function presenceOf(scene: ServedResources['scene'], base?: number): Presence | null {
  const { application, current } = scene ?? {}
  if (application == null) return null
  const { connected, sinceMs, sinceRevision } = application
  if (connected && (base === undefined || base > sinceRevision)) return null
  const since = toRfc3339(sinceMs)
  const gone = `the application is gone since ${since}; `
  const left = current?.hasScene === true ? 'the scene is its last' : 'it left no scene'
  return {
    line: connected ? `the application connected at ${since}` : gone + left,
    facts: { application: { connected, since } },
  }
}
