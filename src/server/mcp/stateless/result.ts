import { metaKeys } from '../../../lib/mcp/request-metadata.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import { isContentAddressed } from '../../resources/schemes.ts'
import type { ServerIdentity } from '../identity.ts'
import { ResultOpening } from '../json-text.ts'

export type FreshnessLimits = Pick<Limits, 'discoverFreshMs' | 'artefactFreshMs'>

/**
 * What stands before the members of every result, one text per kind of result. Never "public":
 * whoever may read here may not hand it on. What shows live state is stale at once.
 */
export interface ResultOpenings {
  /** For results that nobody may keep: they carry no hint. */
  readonly plain: ResultOpening
  readonly live: ResultOpening
  readonly discover: ResultOpening
  read(uri: unknown): ResultOpening
}

export function createResultOpenings(
  { name, title, version }: ServerIdentity,
  limits: FreshnessLimits,
): ResultOpenings {
  const base = {
    resultType: 'complete',
    _meta: { [metaKeys.serverInfo]: { name, title, version } },
  }
  const cached = (ttlMs: number) => new ResultOpening({ ...base, ttlMs, cacheScope: 'private' })
  const live = cached(0)
  const artefact = cached(limits.artefactFreshMs)
  return {
    plain: new ResultOpening(base),
    live,
    discover: cached(limits.discoverFreshMs),
    read: uri => (isContentAddressed(uri) ? artefact : live),
  }
}
