import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { readFileTables, writeFileTables } from '../../../src/server/accounts/sqlite/table-rows.ts'
import { copyTables, type TableRow, type TableWriter } from '../../../src/server/accounts/tables.ts'
import { failureOf } from '../../helpers/failure.ts'
import { settableClock } from '../../helpers/settable-clock.ts'

describe('copyTables', () => {
  let folder: string
  const options = (name: string) => ({
    file: join(folder, name),
    clock: settableClock(),
    log: silentLogger,
    busyMs: 1000,
  })

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'copy-tables-'))
    const store = await openSqliteStore(options('from.db'))
    // More than are read at once.
    for (let at = 0; at < 1001; at++) {
      const invite = { hash: `hash ${at}`, createdAtMs: at, expiresAtMs: at }
      await store.createInvite(invite)
    }
    await store.close()
  })
  after(() => rm(folder, { recursive: true, force: true }))

  function copy(name: string, wrap = (writer: TableWriter): TableWriter => writer) {
    return readFileTables(options('from.db'), reader =>
      writeFileTables({ ...options(name), registryId: reader.registryId }, writer =>
        copyTables(reader, wrap(writer)),
      ),
    )
  }

  it('copies every row, which a second copy has as well', async () => {
    const first = await copy('whole.db')
    expect(first['invites']?.rows).to.equal(1001)
    expect(first['accounts']?.rows).to.equal(0)
    expect(await copy('again.db')).to.deep.equal(first)
  })

  for (const [what, change] of [
    ['lost', (rows: readonly TableRow[]) => rows.slice(1)],
    [
      'changed',
      (rows: readonly TableRow[]) =>
        rows.map((row, at) => (at === 0 ? { ...row, hash: 'x' } : row)),
    ],
  ] as const) {
    it(`makes no file when a row was ${what} on the way`, async () => {
      const lossy = (writer: TableWriter): TableWriter => ({
        ...writer,
        insert: (table, rows) => writer.insert(table, rows.length === 1 ? change(rows) : rows),
      })
      const failure = await failureOf(() => copy(`${what}.db`, lossy))
      expect(failure.message).to.contain('does not hold the invites that were written to it')
      expect(existsSync(join(folder, `${what}.db`))).to.equal(false)
    })
  }
})
