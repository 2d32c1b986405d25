import { stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { decodeText, readBounded } from '../../lib/util/bytes.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import { fileMark, FolderWatch } from '../../lib/util/file-follower.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { HostLimits } from './limits.ts'

interface SceneFileOptions {
  readonly path: string
  /** Throws `TypeError` for an invalid scene. */
  setSceneText(json: string): unknown
  /** Whether a connected application set the scene: the file does not replace it. */
  isPaused(): boolean
  readonly limits: Pick<HostLimits, 'maxMessageBytes' | 'sceneFilePollMs'>
  readonly log: Logger
}

/** Between the two looks at a file that must find it the same: it may be half-written. */
const settleMs = 50

/**
 * Keeps the scene equal to a JSON file: an object is the scene, `null` clears it. While the file
 * is missing, half-written or wrong, the old scene stays; each kind of trouble is logged once
 * until the file is right again.
 */
export class SceneFile {
  readonly #options: SceneFileOptions
  readonly #path: string
  readonly #poll: NodeJS.Timeout
  readonly #folder: FolderWatch
  #settling: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()
  #stopped = false
  #paused = false
  /** As the last look found the file; null: missing. */
  #seen: string | null = null
  /** What was read, right or wrong. */
  #used = ''
  readonly #reported = new Set<string>()

  constructor(options: SceneFileOptions) {
    this.#options = options
    this.#path = resolve(options.path)
    this.#folder = new FolderWatch(dirname(this.#path), name => {
      if (name === null || name === basename(this.#path)) this.#lookSoon()
    })
    // Events are not delivered for network folders, and not for a folder that is yet to be made.
    this.#poll = setInterval(() => this.#look(), options.limits.sceneFilePollMs).unref()
    this.#look()
  }

  /** Resolves when the scene will not be touched any more. */
  stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#poll)
    clearTimeout(this.#settling)
    this.#folder.close()
    return this.#looking
  }

  /** To be called when `isPaused` may answer differently. The file counts again after a pause. */
  checkPause(): void {
    const { isPaused, log } = this.#options
    const paused = isPaused()
    if (this.#stopped || paused === this.#paused) return
    this.#paused = paused
    if (paused) {
      const message = 'scene file is paused while the connected application sends the scene'
      log.warn({ path: this.#path }, message)
    } else {
      log.info({ path: this.#path }, 'scene file is used again')
      this.#used = ''
      this.#look()
    }
  }

  /** Not put off by further events. */
  #lookSoon(): void {
    if (this.#stopped || this.#settling !== undefined) return
    this.#settling = setTimeout(() => {
      this.#settling = undefined
      this.#look()
    }, settleMs).unref()
  }

  #look(): void {
    this.#looking = this.#looking.then(async () => {
      if (this.#stopped) return
      try {
        this.#folder.follow(await stat(dirname(this.#path)).catch(() => null))
        await this.#check()
      } catch (error) {
        this.#report('scene file cannot be read', errnoOf(error) ?? undefined)
      }
    })
  }

  async #check(): Promise<void> {
    const mark = await this.#mark()
    const isSame = mark === this.#seen
    this.#seen = mark
    if (!isSame) return this.#lookSoon()
    if (mark === null) return this.#report('scene file is missing')
    if (mark === this.#used) return
    const read = await readBounded(this.#path, this.#options.limits.maxMessageBytes)
    const text = read.ok ? decodeText(read.value) : read
    if ((await this.#mark()) !== mark) return this.#lookSoon()
    const problem = text.ok ? this.#apply(text.value) : text.failure
    this.#used = mark
    if (problem === null) this.#reported.clear()
    else this.#report(`scene file is not used: ${problem}`)
  }

  async #mark(): Promise<string | null> {
    const found = await stat(this.#path, { bigint: true }).catch(() => null)
    return found && fileMark(found)
  }

  /** Returns what is wrong with the text. */
  #apply(json: string): string | null {
    // The application may have come while the file was read.
    this.checkPause()
    if (this.#paused || this.#stopped) return null
    try {
      this.#options.setSceneText(json)
      return null
    } catch (error) {
      if (error instanceof TypeError) return error.message
      throw error
    }
  }

  #report(message: string, code?: string): void {
    const problem = `${message} ${code}`
    if (this.#reported.has(problem)) return
    this.#reported.add(problem)
    this.#options.log.warn({ path: this.#path, code }, message)
  }
}
