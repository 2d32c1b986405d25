import { unconfirmedLine } from '../../../lib/mcp/unconfirmed.ts'
import { toRfc3339 } from '../../../lib/util/time.ts'
import type { ServedResources } from '../../resources/served-resources.ts'

/**
 * What every answer about a scene says whose application has left, or has connected since the
 * caller saw revision `base` of that run, or does not confirm the scene: a line for people and
 * models, facts beside other members of the answer. Null while nothing of that happened.
 */
export function presenceOf(scene: ServedResources['scene'], base?: number, run = scene?.run) {
  const { application, current, asOfMs = null } = scene ?? {}
  if (application == null) return null
  const { connected, sinceMs, sinceRevision } = application
  const isNew = connected && base !== undefined && (base <= sinceRevision || run !== scene?.run)
  const since = toRfc3339(sinceMs)
  const facts = {
    connected,
    ...((isNew || !connected) && { since }),
    ...(connected && asOfMs !== null && { as_of: toRfc3339(asOfMs) }),
  }
  const warning = unconfirmedLine(facts, current?.hasScene)
  const lines = [isNew && `the application connected at ${since}`, warning].filter(Boolean)
  return lines.length === 0 ? null : { line: lines.join('; '), facts: { application: facts } }
}
