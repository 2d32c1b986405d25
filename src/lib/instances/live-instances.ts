import { hostname } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { lifeOf } from './instance.ts'
import { readInstances } from './record-files.ts'
import type { InstanceRecord } from './record.ts'

/** A `serve` as its record describes it to a client of this machine. */
export type Instance = ReturnType<typeof instanceOf>

export function instanceOf(record: InstanceRecord) {
  return {
    id: record.instance_id,
    /** `blender`; `unknown` as long as no application has said. */
    dccType: record.dcc_type,
    displayName: record.display_name,
    scene: record.scene,
    sceneSetAt: record.scene_set_at,
    /**
     * The MCP endpoint at the address that the server itself listens on: `mcp_url` may lead over a
     * proxy and out of this machine, or have a certificate that is unknown here.
     */
    url: URL.parse('/mcp', record.host_url)?.href ?? record.mcp_url,
    startedMs: Date.parse(record.started_at),
  }
}

/** The instances of this user on this machine that can be used now, oldest first. Never rejects. */
export async function liveInstances(registryDir: string, log: Logger): Promise<Instance[]> {
  const folder = join(registryDir, 'instances')
  const all = await readInstances(folder).catch((error: unknown) => {
    log.warn({ folder }, messageOf(error))
    return []
  })
  const live = all.filter(({ record, heartbeatMs }) => {
    return record.hostname === hostname() && lifeOf(record, heartbeatMs) === 'live'
  })
  return live
    .map(({ record }) => instanceOf(record))
    .toSorted((a, b) => a.startedMs - b.startedMs || (a.id < b.id ? -1 : 1))
}

/** Started so long before its predecessor was missed, it can still be its next run. */
const overlapMs = 10_000

/**
 * Returns the same instance or its next run; null when none or several fit. Every run has another
 * id, so the next run is found by kind of application and start time, then by name. `lostMs`: when
 * the previous one was missed first.
 */
export function findNextRun(
  instances: Instance[],
  previous: Instance,
  lostMs: number,
): Instance | null {
  const same = instances.find(({ id }) => id === previous.id)
  if (same !== undefined) return same
  // What had no kind yet when it was looked at may have got one since.
  const next = instances.filter(
    ({ dccType, startedMs }) =>
      startedMs >= lostMs - overlapMs &&
      (dccType === previous.dccType || previous.dccType === 'unknown'),
  )
  const named = next.filter(one => one.displayName === previous.displayName)
  const [found, ...others] = next.length === 1 ? next : named
  return found !== undefined && others.length === 0 ? found : null
}
