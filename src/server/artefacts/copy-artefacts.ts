import { ServiceError } from '../../lib/util/errors.ts'
import type { Describe } from './describe.ts'
import { boundOf, laterExpiry } from './expiry.ts'
import type { ArtefactRef, ArtefactStore, OpenArtefact, PutResult } from './store.ts'

/** A store that takes artefacts with the references that they have. */
export interface CopyTarget extends Source {
  /** Stores the bytes under the reference that `describe` makes. */
  copyIn(
    source: AsyncIterable<Uint8Array>,
    known: { hex: string; size: number },
    describe: Describe,
  ): Promise<PutResult>
  totals(): Promise<{ readonly entries: number; readonly bytes: number }>
}

export interface CopyEvents {
  /** So many bytes are to be copied. */
  readonly begun: (bytes: number) => void
  /** So many bytes are copied. */
  readonly copied: (bytes: number) => void
  /** An artefact cannot be copied. */
  readonly damaged: (uri: string) => void
}

interface End<Store> {
  readonly store: Store
  /** For messages. */
  readonly name: string
  /** Of one artefact. */
  readonly maxBytes: number
}

type Source = Pick<ArtefactStore, 'find' | 'open' | 'page'>

interface CopyOptions extends CopyEvents {
  readonly from: End<Source>
  readonly to: End<CopyTarget>
  /** Those of the servers that use the target. */
  readonly limits: {
    readonly artefactTtlMs: number
    readonly maxArtefacts: number
    readonly maxArtefactTotalBytes: number
  }
}

interface Copied {
  /** At the source, and compared at the target. */
  artefacts: number
  bytes: number
  /** By this run. */
  copied: number
  damaged: number
}

const pageSize = 500
/** Each holds some parts of an upload. */
const atOnce = 4
/** Artefacts that came while others were copied are copied by the next round. */
const maxRounds = 3

/**
 * Copies every artefact with its metadata and times, then reads every copy and compares it. What is
 * at the target is not copied again. Nothing is removed anywhere. Throws `storage_full`, before
 * anything is copied, when the target would remove artefacts.
 */
export async function copyArtefacts(options: CopyOptions): Promise<Copied> {
  let total = await checkSpace(options)
  const result: Copied = { artefacts: 0, bytes: 0, copied: 0, damaged: 0 }
  for (let round = 1; ; round++) {
    await copyMissing(options, result, total)
    const { artefacts, bytes, missing } = await compare(options)
    if (missing === 0) return { ...result, artefacts, bytes }
    if (round === maxRounds) throw stillMissing(missing, options)
    total = 0
  }
}

function stillMissing(count: number, { from, to }: CopyOptions): ServiceError {
  const message = `${to.name} lacks ${count} of the artefacts of ${from.name}: servers add or remove some all the time`
  const hint = 'stop the servers that use either, and run the command again'
  return new ServiceError('storage_failed', message, { hint })
}

/** Returns how many bytes are to be copied. */
async function checkSpace({ from, to, limits }: CopyOptions): Promise<number> {
  const totals = await to.store.totals()
  const sum = { entries: totals.entries, bytes: totals.bytes, missing: 0 }
  await forAll(from.store, async ref => {
    if (ref.size_bytes > to.maxBytes) {
      const message = `${ref.uri} has ${ref.size_bytes} bytes; ${to.name} takes ${to.maxBytes} at most`
      throw new ServiceError('storage_full', message, {
        hint: 'remove it first, or keep the files',
      })
    }
    if ((await to.store.find(hexOf(ref))) !== null) return
    sum.entries++
    sum.bytes += ref.size_bytes
    sum.missing += ref.size_bytes
  })
  const bounds = [
    ['maxArtefacts', sum.entries, boundOf(limits.maxArtefacts)],
    ['maxArtefactTotalBytes', sum.bytes, boundOf(limits.maxArtefactTotalBytes)],
  ] as const
  for (const [name, needed, bound] of bounds) {
    if (needed <= bound) continue
    const message = `${to.name} would have ${needed}, more than ${name}=${bound}: the oldest would go`
    throw new ServiceError('storage_full', message, {
      hint: `add --limit ${name}=${needed}, and start the servers with it, too`,
    })
  }
  return sum.missing
}

