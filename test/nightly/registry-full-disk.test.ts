import { expect } from 'chai'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from '../helpers/mcp.ts'
import {
  createAccountsOwner,
  createCaller,
  password,
  startAccountsProcess,
} from '../helpers/accounts.ts'
import { fillUp, onSmallDisk } from './small-disk.ts'

describe('a registry on a full disk', () => {
  it('says 503, goes on with what needs no room, and with all of it when there is room', function () {
    this.timeout(120_000)
    return onSmallDisk(this, '2m', async folder => {
      const dataDir = join(folder, 'data')
      const filler = join(folder, 'filler')
      const registry = await startAccountsProcess({ dataDir })
      try {
        const caller = createCaller(registry.url)
        const alice = await caller.register('alice')
        const token = await caller.makeToken(alice.access_token)
        fillUp(filler)
        const signUp = (username: string) =>
          caller.call('POST', '/register', undefined, {
            username,
            email: `${username}@studio.example`,
            password,
          })
        // What is left in the file of the log may still take some.
        const made: string[] = []
        let refused = await signUp('first')
        for (let at = 0; refused.status === 201 && at < 2000; at++) {
          made.push(refused.json.access_token)
          refused = await signUp(`name${at}`)
        }
        expect([refused.status, refused.json.code]).to.deep.equal([503, 'storage-unavailable'])
        expect(refused.headers['retry-after']).to.match(/^\d+$/)
        expect(refused.text).not.to.include(folder)
        for (const answer of [
          await caller.refresh(alice.refresh_token),
          await caller.login('alice'),
          await caller.call('POST', '/tokens', alice.access_token, { name: 'more' }),
        ]) {
          expect([answer.status, answer.json?.code]).to.deep.equal([503, 'storage-unavailable'])
        }
        // Reading needs no room.
        for (const good of [alice.access_token, token, ...made]) {
          expect(await caller.me(good)).to.equal('200')
        }
        expect((await ask(`${registry.url}/readyz`)).status).to.equal(200)

        rmSync(filler)
        expect((await signUp('late')).status).to.equal(201)
        expect((await caller.refresh(alice.refresh_token)).status).to.equal(200)
        expect((await caller.login('alice')).status).to.equal(200)
        const { users } = await createAccountsOwner(dataDir).ask(['users', 'list'])
        expect(users).to.have.length(made.length + 2)
        expect(registry.stderr()).to.include('"level":"error"')
      } finally {
        expect(await registry.stop()).to.equal(0)
      }
    })
  })
})
