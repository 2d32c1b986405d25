import { expect } from 'chai'
import type { BucketStore } from '../../src/server/artefacts/bucket/bucket-store.ts'
import type { Database } from '../../src/server/database/pool.ts'
import { resolveLimits } from '../../src/lib/config/limits.ts'
import { newPlace, type Place, useBucketStores } from './bucket-stores.ts'
import { type Mangled, startManglingProxy } from './mangling-proxy.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Swift, useSwift } from './swift.ts'

const count = 100_000
const perPage = resolveLimits({}).pageSize

describe('100,000 artefacts in a bucket', () => {
  let postgres: Postgres
  let swift: Swift
  let place: Place
  let proxy: Mangled
  let store: BucketStore
  let database: Database
  const open = useBucketStores(() => ({ postgres, swift }))
  before(async function () {
    postgres = await startPostgres(this)
    swift = await useSwift(this)
    place = await newPlace(postgres, await swift.bucket())
    proxy = await startManglingProxy(swift.url)
    const { database: filled } = await open(place)
    await filled.run('a test', queries =>
      queries.script(`INSERT INTO artefacts
          (hex, object, size_bytes, created_at_ms, mime, session_id, sidecar, change)
        SELECT hex, 'n' || at, 1, 1893456000000 - at / 3, 'image/png', 's' || at % 1000,
          '{"digest":"sha256:' || hex || '","expires_at":null,"created_at":"2030-01-01T00:00:00Z"}', 1
        FROM (SELECT at, encode(sha256(at::text::bytea), 'hex') AS hex
          FROM generate_series(1, ${count}) AS at) AS made;
        UPDATE artefact_totals SET entries = ${count}, bytes = ${count}, change = 1;
        ANALYZE artefacts`),
    )
  })
  after(() => {
    proxy?.close()
    return postgres?.remove()
  })
  beforeEach(async () => {
    ;({ store, database } = await open(place, { endpoint: proxy.url }))
    proxy.requests.length = 0
  })

  /** Rows of the catalog that queries have looked at, and scans of all of it. */
  async function work(): Promise<{ rows: number; scans: number }> {
    const found = await database.run('a test', async queries => {
      await queries.rows('SELECT pg_stat_clear_snapshot()')
      return queries.row<{ rows: number; scans: number }>(
        `SELECT idx_tup_fetch AS rows, seq_scan AS scans FROM pg_stat_user_tables
          WHERE relid = 'artefacts'::regclass`,
      )
    })
    return found ?? { rows: 0, scans: 0 }
  }

  /** What was done so far counts from here on: ends the connections that did it. */
  async function flushWork(): Promise<void> {
    await store.close()
    ;({ store, database } = await open(place, { endpoint: proxy.url }))
  }

  it('are listed page by page without a request to the bucket or a scan of the catalog', async () => {
    const before = await work()
    const seen = new Set<string>()
    let after: string | undefined
    let pages = 0
    do {
      const page = await store.page(after, perPage)
      for (const ref of page.refs) seen.add(ref.digest)
      after = page.next
      pages++
    } while (after !== undefined)
    expect(seen.size).to.equal(count)
    expect(pages).to.equal(count / perPage)
    expect(proxy.requests).to.deep.equal([])
    await flushWork()
    const { rows, scans } = await work()
    expect(scans - before.scans).to.equal(0)
    // Once to choose a row, once to read it.
    expect(rows - before.rows).to.be.lessThan(2.5 * count)
  })

  it('are counted and bounded without a look at all of them', async () => {
    const before = await work()
    for (let at = 0; at < 3; at++) await store.put(Buffer.from(`new ${at}`))
    expect((await store.page(undefined, perPage)).refs).to.have.length(perPage)
    await store.sweep()
    expect((await store.startingWith('abc', 10)).length).to.be.greaterThan(0)
    await flushWork()
    const { rows, scans } = await work()
    expect(scans - before.scans).to.equal(0)
    expect(rows - before.rows).to.be.lessThan(count / 10)
    const totals = await database.run('a test', queries =>
      queries.row('SELECT entries FROM artefact_totals'),
    )
    // The default of maxArtefacts.
    expect(totals).to.deep.equal({ entries: count })
  })
})
