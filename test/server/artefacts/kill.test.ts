import { killRounds } from './kill-rounds.ts'
import { withFolder } from '../../helpers/folder.ts'

describe('artefact store under kill -9', () => {
  it('keeps every acknowledged artefact and serves no half one', function () {
    this.timeout(60_000)
    return withFolder(async root => void (await killRounds(root, 1)))
  })
})
