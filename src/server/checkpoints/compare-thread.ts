import { parentPort, workerData } from 'node:worker_threads'
import { compareScenes } from './compare-scenes.ts'

// The thread that compares two large scenes. It answers in JSON, which keeps digits.
parentPort?.postMessage(JSON.stringify(compareScenes(workerData)))
