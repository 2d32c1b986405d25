import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { defaultLimits } from '../../src/lib/config/limits.ts'
import { defaultGatewayLimits } from '../../src/lib/config/gateway-limits.ts'
import type { InstanceRecord } from '../../src/lib/instances/record.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { systemClock, systemTimer } from '../../src/lib/util/time.ts'
import type { Database } from '../../src/server/database/pool.ts'
import { EventRing } from '../../src/server/gateway/event-ring.ts'
import { SharedJoined } from '../../src/server/gateway/join/shared-joined.ts'
import { Peers } from '../../src/server/gateway/peers/peers.ts'
import { joinedTable } from '../../src/server/gateway/postgres/joined-table.ts'
import type { DirectoryUnderTest, Registered } from '../server/gateway/directory-scenario.ts'
import { kinds } from '../server/gateway/directory-scenario.ts'
import { describeInstanceDirectory } from '../server/gateway/instance-directory-suite.ts'
import { makeRecord } from '../server/gateway/support.ts'
import { until } from '../helpers/until.ts'
import { type Postgres, startPostgres } from './postgres.ts'

const never = 1_000_000
/** Nothing happens by itself: what a test has not asked for is not read. */
const limits = {
  ...defaultLimits,
  ...defaultGatewayLimits,
  gatewayRenewMs: never,
  peerProbeMs: never,
}
const principal = { accountId: 'account', owner: 'ada', team: null, name: 'ws' }

