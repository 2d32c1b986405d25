import { usage } from '../../lib/util/errors.ts'

/** Throws `usage_invalid` for --json: the client reads every line of stdout as a message. */
export function refuseJson(json: boolean, what: string): void {
  if (!json) return
  throw usage(`--json cannot be used with ${what}: stdout carries protocol messages`)
}
