import type pg from 'pg'
import { messageOf } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { pause, repeat, retryDelay, type Timer } from '../../../lib/util/time.ts'
import { toDatabaseError } from './errors.ts'
import type { Database } from './pool.ts'

interface ListenerOptions {
  readonly database: Pick<Database, 'connect' | 'name'>
  /** A name of letters and `_`, shared by all schemas of the database. */
  readonly channel: string
  readonly timer: Timer
  readonly log: Logger
  /**
   * Runs after each notice, every `pollMs`, and after each LISTEN, because PostgreSQL queues nothing
   * for a lost listener. Runs one after the other. Must not reject.
   */
  reread(): Promise<void>
  readonly pollMs: number
}

/**
 * Listens for NOTIFY on its own connection, and connects again with growing pauses when it is lost.
 * Returns a function that stops.
 */
export function listen(options: ListenerOptions): () => void {
  const { database, channel, timer, log, pollMs } = options
  const stopped = new AbortController()
  const { signal } = stopped
  const reread = oneAtATime(options.reread)
  let probe = () => {}

  /** Resolves when the connection has ended. */
  async function follow(client: pg.Client): Promise<void> {
    const ended = Promise.withResolvers<void>()
    const end = () => ended.resolve()
    signal.addEventListener('abort', end)
    for (const event of ['error', 'end'] as const) client.on(event, end)
    client.on('notification', () => void reread())
    await client.query(`LISTEN ${channel}`)
    // Times out on a connection that was cut silently.
    let isProbing = false
    probe = () => {
      if (isProbing) return
      isProbing = true
      client.query('SELECT 1').then(() => void (isProbing = false), end)
    }
    void reread()
    if (!signal.aborted) await ended.promise
    signal.removeEventListener('abort', end)
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
        // Logged once for each outage.
        if (attempt === 1) log.warn({ reason }, 'no connection for notices: changes are polled')
      }
      probe = () => {}
      void client?.end().catch(() => {})
      await pause(timer, retryDelay(attempt, Math.random), signal)
    }
  }

  void run()
  const stopPolling = repeat(timer, pollMs, () => {
    probe()
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
