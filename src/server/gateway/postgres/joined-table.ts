import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import { isJsonObject, parseJson } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Database, Queries } from '../../database/pool.ts'
import { admissionRefusals, maxIdsPerAccount } from '../join/joined-directory.ts'
import type { JoinPrincipal } from '../join/join-tokens.ts'
import { parseToldRecord, type ToldRecord } from '../join/told-record.ts'

/** The channel of NOTIFY after a change of an instance or an event. */
export const joinedChannel = 'joined_instances'
export const notifyJoined = `SELECT pg_notify('${joinedChannel}', '')`

/** A gateway, as the others reach it. */
export interface GatewayRow {
  readonly id: string
  /** http or https, without a slash at the end. */
  readonly address: string
  /** What the others present there. */
  readonly secret: string
}

/** An instance, as written by the gateway that holds its link. */
interface JoinedWrite {
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
  /** Time since the link was lost; null while it is open. */
  readonly lostMs: number | null
  readonly isOver: boolean
  readonly change: number
}

/** A link that this gateway holds, or held. */
type LinkState = { readonly link: number } & (
  | (JoinedWrite & { readonly end: null })
  | (Pick<JoinedWrite, 'instanceId' | 'principal'> & {
      /** How the link ended; with `isOver` the instance is gone. */
      readonly end: { readonly cause: string; readonly isOver: boolean }
    })
)

interface TableParts {
  readonly database: Database
  readonly self: GatewayRow
  readonly limits: Pick<JoinLimits, 'maxJoinsPerUser' | 'joinLostMs' | 'gatewayLeaseMs'>
}

const next = `nextval('joined_changes')`
const ms = (parameter: string) => `${parameter} * interval '1 ms'`

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
    /** Resolves with the number of the link; fails with why the instance cannot join. */
    admit: (instance: JoinedWrite): Promise<Result<number, string>> =>
      database.transact('an instance cannot join', async queries => {
        const { instanceId, accountId } = instance
        await queries.rows(lockAccount, accountId)
        if ((await queries.change(claim, instanceId, accountId)) === 0) {
          return fail(admissionRefusals.foreignId)
        }
        await queries.change(forgetOver, accountId, limits.maxJoinsPerUser)
        await queries.change(forget, accountId)
        const own = [accountId, instanceId] as const
        const { others } = await queries.one<{ others: number }>(countOthers, ...own)
        const { maxJoinsPerUser } = limits
        if (others >= maxJoinsPerUser) return fail(admissionRefusals.tooMany(maxJoinsPerUser))
        await renewWith(queries)
        const { link } = await queries.one<{ link: number }>(admit, ...columns(instance))
        await queries.rows(notifyJoined)
        return ok(link)
      }),

    /** Writes links of this gateway. A link that a newer one has replaced changes nothing. */
    write: (states: LinkState[]): Promise<void> =>
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
        await queries.rows(notifyJoined)
      }),

    /** Reads the instances that changed; `known` has the last change of each that was read before. */
    read: (known: Map<string, number>) =>
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

    renew: () => database.run('the lease of the gateway was not renewed', renewWith),

    /** Ends leases that have run out, and instances whose link was lost for too long. */
    sweep: () =>
      database.transact('what is over was not removed', async queries => {
        const lost = await queries.change(loseAway)
        await queries.change(removeAway)
        const over = await queries.change(endLost, limits.joinLostMs)
        await queries.change(removeOver, limits.joinLostMs)
        if (lost + over > 0) await queries.rows(notifyJoined)
      }),

    /** Ends the lease of this gateway, and the links that it holds. */
    leave: () =>
      database.transact('the gateway did not sign off', async queries => {
        await queries.change(release, self.id)
        await queries.change(resign, self.id)
        await queries.rows(notifyJoined)
      }),
  }
}

export function joinedWrite({ record, text, principal }: ToldRecord): JoinedWrite {
  const { instanceId } = record
  const { accountId } = principal
  return { instanceId, accountId, principal: JSON.stringify(principal), record: text }
}

/** Parses the record of a row; fails with why it is invalid. */
export function toldOf({ instanceId, principal, record }: JoinedRow, limits: GatewayLimits) {
  const parsed = parseJson(principal, 2)
  // A damaged row must not pass for a database that is away.
  if (!parsed.ok || !isPrincipal(parsed.value)) return fail('its user is damaged')
  return parseToldRecord(record, instanceId, parsed.value, limits)
}

function isPrincipal(value: unknown): value is JoinPrincipal {
  if (!isJsonObject(value)) return false
  const { accountId, owner, team, name } = value
  return [accountId, owner, team ?? '', name].every(each => typeof each === 'string')
}

export type JoinedTable = ReturnType<typeof joinedTable>
