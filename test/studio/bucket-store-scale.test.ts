import { expect } from 'chai'
import { resolveLimits } from '../../src/lib/config/limits.ts'
import { newPlace, useBucketStores } from './bucket-stores.ts'
import { type Mangled, startManglingProxy } from './mangling-proxy.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Swift, useSwift } from './swift.ts'

const count = 100_000
const perPage = resolveLimits({}).pageSize

describe('100,000 artefacts in a bucket', () => {
  let postgres: Postgres
  let swift: Swift
  let proxy: Mangled
  const open = useBucketStores(() => ({ postgres, swift }))
  before(async function () {
    postgres = await startPostgres(this)
    swift = await useSwift(this)
  })
  after(() => {
    proxy?.close()
    return postgres?.remove()
  })

  it('are listed, counted and bounded without a request to the bucket or a scan of the catalog', async () => {
    const place = await newPlace(postgres, await swift.bucket())
    const filled = await open(place)
    await filled.database.run('a test', queries =>
      queries.script(`INSERT INTO artefacts
          (hex, object, size_bytes, created_at_ms, mime, session_id, sidecar, change)
        SELECT hex, 'n' || at, 1, 1893456000000 - at / 3, 'image/png', 's' || at % 1000,
          '{"digest":"sha256:' || hex || '","expires_at":null,"created_at":"2030-01-01T00:00:00Z"}', 1
        FROM (SELECT at, encode(sha256(at::text::bytea), 'hex') AS hex
          FROM generate_series(1, ${count}) AS at) AS made;
        UPDATE artefact_totals SET entries = ${count}, bytes = ${count}, change = 1;
        ANALYZE artefacts`),
    )
    // Connections tell the statistics when they end.
    await filled.store.close()
    const { database } = await open(place)
    const scans = () =>
      database.run('a test', async queries => {
        await queries.rows('SELECT pg_stat_clear_snapshot()')
        return queries.row<{ scans: number }>(
          `SELECT seq_scan AS scans FROM pg_stat_user_tables WHERE relid = 'artefacts'::regclass`,
        )
      })
    const before = await scans()
    proxy = await startManglingProxy(swift.url)
    const { store } = await open(place, { endpoint: proxy.url })
    proxy.requests.length = 0
    const seen = new Set<string>()
    let after: string | undefined
    do {
      const page = await store.page(after, perPage)
      for (const ref of page.refs) seen.add(ref.digest)
      after = page.next
    } while (after !== undefined)
    expect(seen.size).to.equal(count)
    expect((await store.startingWith('abc', 10)).length).to.be.greaterThan(0)
    expect(proxy.requests).to.deep.equal([])
    // The store has as many as the default of maxArtefacts allows.
    await store.put(Buffer.from('one more'))
    await store.sweep()
    const totals = await database.run('a test', queries =>
      queries.row('SELECT entries FROM artefact_totals'),
    )
    expect(totals).to.deep.equal({ entries: count })
    await store.close()
    expect(await scans()).to.deep.equal(before)
  })
})
