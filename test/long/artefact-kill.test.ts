import { killRounds } from '../server/artefacts/kill-rounds.ts'
import { withFolder } from '../server/artefacts/support.ts'

const rounds = Number(process.env['KILL_ROUNDS'] ?? 10)

describe('artefact store under kill -9, at length', () => {
  it(`keeps every acknowledged artefact through ${rounds} kills`, function () {
    this.timeout(rounds * 10_000)
    return withFolder(root => killRounds(root, rounds))
  })
})
