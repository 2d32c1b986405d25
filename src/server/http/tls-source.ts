import {
  type Clock,
  repeat,
  systemClock,
  systemTimer,
  type Timer,
  toRfc3339,
} from '../../lib/util/time.ts'
import { FileFollower } from '../../lib/util/file-follower.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { openToOthers, readPair, type TlsPair } from './read-pair.ts'
import type { TlsFiles } from './listen-options.ts'
import type { X509Certificate } from 'node:crypto'

/** The files are checked for changes this often. */
const defaultPollMs = 1000

interface TlsSourceParts {
  readonly pollMs?: number
  readonly log: Logger
  /** The time of day. Default: the system's. */
  readonly clock?: Clock
  readonly timer?: Timer
}

/**
 * The certificate and the key of a server, as they are in their files. A renewed pair is in use
 * within `tlsPollMs`, for connections made from then on. As long as the files are no pair
 * (half-written, one of the two replaced) the old one stays.
 */
export class TlsSource {
  readonly #files: TlsFiles
  readonly #parts: TlsSourceParts
  readonly #clock: Clock
  readonly #listeners = new Set<(pair: TlsPair) => void>()
  readonly #follower: FileFollower
  readonly #stop: () => void
  #pair: TlsPair
  /** What was wrong at the last look. */
  #problem: string | null = null
  #toldOf: string | null = null
  #expiryTold = false

  private constructor(files: TlsFiles, parts: TlsSourceParts, pair: TlsPair) {
    const { clock = systemClock, timer = systemTimer, pollMs = defaultPollMs } = parts
    this.#files = files
    this.#parts = parts
    this.#clock = clock
    this.#pair = pair
    this.#follower = new FileFollower(files.certFile, files.keyFile)
    this.#stop = repeat(timer, pollMs, () => this.refresh())
  }

  /** Throws `config_invalid` when the files are no pair. */
  static async open(files: TlsFiles, parts: TlsSourceParts): Promise<TlsSource> {
    const read = await readPair(files)
    if (!read.ok) {
      const hint = 'name a certificate and its key in PEM, the key without a pass phrase'
      throw new ServiceError('config_invalid', read.failure, { hint })
    }
    const source = new TlsSource(files, parts, read.value)
    await source.#warn()
    return source
  }

  get pair(): TlsPair {
    return this.#pair
  }

  /** Called with each further pair. Returns the unsubscribe. */
  onChange(listener: (pair: TlsPair) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Looks at the files now; one look at a time. Never rejects. */
  async refresh(): Promise<void> {
    await this.#follower.look(() => this.#read())
    this.#warnOfDates()
  }

  close(): void {
    this.#stop()
    this.#listeners.clear()
  }

  /** False when the files are no pair. */
  async #read(): Promise<boolean> {
    const read = await readPair(this.#files)
    if (!read.ok) {
      this.#keepOld(read.failure)
      return false
    }
    this.#problem = this.#toldOf = null
    const { cert, key } = read.value
    if (cert.equals(this.#pair.cert) && key.equals(this.#pair.key)) return true
    this.#pair = read.value
    this.#expiryTold = false
    for (const listener of this.#listeners) listener(read.value)
    const { until } = validityOf(read.value.leaf)
    this.#parts.log.info({ file: this.#files.certFile, until }, 'the certificate was replaced')
    await this.#warn()
    return true
  }

  #keepOld(reason: string): void {
    // One look may have fallen between two steps of a renewal.
    const isLasting = this.#problem === reason
    this.#problem = reason
    if (!isLasting || this.#toldOf === reason) return
    this.#toldOf = reason
    this.#parts.log.error({ reason }, 'the old certificate stays in use')
  }

  async #warn(): Promise<void> {
    const { log } = this.#parts
    const { certFile, keyFile } = this.#files
    const mode = await openToOthers(keyFile)
    if (mode !== null) {
      log.warn({ file: keyFile, mode }, 'other accounts can get at the key of the certificate')
    }
    const { from } = validityOf(this.#pair.leaf)
    if (from !== null && !isPast(from, this.#clock)) {
      log.warn({ file: certFile, from }, 'the certificate is not valid yet: clients refuse it')
    }
    this.#warnOfDates()
  }

  #warnOfDates(): void {
    const { until } = validityOf(this.#pair.leaf)
    if (this.#expiryTold || until === null || !isPast(until, this.#clock)) return
    this.#expiryTold = true
    const file = this.#files.certFile
    this.#parts.log.warn({ file, until }, 'the certificate has expired: clients refuse it')
  }
}

/** From when to when clients take a certificate, in RFC 3339; null where it does not say. */
function validityOf({
  validFromDate,
  validToDate,
}: Pick<X509Certificate, 'validFromDate' | 'validToDate'>): {
  readonly from: string | null
  readonly until: string | null
} {
  return { from: textOf(validFromDate), until: textOf(validToDate) }
}

function isPast(time: string, clock: Clock): boolean {
  return Date.parse(time) <= clock.now()
}

/** The certificate is untrusted input: a date in it may be invalid. */
function textOf(date: Date): string | null {
  return Number.isNaN(date.getTime()) ? null : toRfc3339(date.getTime())
}
