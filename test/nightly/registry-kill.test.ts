import { expect } from 'chai'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newFolder } from '../helpers/cleanup.ts'
import { createCaller, startAccountsProcess } from '../helpers/accounts.ts'
import { until } from '../helpers/until.ts'

interface Acknowledged {
  readonly username: string
  access: string
  refresh: string
}

/**
 * Kills a registry that registers and refreshes, `rounds` times on one folder: every account and
 * every refresh that was answered is there afterwards, and the database is whole.
 */
function testKilledAccounts(rounds: number): void {
  describe('a registry under kill -9', function () {
    this.timeout(60_000 + rounds * 15_000)

    it(`keeps every registration and every refresh that it answered, ${rounds} times`, async () => {
      const dataDir = join(newFolder(), 'data')
      const all: Acknowledged[] = []
      for (let round = 0; round < rounds; round++) {
        const made = await untilKilled(dataDir, round)
        expect(made.length, `round ${round}`).to.be.greaterThan(0)
        all.push(...made)
      }
      const registry = await startAccountsProcess({ dataDir })
      const caller = createCaller(registry.url)
      for (const { username, access, refresh } of all) {
        expect(await caller.me(access), username).to.equal('200')
        expect((await caller.refresh(refresh)).status, username).to.equal(200)
      }
      await registry.stop()
      const database = new DatabaseSync(join(dataDir, 'registry.db'))
      const check = database.prepare('PRAGMA integrity_check').get()
      expect(check).to.deep.include({ integrity_check: 'ok' })
      const halves = 'SELECT id FROM accounts WHERE id NOT IN (SELECT account_id FROM sessions)'
      expect(database.prepare(halves).all()).to.deep.equal([])
      database.close()
    })
  })
}

async function untilKilled(dataDir: string, round: number): Promise<Acknowledged[]> {
  const registry = await startAccountsProcess({ dataDir })
  const caller = createCaller(registry.url)
  const made: Acknowledged[] = []
  let alive = true
  const lanes = [0, 1, 2].map(async lane => {
    try {
      for (let at = 0; alive && at < 1000; at++) {
        const username = `r${round}l${lane}n${at}`
        const { access_token: access, refresh_token: refresh } = await caller.register(username)
        const account = { username, access, refresh }
        made.push(account)
        const { status, json } = await caller.refresh(refresh)
        if (status === 200) account.refresh = json.refresh_token
      }
    } catch {
      // Cut by the kill.
    }
  })
  await until(() => made.length > (round * 7) % 23, 'accounts are being made')
  registry.child.kill('SIGKILL')
  await new Promise(resolve => registry.child.once('close', resolve))
  alive = false
  await Promise.all(lanes)
  return made
}

testKilledAccounts(Number(process.env.KILL_ROUNDS ?? 3))
