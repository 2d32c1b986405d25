import { describeStoreBounds } from '../../studio/store-bounds-suite.ts'
import { describeArtefactStore } from '../../studio/store-suite.ts'
import { useStores } from './support.ts'

describe('artefacts in files', () => {
  const create = useStores()
  describeArtefactStore('files', create)
  describeStoreBounds('files', create)
})
