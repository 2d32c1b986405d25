import { describePatchedScenes } from './host-client-scenes-suite.ts'

describePatchedScenes(1)