async function copyMissing(options: CopyOptions, result: Copied, total: number): Promise<void> {
  let done = 0
  options.begun(total)
  await forAll(options.from.store, async ref => {
    if (await isCopied(options, ref)) return
    const outcome = await copyOne(options, ref)
    if (outcome === 'damaged') result.damaged++
    if (outcome === 'copied') result.copied++
    options.copied((done += ref.size_bytes))
  })
}

async function copyOne(
  { from, to, limits, damaged }: CopyOptions,
  ref: ArtefactRef,
): Promise<'copied' | 'damaged' | 'gone'> {
  try {
    await using source = await opened(from.store, ref)
    if (source === null) return 'gone'
    const known = { hex: hexOf(ref), size: source.ref.size_bytes }
    const describe: Describe = ({ previous }) => merged(source.ref, previous, limits.artefactTtlMs)
    await to.store.copyIn(source.verified(), known, describe)
    return 'copied'
  } catch (error) {
    if (!isDamage(error)) throw error
    damaged(ref.uri)
    return 'damaged'
  }
}

async function isCopied({ to, limits }: CopyOptions, ref: ArtefactRef): Promise<boolean> {
  const there = await to.store.find(hexOf(ref))
  if (there === null) return false
  return JSON.stringify(there) === JSON.stringify(merged(ref, there, limits.artefactTtlMs))
}

/** Reads every copy. A damaged one is removed by its store, and is missing then. */
async function compare(options: CopyOptions) {
  const { from, to } = options
  const found = { artefacts: 0, bytes: 0, missing: 0 }
  await forAll(from.store, async ref => {
    if ((await isCopied(options, ref)) && (await isWhole(to.store, ref))) {
      found.artefacts++
      found.bytes += ref.size_bytes
    } else if ((await from.store.find(hexOf(ref))) !== null) found.missing++
  })
  return found
}

async function isWhole(store: Pick<Source, 'open'>, ref: ArtefactRef): Promise<boolean> {
  try {
    await using artefact = await opened(store, ref)
    if (artefact === null) return false
    for await (const _ of artefact.verified());
    return true
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}

async function opened(
  store: Pick<Source, 'open'>,
  ref: ArtefactRef,
): Promise<(OpenArtefact & AsyncDisposable) | null> {
  const artefact = await store.open(hexOf(ref))
  return artefact && { ...artefact, [Symbol.asyncDispose]: () => artefact.close() }
}

/** Returns the newest metadata and the later expiry of bytes that are at both ends. */
function merged(ref: ArtefactRef, there: ArtefactRef | null, ttlMs: number): ArtefactRef {
  if (there === null) return ref
  const isOlder = Date.parse(there.created_at) < Date.parse(ref.created_at)
  const [newest, other] = isOlder ? [ref, there] : [there, ref]
  return { ...newest, expires_at: laterExpiry(other, newest, ttlMs) }
}

/** Some at once. Rejects with the first failure, when all that were begun have ended. */
async function forAll(
  store: Pick<Source, 'page'>,
  task: (ref: ArtefactRef) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  let failure: unknown = null
  for await (const ref of allOf(store)) {
    const one = task(ref)
      .catch(error => void (failure ??= error))
      .finally(() => running.delete(one))
    running.add(one)
    if (running.size >= atOnce) await Promise.race(running)
    if (failure !== null) break
  }
  await Promise.all(running)
  if (failure !== null) throw failure
}

async function* allOf(store: Pick<Source, 'page'>): AsyncGenerator<ArtefactRef> {
  for (let after: string | undefined; ;) {
    const { refs, next } = await store.page(after, pageSize)
    yield* refs
    if (next === undefined) return
    after = next
  }
}

function hexOf({ digest }: ArtefactRef): string {
  return digest.slice('sha256:'.length)
}

function isDamage(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'artefact_corrupt'
}
