import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { decodeText, readBounded } from '../../lib/util/bytes.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import { fileMark } from '../../lib/util/file-follower.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { repeat, systemTimer } from '../../lib/util/time.ts'
import type { SceneState } from '../resources/scene/state.ts'

interface SceneFileOptions {
  readonly path: string
  /** Not replaced while a connected application set it. */
  readonly scene: Pick<SceneState, 'setText' | 'isLive'>
  readonly maxBytes: number
  readonly log: Logger
  /** Told why the file is not used; null: it is. */
  onProblem(problem: string | null): void
}

/** Looked at, and not watched: network folders tell of no changes, and editors replace files. */
const pollMs = 50

/**
 * Keeps the scene equal to a JSON file: an object is the scene, `null` clears it. The file is used
 * once two looks found it the same, because it may be half-written. While it is missing or wrong,
 * the old scene stays; each kind of trouble is told once until the file is right again.
 */
export class SceneFile {
  readonly #options: SceneFileOptions
  readonly #path: string
  readonly #stop: () => void
  #looking: Promise<void>
  #isStopped = false
  #isPaused = false
  /** As the last look found the file; null: missing. */
  #seen: string | null = null
  /** As it was read, right or wrong. */
  #used = ''
  readonly #reported = new Set<string>()

  constructor(options: SceneFileOptions) {
    this.#options = options
    this.#path = resolve(options.path)
    this.#looking = this.#look()
    this.#stop = repeat(systemTimer, pollMs, () => (this.#looking = this.#look()))
  }

  /** Resolves when the scene will not be touched any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stop()
    await this.#looking
  }

  /** To be called when the scene has changed. The file counts again after a pause. */
  checkPause(): void {
    const { scene, log } = this.#options
    if (this.#isStopped || scene.isLive === this.#isPaused) return
    this.#isPaused = scene.isLive
    this.#used = ''
    const fields = { path: this.#path }
    if (!this.#isPaused) return log.info(fields, 'scene file is used again')
    log.warn(fields, 'scene file is paused while the connected application sends the scene')
  }

  async #look(): Promise<void> {
    try {
      const mark = await this.#mark()
      const isSame = mark === this.#seen
      this.#seen = mark
      if (mark === null) return isSame ? this.#report('scene file is missing') : undefined
      if (!isSame || mark === this.#used || this.#isPaused) return
      const read = await readBounded(this.#path, this.#options.maxBytes)
      const text = read.ok ? decodeText(read.value) : read
      if ((await this.#mark()) !== mark) return
      this.#used = mark
      const problem = text.ok ? this.#apply(text.value) : text.failure
      if (problem !== null) return this.#report(`scene file is not used: ${problem}`)
      if (this.#reported.size > 0) this.#options.onProblem(null)
      this.#reported.clear()
    } catch (error) {
      this.#report('scene file cannot be read', errnoOf(error) ?? undefined)
    }
  }

  async #mark(): Promise<string | null> {
    const found = await stat(this.#path, { bigint: true }).catch(() => null)
    return found && fileMark(found)
  }

  /** Returns what is wrong with the text. */
  #apply(json: string): string | null {
    // The application may have come while the file was read.
    this.checkPause()
    if (this.#isPaused || this.#isStopped) return null
    try {
      this.#options.scene.setText(json)
      return null
    } catch (error) {
      if (error instanceof TypeError) return error.message
      throw error
    }
  }

  #report(message: string, code?: string): void {
    const kind = `${message.replace(/ \(line .*\)$/, '')} ${code}`
    if (this.#reported.has(kind)) return
    this.#reported.add(kind)
    this.#options.log.warn({ path: this.#path, code }, message)
    this.#options.onProblem(message)
  }
}
