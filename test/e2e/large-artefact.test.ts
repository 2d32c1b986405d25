import { describeLargeArtefact } from './large-artefact-suite.ts'

describeLargeArtefact(Number(process.env.ARTEFACT_MIB ?? 64))
