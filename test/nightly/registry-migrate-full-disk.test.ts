import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { systemClock } from '../../src/lib/util/time.ts'
import { writeFileTables } from '../../src/server/accounts/sqlite/table-rows.ts'
import { accountTables } from '../../src/server/accounts/tables.ts'
import { onSmallDisk } from './small-disk.ts'

const rows = 20_000
const audit = accountTables.filter(({ name }) => name === 'audit')

describe('registry migrate to files on a small disk', () => {
  // About 12 MB: a log beside it would fill the larger disk.
  for (const [size, outcome] of [
    ['20m', 'made'],
    ['8m', 'storage_full'],
  ] as const) {
    it(`makes a whole database or none: ${outcome} on a disk of ${size}`, function () {
      return onSmallDisk(this, size, async folder => {
        const file = join(folder, 'registry.db')
        const options = { file, clock: systemClock, log: silentLogger, busyMs: 1000 }
        const made = writeFileTables({ ...options, registryId: 'x' }, async writer => {
          for (const table of audit) {
            for (let id = 1; id <= rows; id += 500) {
              const entry = (_: unknown, at: number) => ({
                id: id + at,
                at_ms: 1,
                action: 'x',
                account_id: null,
                address: null,
                details: 'x'.repeat(500),
                keep_until_ms: 1,
              })
              await writer.insert(table, Array.from({ length: 500 }, entry))
            }
          }
          return 'made'
        })
        expect(await made.catch((error: { code: string }) => error.code)).to.equal(outcome)
        expect(existsSync(file)).to.equal(outcome === 'made')
        if (outcome !== 'made') return
        const db = new DatabaseSync(file)
        const found = db.prepare('SELECT count(*) AS count FROM audit').get()
        db.close()
        expect(found?.['count']).to.equal(rows)
      })
    })
  }
})
