import { RegistryProblem } from './problems.ts'

export interface HashQueue {
  /** Runs the work when it is its turn. Rejects with `overloaded` when too many wait already. */
  run<Value>(work: () => Promise<Value>): Promise<Value>
}

const retryAfter = 1

/**
 * Hashing takes a core and its memory for as long as it lasts, and shares its threads with the
 * file system: only so many at once, and only so many that wait.
 */
export function createHashQueue(limits: {
  readonly concurrency: number
  readonly maxWaiting: number
}): HashQueue {
  const waiting: (() => void)[] = []
  let running = 0

  function leave(): void {
    const next = waiting.shift()
    // The place is handed on: nobody who comes in between can take it.
    if (next === undefined) running--
    else next()
  }

  return {
    async run(work) {
      if (running < limits.concurrency) {
        running++
      } else {
        if (waiting.length >= limits.maxWaiting) {
          const message = 'too many logins at the same moment; try again'
          throw new RegistryProblem('overloaded', message, { retryAfter })
        }
        await new Promise<void>(resolve => waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}

/** One core stays for everybody who does not log in. */
export function hashConcurrency(configured: number, cores: number): number {
  return configured > 0 ? configured : Math.max(1, cores - 1)
}
