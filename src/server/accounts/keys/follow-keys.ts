import type { Logger } from '../../../lib/util/logger.ts'
import { messageOf } from '../../../lib/util/message-of.ts'
import { repeat } from '../../../lib/util/repeat.ts'
import type { Timer } from '../../../lib/util/timer.ts'
import type { KeyStore } from './key-store.ts'

export interface FollowOptions {
  readonly timer: Timer
  readonly log: Logger
  /** `keyPollMs` of the limits. */
  readonly pollMs: number
}

/**
 * Keeps a running server on the keys of the file: a rotation by the command line is seen within
 * `pollMs`, and keys are rotated when it is time. When the file becomes unusable the keys in
 * memory go on, and the log says so once. Returns the stop.
 */
export function followKeys(keys: KeyStore, { timer, log, pollMs }: FollowOptions): () => void {
  let lastProblem = ''
  return repeat(timer, pollMs, async () => {
    try {
      await keys.update()
      lastProblem = ''
    } catch (error) {
      const problem = messageOf(error)
      if (problem !== lastProblem) log.error({ err: error }, `the old keys stay in use: ${problem}`)
      lastProblem = problem
    }
  })
}
