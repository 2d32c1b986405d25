import type pg from 'pg'
import { messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { pause, repeat, retryDelay, type Timer } from '../../lib/util/time.ts'
import { toDatabaseError } from './errors.ts'
import type { Database } from './pool.ts'

export interface ListenOptions {
  readonly database: Pick<Database, 'connect' | 'name'>
  /** A name of letters and `_`. All schemas of the database share it. */
  readonly channel: string
  readonly timer: Timer
  readonly log: Logger
  /** A notice of any connection. It names what changed. */
  onNotice(payload: string): void
  /**
   * Anything may have changed unnoticed: after each LISTEN, since nothing is queued for a listener
   * that is away, and every `pollMs`. Must not reject; runs once at a time.
   */
  reread(): Promise<void>
  /** Default 5 s. */
  readonly pollMs?: number
}

/**
 * Listens for NOTIFY on a connection of its own. Connects again, with pauses that grow, after that
 * was lost. Returns the stop.
 */
export function listen(options: ListenOptions): () => void {
  const { database, channel, timer, log, pollMs = 5000 } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const reread = oneAtATime(options.reread)
  let check = () => {}

  /** Resolves when the connection has ended. */
  async function follow(client: pg.Client): Promise<void> {
    const ended = Promise.withResolvers<void>()
    client.on('error', () => ended.resolve())
    client.on('end', () => ended.resolve())
    const leave = () => ended.resolve()
    signal.addEventListener('abort', leave)
    client.on('notification', ({ payload = '' }) => options.onNotice(payload))
    await client.query(`LISTEN ${channel}`)
    // A connection that was cut without a word takes no statement, which has its time limit.
    check = () => void client.query('SELECT 1').catch(() => ended.resolve())
    void reread()
    if (!signal.aborted) await ended.promise
    signal.removeEventListener('abort', leave)
  }

  async function run(): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      let client: pg.Client | undefined
      try {
        client = await database.connect()
        await follow(client)
        attempt = 0
      } catch (error) {
        const reason = messageOf(toDatabaseError(error, database.name, 'notices are delayed'))
        // Once for each time without a connection.
        if (attempt === 1) log.warn({ reason }, 'changes in the database are polled')
      }
      check = () => {}
      void client?.end().catch(() => {})
      await pause(timer, retryDelay(attempt, Math.random), signal)
    }
  }

  void run()
  const stopPolling = repeat(timer, pollMs, () => {
    check()
    return reread()
  })
  return () => {
    stopPolling()
    stopped.abort()
  }
}

/** While one run is under way, further calls make one more after it. */
function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let again = false
  return () => {
    again = true
    running ??= (async () => {
      while (again) {
        again = false
        await run()
      }
      running = null
    })()
    return running
  }
}
