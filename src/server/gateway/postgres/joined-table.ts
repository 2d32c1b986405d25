import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Database, Queries } from '../../database/pool.ts'
import { tooManyInstances } from '../join/own-joined.ts'
import { readToldRecord, type ToldRecord } from '../join/record-lines.ts'

/** NOTIFY on it: an instance was changed. */
export const joinedChannel = 'joined_instances'

/** A gateway that the others reach. */
export interface GatewayRow {
  readonly id: string
  /** http or https, without a slash at the end. */
  readonly address: string
  /** What the others present there. */
  readonly secret: string
}

/** What the gateway that holds a link says of its instance. */
export interface JoinedWrite {
  readonly instanceId: string
  readonly accountId: string
  readonly principal: string
  readonly record: string
}

export interface JoinedRow {
  readonly instanceId: string
  readonly principal: string
  readonly record: string
  readonly link: number
  readonly gateway: string | null
  readonly cause: string
  /** Since the link was lost; null: it is not. */
  readonly lostMs: number | null
  readonly isOver: boolean
  readonly change: number
}

/** What a gateway says of a link that it holds, or held. */
export type LinkState = { readonly link: number } & (
  | (JoinedWrite & { readonly end: null })
  | (Pick<JoinedWrite, 'instanceId' | 'principal'> & {
      /** `isOver`: the instance is gone. */
      readonly end: { readonly cause: string; readonly isOver: boolean }
    })
)

interface TableParts {
  readonly database: Database
  readonly self: GatewayRow
  readonly limits: Pick<JoinLimits, 'maxJoinsPerUser' | 'joinLostMs' | 'gatewayLeaseMs'>
}

/** Ids of one account that are remembered; of more, those not used for the longest time go. */
const maxIdsPerAccount = 1000

const next = `nextval('joined_changes')`
const ms = (parameter: string) => `${parameter} * interval '1 ms'`
const notify = `SELECT pg_notify('${joinedChannel}', '')`

const lockAccount = `SELECT pg_advisory_xact_lock(hashtext('joined_instances'), hashtext($1))`
const claim = `INSERT INTO joined_ids (instance_id, account_id) VALUES ($1, $2)
  ON CONFLICT (instance_id) DO UPDATE SET used_at = now()
  WHERE joined_ids.account_id = excluded.account_id`
const forget = `DELETE FROM joined_ids WHERE instance_id IN (
  SELECT instance_id FROM joined_ids AS ids WHERE account_id = $1
    AND NOT EXISTS (SELECT FROM joined_instances AS i WHERE i.instance_id = ids.instance_id)
  ORDER BY used_at DESC OFFSET ${maxIdsPerAccount})`
/** Those of an account that ended last stay, so that every gateway learns the cause. */
const forgetOver = `DELETE FROM joined_instances WHERE instance_id IN (
  SELECT instance_id FROM joined_instances WHERE account_id = $1 AND is_over
  ORDER BY lost_at DESC OFFSET $2)`
const countOthers = `SELECT count(*) AS others FROM joined_instances
  WHERE account_id = $1 AND instance_id <> $2 AND NOT is_over`
const insert = (link: string) => `INSERT INTO joined_instances
  (instance_id, account_id, principal, record, gateway, link, change)
  VALUES ($1, $2, $3, $4, $5, ${link}, ${next})
  ON CONFLICT (instance_id) DO UPDATE SET account_id = excluded.account_id,
    principal = excluded.principal, record = excluded.record, gateway = excluded.gateway,
    link = excluded.link, change = excluded.change, cause = '', lost_at = NULL, is_over = false`
const admit = `${insert(next)} RETURNING link`
const publish = `${insert('$6')} WHERE joined_instances.link = $6`
const end = `UPDATE joined_instances SET gateway = NULL, cause = $3, principal = $5,
  lost_at = CASE WHEN $4::boolean THEN now() ELSE coalesce(lost_at, now()) END,
  is_over = $4::boolean, change = ${next} WHERE instance_id = $1 AND link = $2 AND NOT is_over`

const renew = `INSERT INTO gateways (id, address, secret, lease_until)
  VALUES ($1, $2, $3, now() + ${ms('$4')})
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`
const away = `SELECT FROM gateways AS g WHERE g.id = gateway AND g.lease_until >= now()`
const loseAway = `UPDATE joined_instances
  SET gateway = NULL, cause = 'its gateway is away', lost_at = now(), change = ${next}
  WHERE gateway IS NOT NULL AND NOT EXISTS (${away})`
const removeAway = 'DELETE FROM gateways WHERE lease_until < now()'
const endLost = `UPDATE joined_instances SET cause = 'its link was lost: ' || cause,
  lost_at = now(), is_over = true, change = ${next}
  WHERE NOT is_over AND lost_at < now() - ${ms('$1')}`
