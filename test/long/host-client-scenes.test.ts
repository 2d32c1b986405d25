import { describePatchedScenes } from '../e2e/host-client-scenes-suite.ts'

describePatchedScenes(Number(process.env['KILL_ROUNDS'] ?? 10))
