import { describePatchedScenes } from './host-client-scenes-suite.ts'

describePatchedScenes(Number(process.env.KILL_ROUNDS ?? 1))
