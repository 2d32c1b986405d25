import type { Logger } from '../../src/lib/util/logger.ts'

export interface LogLine {
  readonly level: string
  readonly text: string
}

/** A log that keeps its lines, fields included. */
export function recordingLog(): Logger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
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

export const startMs = Date.parse('2030-01-01T00:00:00Z')

/** A clock that only `advance` moves. */
export function settableClock(start = startMs) {
  let time = start
  return { now: () => time, advance: (ms: number) => void (time += ms) }
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The settings without what was not given: members that are undefined, at any depth. */
export function givenMembers<Settings extends object>(settings: Settings): Settings {
  return JSON.parse(JSON.stringify(settings)) as Settings
}
