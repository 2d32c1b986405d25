import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newFolder } from '../helpers/cleanup.ts'
import { createCaller } from '../helpers/accounts.ts'
import { runCommand } from '../helpers/in-process.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const damages: [what: string, damage: (dataDir: string) => void, says: RegExp][] = [
  [
    'its database is no database',
    dir => fs.writeFileSync(join(dir, 'registry.db'), 'no '.repeat(999)),
    /not a database/,
  ],
  ['its database is of a newer version', makeNewer, /another version/],
  ['its keys are damaged', dir => fs.truncateSync(keysOf(dir), 10), /signing-keys\.json/],
  ['its folder is open to others', dir => fs.chmodSync(dir, 0o755), /open to other users/],
]

describe('a registry does not start', () => {
  let folder: string
  let stopped: string

  before(async () => {
    folder = newFolder()
    stopped = join(folder, 'stopped')
    const registry = await accountsInProcess({ dataDir: stopped })
    await createCaller(registry.url).register('alice')
    await registry.stop()
  })

  for (const [what, damage, says] of damages) {
    it(`when ${what}, says so, and leaves everything as it is`, async () => {
      const dataDir = fs.mkdtempSync(join(folder, 'copy-'))
      fs.cpSync(stopped, dataDir, { recursive: true })
      damage(dataDir)
      const before = contents(dataDir)
      const args = ['registry', '--port', '0', '--data-dir', dataDir, '--json']
      const { code, stdout, stderr } = await runCommand(args)
      expect(code, stderr).to.be.oneOf([1, 2])
      const { error } = JSON.parse(stdout)
      expect(error.message).to.match(says).and.contain(dataDir)
      expect(stderr).not.to.match(/\n\s+at /)
      expect(contents(dataDir)).to.deep.equal(before)
    })
  }
})

const keysOf = (dataDir: string) => join(dataDir, 'signing-keys.json')

function makeNewer(dataDir: string): void {
  const db = new DatabaseSync(join(dataDir, 'registry.db'))
  db.exec('UPDATE accounts_server SET version = 99')
  db.close()
}

function contents(folder: string): Record<string, string> {
  const names = fs.readdirSync(folder)
  return Object.fromEntries(
    names.map(name => [name, fs.readFileSync(join(folder, name), 'base64')]),
  )
}
