import { expect } from 'chai'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createConfigStore } from '../../src/lib/config/config-store.ts'
import { takeFileLock } from '../../src/lib/config/file-lock.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { killRounds } from '../nightly/config-kill-rounds.ts'
import { withFolder } from '../helpers/folder.ts'
import { exitOf } from '../helpers/program.ts'
import { startScript } from '../nightly/support.ts'

const script = (name: string) => join(import.meta.dirname, '../helpers/scripts', name)

describe('configuration and several processes', function () {
  this.timeout(90_000)

  it('loses no change of eight that write at once', () =>
    withFolder(async folder => {
      const path = join(folder, 'config.toml')
      const writers = Array.from({ length: 8 }, () =>
        startScript(script('count-up.ts'), [path, '8']),
      )
      expect(await Promise.all(writers.map(exitOf))).to.deep.equal(Array(8).fill(0))
      const config = await createConfigStore({ path, log: silentLogger }).read()
      expect(config.others?.['count']).to.equal(64n)
      expect(statSync(path).mode & 0o777).to.equal(0o600)
    }))

  it('says busy while another process has the lock, and gets it when that one is killed', () =>
    withFolder(async folder => {
      const path = join(folder, 'config.lock')
      const holder = startScript(script('hold-lock.ts'), [path])
      let seen = ''
      for await (const chunk of holder.stdout ?? []) {
        seen += String(chunk)
        break
      }
      expect(seen).to.equal('held\n')
      expect(await takeFileLock(path, { waitMs: 0 })).to.deep.equal({ ok: false, failure: 'busy' })
      holder.kill('SIGKILL')
      await exitOf(holder)
      const lock = await takeFileLock(path, { waitMs: 0 })
      expect(lock.ok).to.equal(true)
      if (lock.ok) lock.value()
    }))

  it('leaves the old file or the new one when a save is killed', () =>
    withFolder(async folder => void (await killRounds(join(folder, 'sub', 'config.toml'), 1))))
})
