import { killRounds } from './accounts-kill-rounds.ts'
import { withFolder } from '../helpers/folder.ts'

const rounds = Number(process.env['KILL_ROUNDS'] ?? 3)

describe('account store under kill -9, at length', () => {
  it(`keeps everything acknowledged through ${rounds} kills`, function () {
    this.timeout(rounds * 10_000)
    return withFolder(folder => killRounds(folder, rounds))
  })
})
