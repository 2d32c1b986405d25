import type { X509Certificate } from 'node:crypto'
import { type Clock, toRfc3339 } from '../../lib/util/clock.ts'

/** From when to when clients take a certificate, in RFC 3339; null where it does not say. */
export function validityOf({
  validFromDate,
  validToDate,
}: Pick<X509Certificate, 'validFromDate' | 'validToDate'>): {
  readonly from: string | null
  readonly until: string | null
} {
  return { from: textOf(validFromDate), until: textOf(validToDate) }
}

export function isPast(time: string, clock: Clock): boolean {
  return Date.parse(time) <= clock.now()
}

/** Whoever made it may have written anything. */
function textOf(date: Date): string | null {
  return Number.isNaN(date.getTime()) ? null : toRfc3339(date.getTime())
}
