import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isLoopback } from '../util/address.ts'

/** Is it this machine that `host`, an address or a name, leads to? Never rejects. */
export async function isOwnHost(host: string): Promise<boolean> {
  if (isLoopback(host)) return true
  const own = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  const isOwn = (wanted: string): boolean =>
    isLoopback(wanted) || own.some(({ address }) => address === wanted)
  if (isIP(host) !== 0) return isOwn(host)
  const found = await lookup(host, { all: true }).catch(() => [])
  return found.length > 0 && found.every(({ address }) => isOwn(address))
}
