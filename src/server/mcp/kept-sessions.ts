import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { z } from 'zod'
import { readPrivateFile } from '../../lib/config/private-file.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import { hashOfSecret } from '../../lib/util/secret.ts'
import type { AuthSettings } from '../auth/auth.ts'
import { sessionRevisions } from './sessions.ts'

const keptSession = z.object({
  principal: z.string(),
  revision: z.enum(sessionRevisions),
  clientInfo: z.object({ name: z.string(), version: z.string() }),
  /** Of each: the URI as it was written, and its canonical form without query. */
  subscriptions: z.array(z.tuple([z.string(), z.string()])),
  /** Milliseconds since the epoch. */
  lastUsedMs: z.number(),
})

/** What the next server on this port knows of a session. */
export type KeptSession = z.infer<typeof keptSession>

const keptFile = z.object({
  /** The mode of authentication, under which the principals were named. */
  auth: z.string(),
  sessions: z.record(z.string(), keptSession),
})

const maxSessions = 1000
const maxFileBytes = 64 * 1024 * 1024
const writeAfterMs = 100

interface KeptSessionsParts {
  registryDir: string
  port: number
  /** Default: `none`. Sessions of another mode are forgotten. */
  auth?: Pick<AuthSettings, 'mode'>
  log: Logger
}

/**
 * The sessions of a port in a file of the state directory, by the SHA-256 of their ids: clients go
 * on after a restart of the server. Written 100 ms after a change, and when the server stops.
 */
export class KeptSessions {
  readonly #path: string
  readonly #auth: string
  readonly #log: Logger
  /** By the hash of the id: those that are open here, and those of the server before. */
  readonly #sessions = new Map<string, () => KeptSession>()
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  /** An older state never lands on a newer one. */
  readonly #queue = pLimit(1)

  private constructor(path: string, { auth, log }: KeptSessionsParts) {
    this.#path = path
    this.#auth = auth?.mode ?? 'none'
    this.#log = log
  }

  /**
   * Undefined for port 0, on which no client finds the next server. Never throws: a file that cannot
   * be used is logged, and its sessions are forgotten.
   */
  static async open(parts: KeptSessionsParts): Promise<KeptSessions | undefined> {
    if (parts.port === 0) return undefined
    const path = join(parts.registryDir, `sessions-${parts.port}.json`)
    const opened = new KeptSessions(path, parts)
    try {
      const text = await readPrivateFile(path, { maxBytes: maxFileBytes })
      if (text === null) return opened
      const { auth, sessions } = keptFile.parse(JSON.parse(text))
      if (auth !== opened.#auth) return opened
      for (const [hash, kept] of Object.entries(sessions)) opened.#sessions.set(hash, () => kept)
    } catch (error) {
      parts.log.warn({ err: error, path }, 'sessions of the server before are forgotten')
    }
    return opened
  }

  /** For a session of the server before that was not used yet. */
  find(id: string): KeptSession | undefined {
    return this.#sessions.get(hashOfSecret(id))?.()
  }

  /** `session` is asked each time that the file is written. */
  add(id: string, session: () => KeptSession): void {
    this.#sessions.set(hashOfSecret(id), session)
    this.changed()
  }

  /** Resolves once the file does not hold the session. */
  async remove(id: string): Promise<void> {
    if (this.#sessions.delete(hashOfSecret(id))) await this.#flush()
  }

  /** The session has ended with what served it. After `close` the next server has it all the same. */
  ended(id: string): void {
    if (!this.#isClosed && this.#sessions.delete(hashOfSecret(id))) this.changed()
  }

  /** Writes all as they are now: the server stops, and its sessions end. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const [hash, session] of this.#sessions) {
      const last = session()
      this.#sessions.set(hash, () => last)
    }
    await this.#flush()
  }

  changed(): void {
    // By then the next server may have the file.
    if (this.#isClosed) return
    this.#timer ??= setTimeout(() => void this.#flush(), writeAfterMs).unref()
  }

  /** Never rejects: a failure is logged. */
  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return this.#queue(() => this.#write())
  }

  async #write(): Promise<void> {
    const newest = Array.from(this.#sessions, ([hash, session]) => [hash, session()] as const)
      .sort(([, a], [, b]) => b.lastUsedMs - a.lastUsedMs)
      .slice(0, maxSessions)
    try {
      if (newest.length === 0) await rm(this.#path, { force: true })
      else {
        const text = JSON.stringify({ auth: this.#auth, sessions: Object.fromEntries(newest) })
        await replaceFile(this.#path, text, { durable: false })
      }
    } catch (error) {
      this.#log.warn({ err: error, path: this.#path }, 'a restart will end sessions')
    }
  }
}
