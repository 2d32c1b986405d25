import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readPrivateFile } from '../../lib/config/private-file.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import { sessionRevisions } from './sessions/initialize.ts'

const keptSession = z.object({
  principal: z.string(),
  /** The mode of authentication under which the principal was named. */
  auth: z.string(),
  revision: z.enum(sessionRevisions),
  /** `clientInfo`, as the client sent it. */
  info: z.unknown(),
  /** Of each: the URI as it was written, and its canonical form. */
  subscriptions: z.array(z.tuple([z.string(), z.string()])),
  /** Milliseconds since the epoch. */
  lastUsedMs: z.number(),
})

/** What the next server on this port knows of a session. */
export type KeptSession = z.infer<typeof keptSession>

const keptFile = z.record(z.string(), keptSession)

const maxSessions = 1000
const maxFileBytes = 64 * 1024 * 1024
const writeAfterMs = 100

/**
 * The sessions of a port in a file of the state directory, by the SHA-256 of their ids: clients go
 * on after a restart of the server. Written 100 ms after a change, and when the server stops.
 */
export class KeptSessions {
  readonly #path: string
  readonly #log: Logger
  /** Those of the server before that were not used yet, and those of this one. */
  readonly #sessions: Map<string, () => KeptSession>
  #timer: NodeJS.Timeout | undefined
  #written: Promise<void> = Promise.resolve()
  /** The write that begins when the one before has ended. */
  #next: Promise<void> | null = null

  private constructor(path: string, sessions: Record<string, KeptSession>, log: Logger) {
    this.#path = path
    this.#log = log
    this.#sessions = new Map(Object.entries(sessions).map(([hash, kept]) => [hash, () => kept]))
  }

  /** Never throws: a file that cannot be used is logged, and its sessions are forgotten. */
  static async open(registryDir: string, port: number, log: Logger): Promise<KeptSessions> {
    const path = join(registryDir, `sessions-${port}.json`)
    try {
      const text = await readPrivateFile(path, { maxBytes: maxFileBytes })
      return new KeptSessions(path, keptFile.parse(JSON.parse(text ?? '{}')), log)
    } catch (error) {
      log.warn({ err: error, path }, 'sessions of the server before are forgotten')
      return new KeptSessions(path, {}, log)
    }
  }

  find(id: string): KeptSession | null {
    return this.#sessions.get(hashOf(id))?.() ?? null
  }

  /** `session` is asked each time that the file is written. */
  add(id: string, session: () => KeptSession): void {
    this.#sessions.set(hashOf(id), session)
    this.changed()
  }

  /** Resolves once the file does not hold the session. */
  async remove(id: string): Promise<void> {
    if (this.#sessions.delete(hashOf(id))) await this.flush()
  }

  changed(): void {
    this.#timer ??= setTimeout(() => void this.flush(), writeAfterMs).unref()
  }

  /** Writes the file now. Never rejects: a failure is logged. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#next ??= this.#written.then(() => {
      this.#next = null
      return (this.#written = this.#write())
    })
    return this.#next
  }

  async #write(): Promise<void> {
    const newest = [...this.#sessions]
      .map(([hash, session]): [string, KeptSession] => [hash, session()])
      .sort(([, a], [, b]) => b.lastUsedMs - a.lastUsedMs)
      .slice(0, maxSessions)
    try {
      if (newest.length === 0) await rm(this.#path, { force: true })
      else {
        const text = JSON.stringify(Object.fromEntries(newest))
        await replaceFile(this.#path, text, { durable: false })
      }
    } catch (error) {
      this.#log.warn({ err: error, path: this.#path }, 'a restart will end sessions')
    }
  }
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}
