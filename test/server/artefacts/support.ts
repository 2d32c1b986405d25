import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from '../../../src/lib/util/logger.ts'

/** Runs `use` with a folder of its own and removes it afterwards. */
export async function withFolder<Value>(use: (path: string) => Promise<Value>): Promise<Value> {
  const path = await mkdtemp(join(tmpdir(), 'artefacts-'))
  try {
    return await use(path)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces, piece => new Uint8Array(piece)))
}

/** Random bytes whose hash starts with `start`: so that several artefacts share a shard. */
export function bytesHashedTo(start: string, length = 32): Buffer {
  for (let round = 0; round < 100_000; round++) {
    const bytes = randomBytes(length)
    if (sha256(bytes).startsWith(start)) return bytes
  }
  throw new Error(`no bytes found that hash to ${start}`)
}

export function settableClock(start = Date.parse('2030-01-01T00:00:00Z')) {
  let time = start
  return { now: () => time, advance: (ms: number) => void (time += ms) }
}

export function recordingLog(): Logger & { readonly lines: { level: string; text: string }[] } {
  const lines: { level: string; text: string }[] = []
  const write = (level: string) => (fields: object, message?: string) =>
    void lines.push({ level, text: `${message ?? ''} ${JSON.stringify(fields)}` })
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
}
