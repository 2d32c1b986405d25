import type { JsonObject } from '../../../lib/util/json.ts'
import { doubtLine, goneLine } from '../../../lib/mcp/unconfirmed.ts'
import { toRfc3339 } from '../../../lib/util/time.ts'
import type { ServedResources } from '../../resources/served-resources.ts'

export interface Presence {
  /** For people and models. */
  readonly line: string
  /** Beside other members of an answer. */
  readonly facts: JsonObject
}

/**
 * What every answer about a scene says whose application has left, or has connected since the
 * caller saw revision `base` of that run, or does not confirm the scene; null while nothing of that
 * happened.
 */
export function presenceOf(
  scene: ServedResources['scene'],
  base?: number,
  run = scene?.run,
): Presence | null {
  const { application, current, asOfMs = null } = scene ?? {}
  if (application == null) return null
  const { connected, sinceMs, sinceRevision } = application
  const since = toRfc3339(sinceMs)
  if (!connected) {
    const line = goneLine({ since, hasScene: current?.hasScene === true })
    return presence(line, { connected, since })
  }
  const isNew = base !== undefined && (base <= sinceRevision || run !== scene?.run)
  const news = `the application connected at ${since}`
  if (asOfMs === null) return isNew ? presence(news, { connected, since }) : null
  const as_of = toRfc3339(asOfMs)
  const doubt = doubtLine(as_of)
  return isNew
    ? presence(`${news}; ${doubt}`, { connected, since, as_of })
    : presence(doubt, { connected, as_of })
}

function presence(line: string, application: JsonObject): Presence {
  return { line, facts: { application } }
}
