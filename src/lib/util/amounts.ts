import { parseRfc3339 } from './time.ts'

/** `1 account`, `2 accounts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

const units = ['kB', 'MB', 'GB', 'TB', 'PB']

/** `512 B`, `1.4 kB`, `300 MB`: decimal units. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  let value = bytes
  let unit = 'B'
  for (const next of units) {
    value /= 1000
    unit = next
    if (value < 999.5) break
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** `45 s`, `3 h 12 min`, rounded down; `90 days`, rounded to the nearest. */
export function durationText(durationMs: number): string {
  const ms = Math.max(0, durationMs)
  if (ms < minute) return `${Math.floor(ms / second)} s`
  if (ms < hour) return `${Math.floor(ms / minute)} min`
  if (ms >= day) return counted(Math.round(ms / day), 'day')
  const minutes = Math.floor((ms % hour) / minute)
  return `${Math.floor(ms / hour)} h${minutes === 0 ? '' : ` ${minutes} min`}`
}

/**
 * `expires in 3 h 12 min`, `expired 2 days ago`; `what` replaces "expire", for example by "end".
 */
export function expiryText(expiresAtMs: number, nowMs: number, what = 'expire'): string {
  const past = what.endsWith('e') ? `${what}d` : `${what}ed`
  return expiresAtMs > nowMs
    ? `${what}s in ${durationText(expiresAtMs - nowMs)}`
    : `${past} ${durationText(nowMs - expiresAtMs)} ago`
}

/** `3 min ago`; empty for a missing or invalid time (RFC 3339). */
export function ageText(time: string | null, nowMs = Date.now()): string {
  const timeMs = time === null ? null : parseRfc3339(time)
  if (timeMs === null) return ''
  return nowMs - timeMs < 1000 ? 'now' : `${durationText(nowMs - timeMs)} ago`
}
