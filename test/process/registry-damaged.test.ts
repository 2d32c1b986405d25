import { expect } from 'chai'
import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { runCommand } from '../helpers/in-process.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { startAccountsProcess } from '../helpers/accounts-process.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

type Damage = (database: string) => void

/** Of a registry that was killed: it needs the log beside its database. */
const afterKill: [what: string, damage: Damage, says: RegExp][] = [
  ['its database is gone, but not the log', file => fs.rmSync(file), /is gone/],
]

const damages: [what: string, damage: Damage, says: RegExp][] = [
  ['the header of its database is overwritten', file => overwrite(file, 0), /damaged/],
  ['a page of its database is overwritten', file => overwrite(file, 2 * 4096), /damaged/],
  ['its database is cut', file => fs.truncateSync(file, 2 * 4096), /damaged/],
  ['its database is empty', file => fs.truncateSync(file, 0), /empty/],
  ['its database is of a newer version', makeNewer, /newer version/],
  ['its keys are damaged', file => overwrite(keysOf(file), 10), /keys\.json/],
  ['its keys are empty', file => fs.truncateSync(keysOf(file), 0), /keys\.json/],
  ['its database is a folder', replaceByFolder, /not a regular file/],
  ['its keys are a symbolic link', file => replaceByLink(keysOf(file)), /symbolic link/],
]

describe('a registry does not start', () => {
  let folder: string
  let stopped: string
  let killed: string

  before(async () => {
    folder = fs.mkdtempSync(join(tmpdir(), 'registry-damaged-'))
    stopped = join(folder, 'stopped')
    killed = join(folder, 'killed')
    const program = await startAccountsProcess({ dataDir: killed, flags: quickLimits })
    const other = await accountsInProcess({ dataDir: stopped, flags: quickLimits })
    for (const { url } of [program, other]) {
      const caller = createCaller(url)
      for (const name of ['alice', 'bob', 'carol']) await caller.register(name)
    }
    program.child.kill('SIGKILL')
    for (const registry of [program, other]) await registry.stop()
  })

  after(() => fs.rmSync(folder, { recursive: true, force: true }))

  const cases = [
    ...damages.map(each => [...each, () => stopped] as const),
    ...afterKill.map(each => [...each, () => killed] as const),
  ]
  for (const [what, damage, says, whole] of cases) {
    it(`when ${what}, says so, and leaves everything as it is`, async () => {
      const dataDir = fs.mkdtempSync(join(folder, 'copy-'))
      fs.cpSync(whole(), dataDir, { recursive: true })
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
      for (const name of ['alice', 'bob', 'carol']) {
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

function makeNewer(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA user_version = 99')
  db.close()
}

function replaceByFolder(path: string): void {
  fs.rmSync(path)
  fs.mkdirSync(path)
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
