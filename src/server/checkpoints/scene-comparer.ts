import { parseExact } from '../../lib/util/exact-json.ts'
import { systemTimer } from '../../lib/util/time.ts'
import { JobThread, scriptBeside } from '../thread/job-thread.ts'
import { type ComparedScenes, compareScenes, type SceneComparison } from './compare-scenes.ts'

/** Texts that are longer together take too long for the main thread. */
const maxInlineChars = 1024 * 1024
const idleMs = 30_000
/** The largest scenes take a second or two. */
const maxMs = 60_000

/** Compares scenes: large ones in a thread, while the server goes on. */
export class SceneComparer {
  readonly #thread: JobThread<ComparedScenes, string>

  constructor() {
    const script = scriptBeside(import.meta.url, 'compare-thread')
    this.#thread = new JobThread({ script, idleMs, timer: systemTimer })
  }

  async compare(scenes: ComparedScenes): Promise<SceneComparison> {
    const { base, current } = scenes
    const chars = (base?.length ?? 0) + (current?.length ?? 0)
    if (chars <= maxInlineChars || base === current) return compareScenes(scenes)
    const answer = await this.#thread.run(scenes, [], AbortSignal.timeout(maxMs))
    return parseExact(answer) as SceneComparison
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
