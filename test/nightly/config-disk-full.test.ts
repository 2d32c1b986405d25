import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createConfigStore } from '../../src/lib/config/config-store.ts'
import { withLogin } from '../../src/lib/config/saved-logins.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { Secret } from '../../src/lib/util/secret.ts'
import { failureOf } from '../helpers/failure.ts'
import { fillUp, onSmallDisk } from './small-disk.ts'

describe('configuration on a full disk', () => {
  it('says storage_full, keeps the old file, leaves nothing behind and recovers', function () {
    return onSmallDisk(this, '256k', async folder => {
      const path = join(folder, 'config.toml')
      const store = createConfigStore({ path, log: silentLogger })
      const url = 'https://registry.example'
      const save = (text: string) =>
        store.update(config =>
          withLogin(config, url, { username: 'a', accessToken: new Secret(text) }),
        )
      await save('first')
      const before = fs.readFileSync(path, 'utf8')
      fillUp(join(folder, 'filler'))

      const failure = await failureOf(() => save('second'.repeat(2000)))
      expect(failure.code, failure.message).to.equal('storage_full')
      expect(failure.hint).to.be.a('string')
      expect(fs.readFileSync(path, 'utf8')).to.equal(before)
      const names = fs.readdirSync(folder).toSorted()
      expect(names).to.deep.equal(['config.lock', 'config.toml', 'filler'])

      fs.rmSync(join(folder, 'filler'))
      await save('third')
      const entry = (await store.read()).servers.get(url)?.login
      expect(entry?.accessToken?.reveal()).to.equal('third')
    })
  })
})
