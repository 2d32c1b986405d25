import { describeLargeArtefact } from '../e2e/large-artefact-suite.ts'

describeLargeArtefact(Number(process.env.ARTEFACT_MIB ?? 1024))
