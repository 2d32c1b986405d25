import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openSqliteStore } from '../../src/server/accounts/sqlite/sqlite-store.ts'
import { withFolder } from '../helpers/folder.ts'
import { settableClock } from '../helpers/settable-clock.ts'
import { newAccount, newSession } from '../helpers/new-account.ts'

const script = join(import.meta.dirname, '../helpers/scripts', 'register-names.ts')

function start(file: string, worker: number, count: number) {
  const args = [script, file, String(worker), String(count)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    opened: async () => expect((await lines.next()).value).to.equal('open'),
    go: () => void child.stdin.write('go\n'),
    result: async () => JSON.parse((await lines.next()).value ?? 'null'),
  }
}

describe('account store shared by processes', () => {
  it('is created once and registers each name once', function () {
    this.timeout(120_000)
    return withFolder(async folder => {
      const file = join(folder, 'data', 'registry.db')
      // On no file at all: they race for making it, too.
      const workers = [0, 1, 2, 3].map(worker => start(file, worker, 25))
      await Promise.all(workers.map(worker => worker.opened()))
      const watching = await openSqliteStore({ file, clock: settableClock() })
      const session = newSession('account-shared', 'shared')
      await watching.createAccount(newAccount('shared'), { session })
      for (const worker of workers) worker.go()
      const results = await Promise.all(workers.map(worker => worker.result()))

      const sum = (outcome: string) =>
        results.reduce((total, { outcomes }) => total + (outcomes[outcome] ?? 0), 0)
      expect(sum('created')).to.equal(25)
      expect(sum('taken')).to.equal(75)
      expect(await watching.listAccounts({ limit: 100 })).to.have.length(26)
      // Every step of the counter was made by exactly one of them.
      expect((await watching.findSession('shared'))?.session.counter).to.equal(sum('rotated'))
      // 1e9 ms for each failure of each process, whose times are those of their steps.
      const failures = await watching.findFailures('shared', 'here')
      expect(Math.floor((failures?.forgottenAtMs ?? 0) / 1e9)).to.equal(100)
      expect(new Set(results.map(({ id }) => id))).to.deep.equal(new Set([watching.registryId]))
      await watching.close()
      expect(readdirSync(join(folder, 'data'))).to.deep.equal(['registry.db'])
    })
  })
})
