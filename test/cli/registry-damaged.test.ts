import { expect } from 'chai'
import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { runCommand } from '../helpers/in-process.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

type Damage = (database: string) => void

const damages: [what: string, damage: Damage, says: RegExp][] = [
  ['the header of its database is overwritten', file => overwrite(file, 0), /damaged/],
  ['a page of its database is overwritten', file => overwrite(file, 2 * 4096), /damaged/],
  ['its database is cut', file => fs.truncateSync(file, 2 * 4096), /damaged/],
  ['its database is empty', file => fs.truncateSync(file, 0), /empty/],
  ['its database is none', file => fs.writeFileSync(file, 'no '.repeat(999)), /no database/],
  ['its database is of another program', replaceByForeign, /something else than this program/],
  ['the schema of its database does not parse', breakSchema, /damaged/],
  [
    'its database is of a newer version',
    file => change(file, 'PRAGMA user_version = 99'),
    /newer version/,
  ],
  ['its database is gone, but not the log', file => fs.rmSync(file), /is gone/],
  ['its keys are damaged', file => overwrite(keysOf(file), 10), /keys\.json/],
  ['its keys are a symbolic link', file => replaceByLink(keysOf(file)), /symbolic link/],
]

describe('a registry does not start', () => {
  let folder: string
  /** As a registry that was stopped leaves it. */
  let stopped: string
  /** As a registry that was killed leaves it: what was written last is in the log alone. */
  let killed: string

  before(async () => {
    folder = fs.mkdtempSync(join(tmpdir(), 'registry-damaged-'))
    stopped = join(folder, 'stopped')
    killed = join(folder, 'killed')
    const registry = await accountsInProcess({ dataDir: stopped, flags: quickLimits })
    for (const name of ['alice', 'bob']) await createCaller(registry.url).register(name)
    fs.cpSync(stopped, killed, { recursive: true })
    await registry.stop()
    expect(fs.statSync(join(killed, 'registry.db-wal')).size).to.be.greaterThan(0)
  })

  after(() => fs.rmSync(folder, { recursive: true, force: true }))

  for (const [what, damage, says] of damages) {
    it(`when ${what}, says so, and leaves everything as it is`, async () => {
      const dataDir = fs.mkdtempSync(join(folder, 'copy-'))
      const needsLog = what.includes('log')
      fs.cpSync(needsLog ? killed : stopped, dataDir, { recursive: true })
      damage(join(dataDir, 'registry.db'))
      const before = contents(dataDir)
      const args = ['registry', '--port', '0', '--data-dir', dataDir, '--json']
      const { code, stdout, stderr } = await runCommand(args)
      expect(code, stderr).to.be.oneOf([1, 2])
      const { error } = JSON.parse(stdout)
      expect(error.message).to.match(says).and.contain(dataDir)
      expect(error.hint).to.be.a('string')
      expect(stderr).not.to.match(/\n\s+at /)
      expect(contents(dataDir)).to.deep.equal(before)
    })
  }

  it('only then: undamaged, it does, with every account', async () => {
    const dataDir = fs.mkdtempSync(join(folder, 'good-'))
    fs.cpSync(killed, dataDir, { recursive: true })
    const registry = await accountsInProcess({ dataDir, flags: quickLimits })
    try {
      for (const name of ['alice', 'bob']) {
        expect((await createCaller(registry.url).login(name)).status).to.equal(200)
      }
    } finally {
      await registry.stop()
    }
  })
})

const keysOf = (database: string) => database.replace(/registry\.db$/, 'keys.json')

function overwrite(path: string, at: number): void {
  const file = fs.openSync(path, 'r+')
  fs.writeSync(file, Buffer.alloc(100, 7), 0, 100, at)
  fs.closeSync(file)
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file, { defensive: false })
  db.exec(sql)
  db.close()
}

function breakSchema(file: string): void {
  const sql = "UPDATE sqlite_schema SET sql = 'CREATE TABLE accounts (' WHERE name = 'accounts'"
  change(file, `PRAGMA writable_schema = ON; ${sql}`)
}

function replaceByForeign(file: string): void {
  fs.rmSync(file)
  change(file, 'CREATE TABLE songs (name TEXT)')
  fs.chmodSync(file, 0o600)
}

function replaceByLink(path: string): void {
  fs.renameSync(path, `${path}.there`)
  fs.symlinkSync(`${path}.there`, path)
}

/** Of files, for the log's index is also read by who looks; of links, where they lead. */
function contents(folder: string): Record<string, string> {
  return Object.fromEntries(
    fs
      .readdirSync(folder)
      .filter(name => !name.endsWith('.lock'))
      .map(name => {
        const path = join(folder, name)
        const found = fs.lstatSync(path)
        if (found.isSymbolicLink()) return [name, fs.readlinkSync(path)]
        return [name, found.isFile() ? hash('sha256', fs.readFileSync(path)) : 'folder']
      }),
  )
}
