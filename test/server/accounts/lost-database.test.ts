import { expect } from 'chai'
import { copyFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { openAccountsStore } from '../../../src/server/accounts/data-folder.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { auth, password, type AccountsServer, withAccountsServer } from './harness.ts'

const hour = 60 * 60 * 1000

function registerBob({ call }: AccountsServer) {
  const body = { username: 'bob', email: 'bob@studio.example', password }
  return call('POST', `${auth}/register`, { body })
}

async function expectRefused(registry: AccountsServer, token: string): Promise<void> {
  const refused = await registerBob(registry)
  expect(refused.status).to.equal(503)
  expect(refused.json.code).to.equal('storage-unavailable')
  expect(refused.headers).to.have.property('retry-after')
  const ready = await registry.call('GET', '/readyz')
  expect(ready.status).to.equal(503)
  expect(ready.json.detail).to.match(/was deleted.*; changes are refused$/)
  expect(ready.text).not.to.include(registry.folder)
  // What was read before the loss can still be read.
  expect((await registry.call('GET', `${auth}/me`, { token })).status).to.equal(200)
  expect((await registry.call('GET', '/healthz')).status).to.equal(200)
  const said = registry.logged.filter(({ message }) => /changes are refused/.test(message ?? ''))
  expect(said).to.have.length(1)
  expect(said[0]?.fields.path).to.include(registry.folder)
}

describe('a running registry whose database', () => {
  const losses: [what: string, lose: (folder: string) => Promise<unknown>][] = [
    ['folder was deleted', folder => rm(folder, { recursive: true })],
    ['file was deleted', folder => rm(join(folder, 'registry.db'))],
    ['log was deleted', folder => rm(join(folder, 'registry.db-wal'))],
    [
      'file was replaced by a copy',
      async folder => {
        const file = join(folder, 'registry.db')
        await copyFile(file, `${file}.copy`)
        await rename(`${file}.copy`, file)
      },
    ],
  ]
  for (const [what, lose] of losses) {
    it(`${what} refuses changes, and says so`, () =>
      withAccountsServer(async registry => {
        const { access_token } = await registry.register('alice')
        expect((await registry.call('GET', '/readyz')).status).to.equal(200)
        await lose(registry.folder)
        await expectRefused(registry, access_token)
      }))
  }

  it('lock was deleted refuses changes, as a restore would not wait for it', () =>
    withFolder(async folder => {
      const options = { dataDir: folder, clock: settableClock(), log: silentLogger, busyMs: 200 }
      const store = await openAccountsStore(options)
      await rm(join(folder, 'registry.lock'))
      for (const change of [() => store.ping(), () => store.clearFailures('alice')]) {
        expect((await failureOf(change)).message).to.contain('registry.lock was deleted')
      }
      await store.close()
    }))

  it('file was moved away takes changes again when it is back', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const file = join(registry.folder, 'registry.db')
      await rename(file, `${file}.away`)
      await expectRefused(registry, access_token)
      await rename(`${file}.away`, file)
      expect((await registerBob(registry)).status).to.equal(201)
      registry.clock.nowMs += hour
      expect((await registry.call('GET', '/readyz')).status).to.equal(200)
    }))

  it('key file was deleted refuses changes until it is back', () =>
    withAccountsServer(async registry => {
      const file = join(registry.folder, 'keys.json')
      await writeFile(file, '{}')
      const { access_token } = await registry.register('alice')
      await rm(file)
      await expectRefused(registry, access_token)
      await writeFile(file, '{}')
      expect((await registerBob(registry)).status).to.equal(201)
    }))
})
