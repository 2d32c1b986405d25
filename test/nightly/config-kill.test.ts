import { expect } from 'chai'
import { join } from 'node:path'
import { killRounds } from './config-kill-rounds.ts'
import { withFolder } from '../helpers/folder.ts'

describe('configuration under many kills', () => {
  it('leaves the old file or the new one', () => {
    const rounds = Number(process.env['KILL_ROUNDS'] ?? 20)
    return withFolder(async folder => {
      // Otherwise no kill hit a save, and nothing was shown.
      expect(await killRounds(join(folder, 'config.toml'), rounds)).to.be.greaterThan(0)
    })
  })
})
