import {
  type BridgeLimits,
  defaultBridgeLimits,
  resolveBridgeLimits,
} from '../../lib/mcp/bridge/limits.ts'
import { readLimitFlags } from '../limit-flag.ts'

/** So the bounds of the bridge are told from those of a server in the same command line. */
const prefix = 'stdio.'

export function isBridgeLimit(word: string): boolean {
  return word.startsWith(prefix)
}

/** `--limit stdio.NAME=NUMBER`, as often as given. Throws `usage_invalid`, naming the flag. */
export function readBridgeLimits(words: readonly string[]): BridgeLimits {
  const names = Object.keys(defaultBridgeLimits).map(name => `${prefix}${name}`)
  return resolveBridgeLimits(
    plain(readLimitFlags(words, [{ names, check: limits => resolveBridgeLimits(plain(limits)) }])),
  )
}

function plain(limits: Readonly<Record<string, number>>): Record<string, number> {
  const entries = Object.entries(limits)
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value]))
}
