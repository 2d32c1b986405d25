import { maxTimerMs } from '../../lib/util/members.ts'
import { errnoOf, messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'

/** Runs tasks that no caller waits for. A failure is logged once, until its cause changes. */
export function createUpkeep(log: Logger): (task: () => Promise<void>) => void {
  let lastCause = ''
  return task => {
    task().then(
      () => {
        lastCause = ''
      },
      error => {
        const cause = errnoOf(error) ?? errnoOf(error.cause) ?? messageOf(error)
        if (cause !== lastCause) log.error({ err: error }, 'upkeep of the artefact folder failed')
        lastCause = cause
      },
    )
  }
}

/** A timer that keeps no process alive; none at all for 0. */
export function every(periodMs: number, task: () => void): NodeJS.Timeout | undefined {
  return periodMs === 0 ? undefined : setInterval(task, Math.min(periodMs, maxTimerMs)).unref()
}
