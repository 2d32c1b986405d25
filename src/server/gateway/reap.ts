import type { GatewayLimits } from './limits.ts'
import { type Clock, repeat, type Timer } from '../../lib/util/time.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import { removeDeadRecord } from '../../lib/instances/remove-dead.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { InstanceDirectory } from './instance-directory.ts'

interface ReaperOptions {
  readonly directory: Pick<InstanceDirectory, 'entries'>
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  readonly hostname: string
  /** Never goes back. */
  readonly ticks: Clock
  readonly timer: Timer
  readonly limits: Pick<GatewayLimits, 'reapAfterMs' | 'recordScanMs'>
  readonly log: Logger
}

/**
 * Deletes record and token of each instance of this machine that has been dead for a while. The
 * record is checked again before anything is deleted. Returns a function that stops the reaper and
 * resolves when no deletion is under way.
 */
export function startReaper(options: ReaperOptions): () => Promise<void> {
  const { directory, ticks, timer, limits, log } = options
  /** When each was found dead, or could not be deleted. */
  let sinceMs = new Map<string, number>()
  let isStopped = false
  let sweeping: Promise<void> = Promise.resolve()

  async function sweep(): Promise<void> {
    const nowMs = ticks.now()
    const dead = directory.entries.filter(({ verdict }) => verdict.health === 'dead')
    sinceMs = new Map(
      dead.map(({ record: { instanceId: id } }) => [id, sinceMs.get(id) ?? nowMs] as const),
    )
    for (const id of sinceMs.keys()) {
      if (isStopped || nowMs - (sinceMs.get(id) ?? nowMs) < limits.reapAfterMs) continue
      sinceMs.set(id, nowMs)
      await reap(id)
    }
  }

  async function reap(instanceId: string): Promise<void> {
    try {
      if (!(await removeDeadRecord(options.instancesDir, instanceId, options.hostname))) return
    } catch (error) {
      const fields = { instance: instanceId, code: errnoOf(error) }
      log.warn(fields, 'the record of a dead instance cannot be removed, tried again later')
      return
    }
    log.info({ instance: instanceId }, 'removed the record of a dead instance')
  }

  const stop = repeat(timer, limits.recordScanMs, () => (sweeping = sweep()))
  return async () => {
    isStopped = true
    stop()
    await sweeping
  }
}
