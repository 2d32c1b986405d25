import { expect } from 'chai'
import { join } from 'node:path'
import { withFileLock } from '../../src/lib/config/private-file.ts'
import { failureOf } from '../helpers/failure.ts'
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
      const taken = () => withFileLock(path, async () => 'taken', 0)
      expect((await failureOf(taken)).code).to.equal('config_busy')
      holder.kill('SIGKILL')
      await exitOf(holder)
      expect(await taken()).to.equal('taken')
    }))
})
