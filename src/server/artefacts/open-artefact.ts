import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { noFollow, noWait } from '../../lib/util/posix.ts'
import type { ArtefactRef, ArtefactStore, OpenArtefact } from './store.ts'
import { Slots } from './concurrency.ts'

/** A multiple of 3, so that pieces turn into base64 without remainder. */
const pieceBytes = 384 * 1024
/**
 * Pieces are read into the same few buffers again: fresh ones would pile up until the collector
 * runs. Three: the one being read, the one that `verified` holds back, the one with the consumer.
 */
const ringPieces = 3
/** The body's file, or null when there is none. Throws ELOOP for a symlink. */
export async function openBody(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}

export function corrupt(ref: ArtefactRef): ServiceError {
  const hint = 'store the artefact again; the damaged file was moved aside'
  return new ServiceError('artefact_corrupt', `${ref.uri} is damaged`, { hint })
}

interface BodyEvents {
  /** Runs before `artefact_corrupt` is thrown. */
  onDamage(inode: number): Promise<void>
  /** Runs once for each body that was hashed to its end. */
  onHash(): void
}

/**
 * Reads from an opened body, after a check of its size; with `isDisputed` also of its hash.
 * Throws `artefact_corrupt`. Closes the body when it throws.
 */
export async function openChecked(
  body: FileHandle,
  ref: ArtefactRef,
  isDisputed: boolean,
  events: BodyEvents,
): Promise<OpenArtefact> {
  try {
    const stats = await body.stat({ bigint: true })
    const onDamage = () => events.onDamage(Number(stats.ino))
    if (!stats.isFile() || Number(stats.size) !== ref.size_bytes) {
      await onDamage()
      throw corrupt(ref)
    }
    const state = `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
    const artefact = createOpenArtefact(body, { ref, state }, { ...events, onDamage })
    if (isDisputed) for await (const _ of artefact.verified());
    return artefact
  } catch (error) {
    await body.close()
    throw error
  }
}

function createOpenArtefact(
  file: FileHandle,
  { ref, state }: Pick<OpenArtefact, 'ref' | 'state'>,
  events: { onDamage(): Promise<void>; onHash(): void },
): OpenArtefact {
  let closing: Promise<void> | undefined

  async function* range(start: number, end: number): AsyncGenerator<Uint8Array> {
    const stop = Math.min(end, ref.size_bytes)
    const ring: Buffer[] = []
    for (let at = Math.max(0, start), turn = 0; at < stop; turn = (turn + 1) % ringPieces) {
      const whole = (ring[turn] ??= Buffer.allocUnsafeSlow(Math.min(pieceBytes, stop - at)))
      const piece = whole.subarray(0, Math.min(whole.length, stop - at))
      const length = await fill(file, piece, at)
      if (length === 0) return
      yield length === piece.length ? piece : piece.subarray(0, length)
      at += length
    }
  }

  /** One piece behind: the last one is handed out only after the hash was found right. */
  async function* verified(): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256')
    let held: Uint8Array | undefined
    for await (const piece of range(0, ref.size_bytes)) {
      hash.update(piece)
      if (held !== undefined) yield held
      held = piece
    }
    events.onHash()
    if (`sha256:${hash.digest('hex')}` !== ref.digest) {
      await events.onDamage()
      throw corrupt(ref)
    }
    if (held !== undefined) yield held
  }

  return {
    ref,
    state,
    fill: (target, position) => fill(file, target, position),
    range,
    verified,
    close: () => (closing ??= file.close()),
  }
}

/** Reads until the piece is full or the file ends; returns how much there was. */
async function fill(file: FileHandle, piece: Uint8Array, position: number): Promise<number> {
  let length = 0
  while (length < piece.length) {
    const { bytesRead } = await file.read(piece, length, piece.length - length, position + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return length
}

/**
 * Bodies that are sent to clients at once. Each holds a descriptor and, with its pieces on their
 * way, up to 2.6 MB: clients which do not read cost some 330 MB at most.
 */
const maxSending = 128
/**
 * While other clients wait, a reader is cut that takes less than one piece (384 KiB) in this time:
 * even a slow line of 1 Mbit/s takes that much.
 */
const slowReaderMs = 5000
/** Longer than `slowReaderMs`, so that a client waits for slow readers to be cut. */
const maxWaitMs = 10_000
const checkEveryMs = 250

interface Sending {
  progressMs: number
  /** Ends the client's connection. */
  readonly cut: () => void
}

/** `open` for bodies on their way to clients: see `ArtefactStore.openToSend`. */
export function createOpenToSend(
  open: ArtefactStore['open'],
  times: { slowReaderMs: number; maxWaitMs: number } = { slowReaderMs, maxWaitMs },
): ArtefactStore['openToSend'] {
  const slots = new Slots(maxSending)
  const sendings = new Set<Sending>()

  async function acquire(): Promise<void> {
    if (slots.tryAcquire()) return
    const timer = setInterval(cutSlowest, checkEveryMs)
    cutSlowest()
    const isAcquired = await slots.acquireWithin(times.maxWaitMs)
    clearInterval(timer)
    if (isAcquired) return
    const message = 'the server is sending too many artefacts; try again in a second'
    throw new ServiceError('overloaded', message)
  }

  function cutSlowest(): void {
    const slowest = [...sendings].toSorted((a, b) => a.progressMs - b.progressMs)[0]
    if (slowest === undefined || performance.now() - slowest.progressMs < times.slowReaderMs) return
    sendings.delete(slowest)
    slowest.cut()
  }

  return async (hex, cut) => {
    await acquire()
    const artefact = await open(hex).catch(error => {
      slots.release()
      throw error
    })
    if (artefact === null) {
      slots.release()
      return null
    }
    const sending = { progressMs: performance.now(), cut }
    sendings.add(sending)
    const progress = () => {
      sending.progressMs = performance.now()
    }
    async function* noting(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const piece of pieces) {
        yield piece
        progress()
      }
    }
    let closing: Promise<void> | undefined
    return {
      ...artefact,
      fill(target, position) {
        progress()
        return artefact.fill(target, position)
      },
      range: (start, end) => noting(artefact.range(start, end)),
      verified: () => noting(artefact.verified()),
      close: () =>
        (closing ??= artefact.close().finally(() => {
          sendings.delete(sending)
          slots.release()
        })),
    }
  }
}
