import { killRounds } from '../nightly/accounts-kill-rounds.ts'
import { withFolder } from '../helpers/folder.ts'

describe('account store under kill -9', () => {
  it('keeps everything acknowledged, and no account without its session', function () {
    this.timeout(120_000)
    return withFolder(folder => killRounds(folder, 1))
  })
})
