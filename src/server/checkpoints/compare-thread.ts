import { serveJobs } from '../thread/serve-jobs.ts'
import { type ComparedScenes, compareScenes, type SceneComparison } from './compare-scenes.ts'

/** The start of the thread that compares large scenes. */
serveJobs<ComparedScenes, SceneComparison>(job => ({ answer: compareScenes(job), transfer: [] }))
