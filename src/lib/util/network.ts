import { isIP } from 'node:net'
import { withoutBrackets } from './address.ts'

export interface Network {
  readonly address: string
  /** So many bits at its beginning are those of every address of the network. */
  readonly bits: number
}

/** `10.0.0.0/8`, or one address; null for any other text, and for the network that is everything. */
export function parseNetwork(text: string): Network | null {
  const [written = '', prefix, ...more] = text.split('/')
  const address = withoutBrackets(written)
  const version = isIP(address)
  if (version === 0 || address.includes('%') || more.length > 0) return null
  const most = version === 4 ? 32 : 128
  if (prefix === undefined) return { address, bits: most }
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : 0
  return bits > 0 && bits <= most ? { address, bits } : null
}
