import { type Clock, repeat, type Timer } from '../../../lib/util/time.ts'
import { FileFollower } from '../../../lib/util/file-follower.ts'
import { messageOf, ServiceError } from '../../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { withFileLock } from '../../../lib/config/file-lock.ts'
import { importKeys, makeFreshKeys, readKeyFile, writeKeyFile } from './key-file.ts'
import {
  dropExpired,
  firstRing,
  isRotationDue,
  type KeyAge,
  type KeyRing,
  type Lifetimes,
  replaceRing,
  rotateRing,
} from './key-ring.ts'
import type { KeyFacts, KeySet, KeyStore } from './key-store.ts'
import { formatKeyRing, parseKeyRing } from './parse-key-ring.ts'

interface KeyStoreOptions {
  /** In a folder that is private to this user already. */
  readonly file: string
  readonly clock: Clock
  readonly lifetimes: Lifetimes
  /** `keyRotationMs` of the limits. */
  readonly rotationMs: number
  /** `maxStoreWaitMs` of the limits. */
  readonly busyMs: number
  readonly log?: Logger
  /** Make keys when there are none. Default true. */
  readonly create?: boolean
  /** Missing keys are lost ones: tokens may have been made with them. Default false. */
  readonly replaces?: boolean
}

interface Loaded {
  readonly ring: KeyRing
  readonly keys: KeySet
}

/**
 * Opens the key file; creates it when it is missing. Throws `config_invalid` for a damaged one,
 * `registry_dir_unsafe` for one that is not safely ours: it is never replaced unasked, since every
 * token depends on it.
 */
export async function openKeyStore(options: KeyStoreOptions): Promise<KeyStore> {
  const { file, clock, log = silentLogger } = options
  let loaded = await load(options)
  if (loaded === null) {
    if (options.create === false) throw absent(file)
    loaded = await change(async ring => ring ?? firstRing(await makeFreshKeys(), clock.now()))
    if (options.replaces === true) {
      log.warn(
        { path: file },
        'the key file was missing and new keys were made: every token made before is void',
      )
    } else {
      log.info({ path: file }, 'signing keys were made')
    }
  }
  let current = loaded
  const follower = new FileFollower(file)

  /** Under the lock, on what the file holds by then. */
  async function change(next: (ring: KeyRing | null) => Promise<KeyRing>): Promise<Loaded> {
    const lock = { waitMs: options.busyMs, setting: '--data-dir' }
    const done = await withFileLock(`${file}.lock`, lock, async () => {
      const before = (await load(options))?.ring ?? null
      const ring = dropExpired(await next(before), options.lifetimes, clock.now())
      if (ring !== before) await writeKeyFile(file, formatKeyRing(ring))
      const after = await load(options)
      if (after === null) throw absent(file)
      return after
    })
    if (done.ok) return done.value
    throw new ServiceError('storage_failed', `the key file ${file} is in use by another process`, {
      hint: 'try again when the other command has ended',
    })
  }

  async function rotate(decide: (ring: KeyRing) => 'keep' | 'rotate' | 'replace'): Promise<void> {
    current = await change(async ring => {
      if (ring === null) throw absent(file)
      const decision = decide(ring)
      if (decision === 'keep') return ring
      const fresh = await makeFreshKeys()
      return (decision === 'rotate' ? rotateRing : replaceRing)(ring, fresh, clock.now())
    })
  }

  const isDue = (ring: KeyRing) => isRotationDue(ring, options.rotationMs, clock.now())
  const hasExpired = (ring: KeyRing) => dropExpired(ring, options.lifetimes, clock.now()) !== ring

  return {
    current: () => current.keys,
    list: () => listFacts(current.ring),
    rotate: ({ compromised = false } = {}) => rotate(() => (compromised ? 'replace' : 'rotate')),

    async update() {
      await follower.look(async () => {
        const found = await load(options)
        if (found === null) throw absent(file)
        current = found
        return true
      })
      // Asked again under the lock: of several processes one rotates.
      if (isDue(current.ring) || hasExpired(current.ring)) {
        await rotate(ring => (isDue(ring) ? 'rotate' : 'keep'))
      }
    },
  }
}

async function load({ file, log = silentLogger }: KeyStoreOptions): Promise<Loaded | null> {
  const text = await readKeyFile(file, log)
  if (text === null) return null
  const parsed = await parseKeyRing(text)
  if (!parsed.ok) throw damaged(file, parsed.failure)
  const ring = parsed.value
  const keys = await importKeys(ring).catch(() => {
    throw damaged(file, 'has an invalid key')
  })
  return { ring, keys }
}

function listFacts({ signing, refresh }: KeyRing): KeyFacts[] {
  const facts = ({ state, createdAtMs, retiredAtMs }: KeyAge) => ({
    state,
    createdAtMs,
    retiredAtMs,
  })
  return [
    ...signing.map(key => ({ use: 'signing' as const, id: key.kid, ...facts(key) })),
    ...refresh.map(key => ({ use: 'refresh' as const, id: String(key.id), ...facts(key) })),
  ]
}

function damaged(file: string, what: string): ServiceError {
  const hint = 'restore it, or move it away: new keys are made then, and every user logs in again'
  return new ServiceError('config_invalid', `the key file ${file} ${what}`, { hint })
}

function absent(file: string): ServiceError {
  const hint = 'put it back; without it every token is void'
  return new ServiceError('storage_failed', `there is no key file ${file}`, { hint })
}

interface FollowOptions {
  readonly timer: Timer
  readonly log: Logger
  /** `keyPollMs` of the limits. */
  readonly pollMs: number
}

/**
 * Keeps a running server on the keys of the file: a rotation by the command line is seen within
 * `pollMs`, and keys are rotated when it is time. When the file becomes unusable the keys in
 * memory go on, and the log says so once. Returns the stop.
 */
export function followKeys(keys: KeyStore, { timer, log, pollMs }: FollowOptions): () => void {
  let lastProblem = ''
  return repeat(timer, pollMs, async () => {
    try {
      await keys.update()
      lastProblem = ''
    } catch (error) {
      const problem = messageOf(error)
      if (problem !== lastProblem) log.error({ err: error }, `the old keys stay in use: ${problem}`)
      lastProblem = problem
    }
  })
}

/** The text of a whole key file; null when there is none. Throws `config_invalid` for another. */
export async function readKeyText(file: string, log: Logger): Promise<string | null> {
  const text = await readKeyFile(file, log)
  if (text === null) return null
  const parsed = await parseKeyRing(text)
  if (parsed.ok) return text
  throw new ServiceError('config_invalid', `the key file ${file} ${parsed.failure}`, {
    hint: 'restore another copy, or start without it: every user must then log in again',
  })
}

/** As `writeKeyFile`, read again: what is there is what was meant. */
export async function writeKeyText(file: string, text: string, log: Logger): Promise<void> {
  await writeKeyFile(file, text)
  if ((await readKeyText(file, log)) === text) return
  throw new ServiceError('storage_failed', `${file} does not hold what was written to it`, {
    hint: 'check its disk',
  })
}
