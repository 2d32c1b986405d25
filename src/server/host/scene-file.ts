import type { HostLimits } from './limits.ts'
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { errnoOf } from '../../lib/util/errors.ts'
import { fileMark, FolderWatch } from '../../lib/util/file-follower.ts'
import { decodeText, readBounded } from '../../lib/util/bytes.ts'
import type { Logger } from '../../lib/util/logger.ts'

interface SceneFileOptions {
  readonly path: string
  /** Throws `TypeError` for an invalid scene. */
  setSceneText(json: string): unknown
  /** Whether a connected application set the scene: the file does not replace it. */
  isPaused?(): boolean
  readonly limits: Pick<HostLimits, 'maxMessageBytes' | 'sceneFileDebounceMs' | 'sceneFilePollMs'>
  readonly log: Logger
}

/** A change event (or the start), the regular look, the second look at wrong content. */
type Reason = 'event' | 'poll' | { readonly stamp: string; readonly looks: number }

/** A file that is only ever seen wrong is reported even though it keeps changing. */
const maxLooks = 5

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
  #scheduled: NodeJS.Timeout | undefined
  /** Wrong content is looked at once more before it is reported: someone may be writing it. */
  #settling: NodeJS.Timeout | undefined
  #checking: Promise<void> = Promise.resolve()
  #stopped = false
  #paused = false
  /** What was seen last, to tell a change from a mere look. */
  #stamp: string | null = null
  #digest = ''
  /** The content that is the scene now. */
  #applied = ''
  #reported = new Set<string>()

  constructor(options: SceneFileOptions) {
    this.#options = options
    this.#path = resolve(options.path)
    const onName = (name: string | null): void => {
      if (name === null || name === basename(this.#path)) this.#schedule()
    }
    this.#folder = new FolderWatch(dirname(this.#path), onName)
    // Events are not delivered for network folders, and not for a folder that is yet to be made.
    this.#poll = setInterval(() => this.#enqueue('poll'), options.limits.sceneFilePollMs)
    this.#poll.unref()
    this.#enqueue('event')
  }

  /** Resolves when the scene will not be touched any more. */
  stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#poll)
    clearTimeout(this.#scheduled)
    clearTimeout(this.#settling)
    this.#folder.close()
    return this.#checking
  }

  /** To be called when `isPaused` may answer differently. The file counts again after a pause. */
  checkPause(): void {
    const { isPaused = () => false, log } = this.#options
    const paused = isPaused()
    if (this.#stopped || paused === this.#paused) return
    this.#paused = paused
    if (paused) {
      const message = 'scene file is paused while the connected application sends the scene'
      log.warn({ path: this.#path }, message)
      return
    }
    log.info({ path: this.#path }, 'scene file is used again')
    this.#digest = ''
    this.#applied = ''
    this.#enqueue('event')
  }

  #enqueue(reason: Reason): void {
    this.#checking = this.#checking.then(async () => {
      if (this.#stopped) return
      try {
        this.#folder.follow(await stat(dirname(this.#path)).catch(() => null))
        await this.#check(reason)
      } catch (error) {
        this.#report('scene file cannot be taken over', errnoOf(error) ?? undefined)
      }
    })
  }

  /** Not put off by further events: a file written all the time is still read. */
  #schedule(): void {
    if (this.#stopped || this.#scheduled !== undefined) return
    this.#scheduled = setTimeout(() => {
      this.#scheduled = undefined
      this.#enqueue('event')
    }, this.#options.limits.sceneFileDebounceMs)
    this.#scheduled.unref()
  }

  /** `looks` counts how often the content was wrong, each time in another way. */
  #settle(stamp: string, looks: number): void {
    if (this.#stopped || this.#settling !== undefined) return
    this.#settling = setTimeout(() => {
      this.#settling = undefined
      this.#enqueue({ stamp, looks })
    }, 4 * this.#options.limits.sceneFileDebounceMs)
    this.#settling.unref()
  }

  async #check(reason: Reason): Promise<void> {
    const found = await stat(this.#path, { bigint: true }).catch(() => null)
    // Missing: not there yet, or being replaced, or gone. The last scene is still the best known.
    const stamp = found && fileMark(found)
    const touched = stamp !== this.#stamp
    this.#stamp = stamp
    // One that is just being replaced is there again at the next look.
    if (stamp === null && !touched) this.#report('scene file is missing')
    if (stamp === null || (reason === 'poll' && !touched)) return
    const { limits } = this.#options
    const read = await readBounded(this.#path, limits.maxMessageBytes)
    const digest = read.ok ? createHash('sha256').update(read.value).digest('hex') : stamp
    const second = typeof reason === 'object' ? reason : null
    if (digest === this.#digest && second === null) return
    const text = read.ok ? decodeText(read.value) : read
    const problem = text.ok ? this.#apply(text.value, digest) : text.failure
    this.#digest = digest
    if (problem === null) {
      clearTimeout(this.#settling)
      this.#settling = undefined
      this.#reported.clear()
    } else if (second !== null && (second.stamp === stamp || second.looks >= maxLooks)) {
      this.#report(`scene file is not used: ${problem}`)
    } else {
      this.#settle(stamp, (second?.looks ?? 0) + 1)
    }
  }

  #apply(json: string, digest: string): string | null {
    if (this.#stopped || digest === this.#applied) return null
    // The application may have come while the file was read.
    this.checkPause()
    if (this.#paused) return null
    try {
      this.#options.setSceneText(json)
      this.#applied = digest
      return null
    } catch (error) {
      if (error instanceof TypeError) return error.message
      throw error
    }
  }

  #report(message: string, code?: string): void {
    // The same fault further on, in a file that is being written, is no other one.
    const problem = `${message.replace(/ \(line .*/, '')} ${code}`
    if (this.#reported.has(problem)) return
    this.#reported.add(problem)
    this.#options.log.warn({ path: this.#path, code }, message)
  }
}
