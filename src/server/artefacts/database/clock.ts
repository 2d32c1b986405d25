import { type Clock, monotonicClock } from '../../../lib/util/time.ts'
import type { Database } from './pool.ts'

const now = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "nowMs"`
const freshMs = 5000

/**
 * The time of the database server: the same for every server that shares it, whatever the time of
 * its machine. It is asked again when it was used after five seconds.
 */
export async function openDatabaseClock(database: Database): Promise<Clock> {
  let nowMs = 0
  let readAtMs = 0
  let isReading = false

  async function read(): Promise<void> {
    const askedMs = monotonicClock.now()
    const row = await database.run('its time was not read', queries =>
      queries.row<{ nowMs: number }>(now),
    )
    if (row === null) return
    nowMs = row.nowMs
    // Read at some time in between.
    readAtMs = (askedMs + monotonicClock.now()) / 2
  }

  await read()
  return {
    now() {
      const ageMs = monotonicClock.now() - readAtMs
      if (ageMs > freshMs && !isReading) {
        isReading = true
        const done = () => void (isReading = false)
        read().then(done, done)
      }
      return Math.round(nowMs + ageMs)
    },
  }
}
