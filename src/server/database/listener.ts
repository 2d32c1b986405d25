import type pg from 'pg'
import { messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { pause, repeat, retryDelay, type Timer } from '../../lib/util/time.ts'
import { toDatabaseError } from './errors.ts'
import type { Database } from './pool.ts'

interface ListenerOptions {
  readonly database: Pick<Database, 'connect' | 'name'>
  /** A name of letters and `_`. All schemas of the database share it. */
  readonly channel: string
  readonly timer: Timer
  readonly log: Logger
  /**
   * Runs after each notice and every `pollMs`, and after each LISTEN, since nothing is queued for a
   * listener that is away. Never twice at once. Must not reject.
   */
  reread(): Promise<void>
  readonly pollMs: number
}

/**
 * Listens for NOTIFY on a connection of its own, and connects again with growing pauses when that is
 * lost. Returns the stop.
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
    client.on('error', () => ended.resolve())
    client.on('end', () => ended.resolve())
    const leave = () => ended.resolve()
    signal.addEventListener('abort', leave)
    client.on('notification', () => void reread())
    await client.query(`LISTEN ${channel}`)
    // On a connection that was cut silently the statement times out.
    let isProbing = false
    probe = () => {
      if (isProbing) return
      isProbing = true
      const done = () => void (isProbing = false)
      client.query('SELECT 1').then(done, () => ended.resolve())
    }
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
export function oneAtATime(run: () => Promise<void>): () => Promise<void> {
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
