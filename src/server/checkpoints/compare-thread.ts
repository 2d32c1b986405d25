import { serveJobs } from '../thread/serve-jobs.ts'
import { type ComparedScenes, compareScenes } from './compare-scenes.ts'

/** The start of the thread that compares large scenes. It answers in JSON, which keeps digits. */
serveJobs<ComparedScenes, string>(job => ({
  answer: JSON.stringify(compareScenes(job)),
  transfer: [],
}))
