import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { Database } from '../../database/pool.ts'
import type { EventTable, TimedEvent } from '../event-ring.ts'
import { notifyJoined } from './joined-table.ts'

const insert = `INSERT INTO gateway_events (gateway, number, at, event, dcc_type, instance_id, reason)
  SELECT $1, number, now() - "ageMs" * interval '1 ms', event, "dccType", "instanceId", reason
  FROM json_to_recordset($2) AS told(number BIGINT, "ageMs" BIGINT, event TEXT, "dccType" TEXT,
    "instanceId" TEXT, reason TEXT)
  ON CONFLICT (gateway, number) DO NOTHING`
const state = 'SELECT count(*) AS count, coalesce(sum(id), 0)::text AS sum FROM gateway_events'
const newest = 'FROM gateway_events ORDER BY at DESC, id DESC'
const prune = `DELETE FROM gateway_events WHERE id IN (SELECT id ${newest} OFFSET $1)`
const select = `SELECT (extract(epoch FROM at) * 1000)::bigint AS "atMs", event,
  dcc_type AS "dccType", instance_id AS "instanceId", reason ${newest} LIMIT $1`

type Row = Omit<TimedEvent, 'reason'> & { readonly reason: string | null }

/** The events of all gateways of a database: writes those of `gateway`, reads the newest of all. */
export function eventsTable(
  database: Database,
  gateway: string,
  { maxGatewayEvents }: Pick<GatewayLimits, 'maxGatewayEvents'>,
): EventTable {
  const unread = 'the events were not read'
  return {
    write: events =>
      database.transact('events were not written', async queries => {
        await queries.change(insert, gateway, JSON.stringify(events))
        await queries.rows(notifyJoined)
      }),

    async read(known) {
      const { count, sum } = await database.one<{ count: number; sum: string }>(unread, state)
      const version = `${count} ${sum}`
      if (version === known) return null
      if (count > maxGatewayEvents) {
        const what = 'old events were not removed'
        await database.transact(what, queries => queries.change(prune, maxGatewayEvents))
      }
      const rows = await database.rows<Row>(unread, select, maxGatewayEvents)
      const events = rows.map(({ reason, ...event }) =>
        reason === null ? event : { ...event, reason },
      )
      return { version, events: events.toReversed() }
    },
  }
}
