import { usage } from '../../lib/util/errors.ts'

/** Throws `usage_invalid`: a client reads stdout, and takes every line for a message. */
export function refuseJson(json: boolean, what: string): void {
  if (!json) return
  throw usage(`--json cannot be used with ${what}: stdout carries the messages of the protocol`)
}
