import { describeArtefactStore } from '../../studio/store-suite.ts'
import { useStores } from './support.ts'

describe('artefacts in files', () => describeArtefactStore('files', useStores()))
