import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AccountTables } from '../../src/server/accounts/schema.ts'
import { AccountStore } from '../../src/server/accounts/store.ts'
import { openDatabase } from '../../src/server/database/database.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { newAccount, newSession } from '../unit/accounts/account-store-suite.ts'

const script = join(import.meta.dirname, '../helpers/scripts', 'register-names.ts')

function start(dataDir: string, worker: number, count: number) {
  const args = [script, dataDir, String(worker), String(count)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    opened: async () => expect((await lines.next()).value).to.equal('open'),
    go: () => void child.stdin.write('go\n'),
    result: async () => JSON.parse((await lines.next()).value ?? 'null'),
  }
}

describe('the account store shared by processes', () => {
  it('is created once, registers each name once and rotates each token once', async function () {
    this.timeout(120_000)
    const dataDir = join(newFolder(), 'data')
    // On no file at all: they race for making it, too.
    const workers = [0, 1, 2, 3].map(worker => start(dataDir, worker, 25))
    await Promise.all(workers.map(worker => worker.opened()))
    const database = await openDatabase<AccountTables>({ dataDir, create: true })
    const watching = await AccountStore.open(database)
    const session = newSession('account-shared', 'shared', { tokenHash: 'token 0' })
    await watching.createAccount(newAccount('shared'), session)
    for (const worker of workers) worker.go()
    const results = await Promise.all(workers.map(worker => worker.result()))

    const sum = (outcome: string) =>
      results.reduce((total, { outcomes }) => total + (outcomes[outcome] ?? 0), 0)
    expect(sum('created')).to.equal(25)
    expect(sum('taken')).to.equal(75)
    expect(await watching.listAccounts()).to.have.length(26)
    const shared = await watching.findSession('shared')
    expect(shared?.session.tokenHash).to.equal(`token ${sum('rotated')}`)
    await watching.close()
    expect(readdirSync(dataDir)).to.deep.equal(['registry.db'])
  })
})
