import { expect } from 'chai'
import { killRounds } from './artefacts-kill-rounds.ts'
import { withFolder } from '../helpers/folder.ts'

const rounds = Number(process.env['KILL_ROUNDS'] ?? 3)

describe('artefact store under kill -9, at length', () => {
  it(`keeps every acknowledged artefact through ${rounds} kills`, function () {
    this.timeout(rounds * 10_000)
    return withFolder(async root => {
      // Otherwise no kill hit a put, and nothing was shown.
      expect(await killRounds(root, rounds)).to.be.greaterThan(0)
    })
  })
})
