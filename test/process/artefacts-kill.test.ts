import { killRounds } from '../nightly/artefacts-kill-rounds.ts'
import { withFolder } from '../helpers/folder.ts'

describe('artefact store under kill -9', () => {
  it('keeps every acknowledged artefact and serves no half one', () => {
    return withFolder(async root => void (await killRounds(root, 1)))
  })
})