const removeOver = `DELETE FROM joined_instances WHERE is_over AND lost_at < now() - ${ms('$1')}`
const release = `UPDATE joined_instances SET gateway = NULL, cause = 'its gateway stopped',
  lost_at = now(), change = ${next} WHERE gateway = $1`
const resign = 'DELETE FROM gateways WHERE id = $1'

const selectGateways = 'SELECT id, address, secret FROM gateways'
const selectChanges = 'SELECT instance_id AS "instanceId", change FROM joined_instances'
const selectRows = `SELECT instance_id AS "instanceId", principal, record, link, gateway, cause,
  (extract(epoch FROM now() - lost_at) * 1000)::bigint AS "lostMs", is_over AS "isOver", change
  FROM joined_instances WHERE instance_id = ANY($1)`

/** The instances that joined any gateway of a database, and those gateways. */
export function joinedTable({ database, self, limits }: TableParts) {
  const columns = ({ instanceId, accountId, principal, record }: JoinedWrite) =>
    [instanceId, accountId, principal, record, self.id] as const
  const renewWith = (queries: Queries) =>
    queries.change(renew, self.id, self.address, self.secret, limits.gatewayLeaseMs)

  return {
    /** Resolves with the number of the link, or why the instance cannot join. */
    admit: (instance: JoinedWrite): Promise<Result<number, string>> =>
      database.transact('an instance cannot join', async queries => {
        const { instanceId, accountId } = instance
        await queries.rows(lockAccount, accountId)
        if ((await queries.change(claim, instanceId, accountId)) === 0) {
          return fail('its id is that of another user')
        }
        await queries.change(forgetOver, accountId, limits.maxJoinsPerUser)
        await queries.change(forget, accountId)
        const counted = await queries.row<{ others: number }>(countOthers, accountId, instanceId)
        const { maxJoinsPerUser } = limits
        if ((counted?.others ?? 0) >= maxJoinsPerUser) {
          return fail(tooManyInstances(maxJoinsPerUser))
        }
        await renewWith(queries)
        const row = await queries.row<{ link: number }>(admit, ...columns(instance))
        await queries.rows(notify)
        return ok(row?.link ?? 0)
      }),

    /** Changes of links of this gateway. Those that a newer link has replaced change nothing. */
    write: (states: readonly LinkState[]): Promise<void> =>
      database.transact('changes of instances were not written', async queries => {
        // One that the others took for dead is reached again with its instances.
        await renewWith(queries)
        for (const state of states) {
          if (state.end === null) {
            await queries.change(publish, ...columns(state), state.link)
            continue
          }
          const { instanceId, principal, link, end: ended } = state
          const { cause, isOver } = ended
          await queries.change(end, instanceId, link, cause, String(isOver), principal)
        }
        await queries.rows(notify)
      }),

    /** `known`: the change of each instance that was read before; the others are read. */
    read: (known: ReadonlyMap<string, number>) =>
      database.run('the instances were not read', async queries => {
        const changes = await queries.rows<{ instanceId: string; change: number }>(selectChanges)
        const ids = changes.map(({ instanceId }) => instanceId)
        const changed = changes
          .filter(({ instanceId, change }) => known.get(instanceId) !== change)
          .map(({ instanceId }) => instanceId)
        const rows = changed.length === 0 ? [] : await queries.rows<JoinedRow>(selectRows, changed)
        // The last: an instance is not shown before the gateway that holds its link is known.
        const gateways = await queries.rows<GatewayRow>(selectGateways)
        return { gateways, ids, rows }
      }),

    /** Renews the lease of this gateway. */
    renew: () => database.run('the lease of the gateway was not renewed', renewWith),

    /** Finds out which gateways are away, and which instances are gone. */
    sweep: () =>
      database.transact('what is over was not removed', async queries => {
        const lost = await queries.change(loseAway)
        await queries.change(removeAway)
        const over = await queries.change(endLost, limits.joinLostMs)
        await queries.change(removeOver, limits.joinLostMs)
        if (lost + over > 0) await queries.rows(notify)
      }),

    /** The gateway stops. */
    leave: () =>
      database.transact('the gateway did not sign off', async (queries: Queries) => {
        await queries.change(release, self.id)
        await queries.change(resign, self.id)
        await queries.rows(notify)
      }),
  }
}

export function joinedWrite({ record, text, principal }: ToldRecord): JoinedWrite {
  const { instanceId } = record
  const { accountId } = principal
  return { instanceId, accountId, principal: JSON.stringify(principal), record: text }
}

/** What its instance said of itself; or why that is invalid. */
export function toldOf({ instanceId, principal, record }: JoinedRow, limits: GatewayLimits) {
  return readToldRecord(record, instanceId, JSON.parse(principal), limits)
}

export type JoinedTable = ReturnType<typeof joinedTable>