describe('instances that joined, in PostgreSQL', () => {
  let postgres: Postgres
  before(async function () {
    postgres = await startPostgres(this)
  })
  after(() => postgres?.remove())

  const parts = { limits, clock: systemClock, timer: systemTimer, log: silentLogger }
  const selfOf = (id: string) => ({ id, address: 'http://127.0.0.1:1', secret: 'secret' })

  async function openDirectory(url: string): Promise<SharedJoined> {
    const database = await postgres.open(url)
    const self = selfOf(randomUUID())
    const ring = new EventRing(limits)
    return SharedJoined.open({ ...parts, database, self, ring, peers: new Peers(parts) })
  }

  /** After the first LISTEN each directory reads once more: from then on it waits. */
  async function untilListening(database: Database): Promise<void> {
    const count = `SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE 'LISTEN joined%'`
    await until(async () => {
      const row = await database.run('a test', queries => queries.row<{ n: number }>(count))
      return (row?.n ?? 0) > 0
    }, 'the connection for notices')
  }

  /** Instances that another gateway writes down, without a notice. */
  async function openUnderTest(): Promise<DirectoryUnderTest & { readonly database: Database }> {
    const url = await postgres.schema()
    const directory = await openDirectory(url)
    const database = await postgres.open(url)
    await untilListening(database)
    await directory.refresh()
    const opened = [directory]
    const write = (sql: string, ...values: string[]) =>
      database.run('a test', queries => queries.change(sql, ...values))
    await write(`INSERT INTO gateways VALUES ('other', 'http://127.0.0.1:1', 'x', now())`)
    const place = async (instanceId: string, text: string): Promise<void> => {
      await write(
        `INSERT INTO joined_instances (instance_id, account_id, principal, record, link, gateway, change)
         VALUES ($1, 'account', $2, $3, nextval('joined_changes'), 'other', nextval('joined_changes'))
         ON CONFLICT (instance_id)
         DO UPDATE SET record = excluded.record, change = nextval('joined_changes')`,
        instanceId,
        JSON.stringify(principal),
        text,
      )
    }
    return {
      directory,
      database,
      place,
      liveReason: 'its link is open',
      // Another one reads all there is meanwhile.
      async pass() {
        await (await openDirectory(url)).close()
      },
      freeze: async () => {},
      setTimeOfDay() {},
      async register(record: InstanceRecord): Promise<Registered> {
        const { instance_id: id } = record
        let now = record
        await place(id, JSON.stringify(now))
        return {
          async update(patch) {
            now = { ...now, ...patch }
            await write(
              `UPDATE joined_instances SET record = $2, change = nextval('joined_changes')
               WHERE instance_id = $1 AND record <> $2`,
              id,
              JSON.stringify(now),
            )
          },
          async beat() {
            await write(`UPDATE gateways SET lease_until = now() + interval '1 min'`)
          },
          async remove() {
            await write('DELETE FROM joined_instances WHERE instance_id = $1', id)
          },
        }
      },
      async again() {
        const other = await openDirectory(url)
        opened.push(other)
        return other
      },
      async close() {
        for (const one of opened) await one.close()
        await database.close()
      },
    }
  }

  describeInstanceDirectory('PostgreSQL', openUnderTest)

  describe('as decided by the clock of the database', () => {
    let under: Awaited<ReturnType<typeof openUnderTest>>
    beforeEach(async () => (under = await openUnderTest()))
    afterEach(() => under.close())
    const table = () => joinedTable({ database: under.database, self: selfOf('third'), limits })
    const script = (sql: string) => under.database.run('a test', queries => queries.script(sql))
    async function add(): Promise<string> {
      const record = makeRecord()
      await under.register(record)
      await under.directory.refresh()
      return record.instance_id
    }
    const verdict = async () => {
      await under.directory.refresh()
      return under.directory.entries[0]?.verdict
    }

    it('a gateway is away once its lease has run out, and only then', async () => {
      await add()
      await script(`UPDATE gateways SET lease_until = now() + interval '1 min'`)
      await table().sweep()
      expect(await verdict()).to.include({ health: 'live' })
      await script(`UPDATE gateways SET lease_until = now() - interval '1 ms' WHERE id = 'other'`)
      await table().sweep()
      expect(await verdict()).to.include({
        health: 'stale',
        reason: 'its link is lost: its gateway is away',
      })
    })

    it('an instance that is lost for too long is gone, with the cause', async () => {
      const id = await add()
      await script(`UPDATE joined_instances SET gateway = NULL, cause = 'the connection was cut',
        lost_at = now() - interval '299 s', change = nextval('joined_changes')`)
      await table().sweep()
      const known = await verdict()
      expect(known?.health).to.equal('stale')
      expect(known?.heartbeatAgeMs).to.be.within(299_000, 320_000)
      const heard: string[] = []
      const batches: any[] = []
      under.directory.onChange(changes => {
        batches.push(changes)
        for (const change of changes) {
          if ('entry' in change) heard.push(change.entry.verdict.reason)
        }
      })
      await script(`UPDATE joined_instances SET lost_at = now() - interval '301 s'`)
      await table().sweep()
      await under.directory.refresh()
      expect(under.directory.entries).to.deep.equal([])
      expect(kinds(batches)).to.deep.equal([['gone']])
      expect(heard.at(-1)).to.equal('its link was lost: the connection was cut')
      const later = await under.again()
      expect(later.entries).to.deep.equal([])
      await script(`UPDATE joined_instances SET lost_at = now() - interval '301 s'`)
      await table().sweep()
      const rows = await under.database.run('a test', queries =>
        queries.rows('SELECT FROM joined_instances WHERE instance_id = $1', id),
      )
      expect(rows).to.deep.equal([])
    })

    it('an account keeps a bounded number of ids, and loses none that it uses', async () => {
      const join = (instanceId: string, accountId = 'account') =>
        table().admit({ instanceId, accountId, principal: '{}', record: '{}' })
      const [used, left] = [randomUUID(), randomUUID()]
      expect((await join(used)).ok).to.equal(true)
      await script(`INSERT INTO joined_ids VALUES ('${left}', 'account', now() - interval '1 day');
        UPDATE joined_ids SET used_at = now() - interval '2 days' WHERE instance_id = '${used}'`)
      expect(await join(left, 'thief')).to.include({ ok: false })
      await script(`INSERT INTO joined_ids SELECT gen_random_uuid(), 'account', now()
        FROM generate_series(1, 1000)`)
      expect((await join(randomUUID())).ok).to.equal(true)
      expect(await join(used, 'thief')).to.include({ ok: false })
      expect((await join(left, 'thief')).ok).to.equal(true)
    })
  })
})
