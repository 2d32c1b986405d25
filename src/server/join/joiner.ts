import { ADDRCONFIG } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isLoopback, withoutBrackets } from '../../lib/util/net.ts'
import { GatewayLink, type JoinFacts, type LinkParts } from './gateway-link.ts'

/** Which gateways an instance joins, and how. */
export interface JoinSettings extends Pick<LinkParts, 'token' | 'visibleTo'> {
  /** Their addresses, http or https, without a slash at the end; http only on this machine. */
  gateways: string[]
}

interface JoinerParts extends JoinSettings, LinkParts {
  /** Returns the addresses of a host name. Default: as the system resolves it. */
  addressesOf?: (hostname: string) => Promise<string[]>
}

/**
 * Keeps an instance joined to its gateways, by one link to each address of their names. A name is
 * resolved at the start and whenever a link is lost.
 */
export class Joiner {
  readonly #parts: JoinerParts
  readonly #stopping = new AbortController()
  /** By gateway and address. */
  readonly #links = new Map<string, GatewayLink>()

  constructor(parts: JoinerParts) {
    this.#parts = parts
    for (const gateway of parts.gateways) void this.#openMissing(gateway, null)
  }

  /** One for each link. */
  get facts(): JoinFacts[] {
    return Array.from(this.#links.values(), ({ facts }) => facts)
  }

  /** Closes the links, and resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(Array.from(this.#links.values(), ({ ended }) => ended))
  }

  /**
   * Resolves the name, and opens a link to each address that has none. Returns whether the name has
   * the `known` address; null stands for the name itself.
   */
  async #openMissing(gateway: string, known: string | null): Promise<boolean> {
    const addresses = await this.#resolve(gateway, known)
    if (this.#stopping.signal.aborted) return false
    for (const address of addresses) this.#open(gateway, address)
    return addresses.includes(known)
  }

  async #resolve(gateway: string, known: string | null): Promise<(string | null)[]> {
    const { addressesOf = systemAddressesOf } = this.#parts
    const { hostname } = new URL(gateway)
    if (isLoopback(hostname)) return [null]
    // A name that this machine cannot resolve may be one that its proxy resolves.
    return addressesOf(withoutBrackets(hostname)).catch(() => [known])
  }

  #open(gateway: string, address: string | null): void {
    const id = `${gateway} ${address}`
    if (this.#links.has(id)) return
    const isWanted = () => this.#openMissing(gateway, address)
    const { signal } = this.#stopping
    const link = new GatewayLink({ ...this.#parts, gateway, address, isWanted, signal })
    this.#links.set(id, link)
    void link.ended.then(() => this.#links.delete(id))
  }
}

async function systemAddressesOf(hostname: string): Promise<string[]> {
  const found = await lookup(hostname, { all: true, hints: ADDRCONFIG })
  return found.map(({ address }) => address)
}
