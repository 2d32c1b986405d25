import type { Clock } from '../../../lib/util/time.ts'
import { messageOf, ServiceError } from '../../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { importKeys, makeFreshKeys } from './key-file.ts'
import {
  dropExpired,
  firstRing,
  isRotationDue,
  type KeyAge,
  type KeyRing,
  type KeySet,
  type KeyState,
  type Lifetimes,
  replaceRing,
  rotateRing,
} from './key-ring.ts'
import { formatKeyRing, parseKeyRing } from './parse-key-ring.ts'

/** The keys that tokens are signed with, kept beside the accounts and never among them. */
export interface KeyStore {
  /** What to sign and to check with at this moment; cheap, so ask for each token. */
  current(): KeySet
  /** All of them, oldest first, without what is secret. */
  list(): readonly KeyFacts[]
  /**
   * The key that was published ahead becomes the one in use, and another one is published ahead.
   * Tokens of the replaced key stay valid until they expire; of a `compromised` one, and of all
   * others that were stored, they are void at once.
   */
  rotate(options?: { compromised?: boolean }): Promise<void>
  /**
   * Takes over what another process stored, and rotates when it is time. Keys that cannot be used
   * are an error once; the keys at hand stay. A running server does this again and again.
   */
  update(): Promise<void>
}

export interface KeyFacts {
  readonly use: 'signing' | 'refresh'
  /** The `kid`, or the number of a refresh key. */
  readonly id: string
  readonly state: KeyState
  readonly createdAtMs: number
  readonly retiredAtMs: number | null
}

/** Where the text of the keys is kept. */
export interface KeyRingSource {
  /** In messages, as in `key file /…/keys.json`. */
  readonly name: string
  /** What to do when the text is damaged or gone. */
  readonly hints: { readonly damaged: string; readonly absent: string }
  /** Null when it was never written. */
  read(): Promise<string | null>
  /** Keeps what `next` makes of the text; no other process changes it meanwhile. */
  change(next: (text: string | null) => Promise<string>): Promise<void>
  /** Calls `reread` when the text may have changed since that last returned true. */
  look(reread: () => Promise<boolean>): Promise<void>
}

export interface KeyStoreOptions {
  readonly clock: Clock
  readonly lifetimes: Lifetimes
  /** `keyRotationMs` of the limits. */
  readonly rotationMs: number
  readonly log?: Logger
  /** Make keys when they are missing. Default true. */
  readonly create?: boolean
  /** Missing keys are lost ones: tokens may have been made with them. Default false. */
  readonly replaces?: boolean
}

interface Loaded {
  readonly text: string
  readonly ring: KeyRing
  readonly keys: KeySet
}

/**
 * Opens the keys of `source`; makes them when they are missing. Throws `config_invalid` for damaged
 * ones: they are never replaced unasked, since every token depends on them.
 */
export async function openKeyStore(
  source: KeyRingSource,
  options: KeyStoreOptions,
): Promise<KeyStore> {
  const { clock, log = silentLogger } = options
  let loaded = await load()
  if (loaded === null) {
    if (options.create === false) throw absent(source)
    loaded = await change(async ring => ring ?? firstRing(await makeFreshKeys(), clock.now()))
    const { name } = source
    if (options.replaces === true) {
      log.warn(
        { keys: name },
        `the ${name} was missing and new keys were made: every token made before is void`,
      )
    } else {
      log.info({ keys: name }, 'signing keys were made')
    }
  }
  let current = loaded

  async function load(): Promise<Loaded | null> {
    const text = await source.read()
    return text === null ? null : parse(source, text)
  }

  /** On what is stored by then, which no other process changes meanwhile. */
  async function change(next: (ring: KeyRing | null) => Promise<KeyRing>): Promise<Loaded> {
    await source.change(async text => {
      const before = text === null ? null : (await parse(source, text)).ring
      const ring = dropExpired(await next(before), options.lifetimes, clock.now())
      return text !== null && ring === before ? text : formatKeyRing(ring)
    })
    const after = await load()
    if (after === null) throw absent(source)
    return after
  }

  async function rotate(decide: (ring: KeyRing) => 'keep' | 'rotate' | 'replace'): Promise<void> {
    current = await change(async ring => {
      if (ring === null) throw absent(source)
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
      await source.look(async () => {
        const text = await source.read()
        if (text === null) throw absent(source)
        if (text !== current.text) current = await parse(source, text)
        return true
      })
      // Asked again where no other process changes it: of several one rotates.
      if (isDue(current.ring) || hasExpired(current.ring)) {
        await rotate(ring => (isDue(ring) ? 'rotate' : 'keep'))
      }
    },
  }
}

/**
 * Returns an `update` that never rejects: while the keys cannot be used, those in memory go on, and
 * each problem is logged once.
 */
export function keyUpdater(keys: KeyStore, log: Logger): () => Promise<void> {
  let lastProblem = ''
  return async () => {
    try {
      await keys.update()
      lastProblem = ''
    } catch (error) {
      const problem = messageOf(error)
      if (problem !== lastProblem) log.error({ err: error }, `the old keys stay in use: ${problem}`)
      lastProblem = problem
    }
  }
}

async function parse(source: KeyRingSource, text: string): Promise<Loaded> {
  const parsed = await parseKeyRing(text)
  if (!parsed.ok) throw damaged(source, parsed.failure)
  const ring = parsed.value
  const keys = await importKeys(ring).catch(() => {
    throw damaged(source, 'has an invalid key')
  })
  return { text, ring, keys }
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

function damaged({ name, hints }: KeyRingSource, what: string): ServiceError {
  return new ServiceError('config_invalid', `the ${name} ${what}`, { hint: hints.damaged })
}

function absent({ name, hints }: KeyRingSource): ServiceError {
  return new ServiceError('storage_failed', `there is no ${name}`, { hint: hints.absent })
}
