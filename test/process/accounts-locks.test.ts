import { expect } from 'chai'
import { join } from 'node:path'
import { takeFileLock } from '../../src/lib/config/file-lock.ts'
import { withFolder } from '../helpers/folder.ts'
import { exitOf, firstLine } from '../helpers/program.ts'
import { startScript } from '../nightly/support.ts'

describe('the lock of the configuration', () => {
  it('is busy while another process has it, and free when that one is killed', () =>
    withFolder(async folder => {
      const path = join(folder, 'config.lock')
      const script = join(import.meta.dirname, '../helpers/scripts', 'hold-lock.ts')
      const holder = startScript(script, [path])
      expect(await firstLine(holder.stdout)).to.equal('held')
      expect(await takeFileLock(path, { waitMs: 0 })).to.deep.equal({ ok: false, failure: 'busy' })
      holder.kill('SIGKILL')
      await exitOf(holder)
      const lock = await takeFileLock(path, { waitMs: 0 })
      expect(lock.ok).to.equal(true)
      if (lock.ok) lock.value()
    }))
})
