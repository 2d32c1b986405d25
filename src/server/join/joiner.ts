import { ADDRCONFIG } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isLoopback, withoutBrackets } from '../../lib/util/net.ts'
import type { Gauge } from '../http/metrics.ts'
import { GatewayLink, type JoinFacts, joinStates, type LinkParts } from './gateway-link.ts'

interface JoinerParts extends LinkParts {
  readonly gateways: readonly string[]
  /** Returns the addresses of a host name. Default: as the system resolves it. */
  readonly addressesOf?: (hostname: string) => Promise<readonly string[]>
}

/**
 * Keeps an instance joined to its gateways, by one link to each address of their names. The names
 * are resolved at the start and whenever a link is lost.
 */
export class Joiner {
  readonly #parts: JoinerParts
  readonly #stopping = new AbortController()
  /** The addresses of each gateway; null: it is reached by its name. */
  readonly #addresses = new Map<string, readonly (string | null)[]>()
  /** By gateway and address. */
  readonly #links = new Map<string, GatewayLink>()

  constructor(parts: JoinerParts) {
    this.#parts = parts
    void this.#openMissing()
  }

  /** One for each link. */
  get facts(): readonly JoinFacts[] {
    return Array.from(this.#links.values(), ({ facts }) => facts)
  }

  get gauges(): readonly Gauge[] {
    const { facts } = this
    return [
      {
        name: 'service_cli_join',
        help: 'Links to the gateways that this instance joins, by state.',
        samples: joinStates.map(each => [
          `{state="${each}"}`,
          facts.filter(({ state }) => state === each).length,
        ]),
      },
    ]
  }

  /** Closes the links, and resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(Array.from(this.#links.values(), ({ ended }) => ended))
  }

  /** Resolves the names, and opens a link to each address that has none. */
  async #openMissing(): Promise<void> {
    await Promise.all(
      this.#parts.gateways.map(async gateway => {
        const addresses = await this.#resolve(gateway)
        if (this.#stopping.signal.aborted) return
        this.#addresses.set(gateway, addresses)
        for (const address of addresses) this.#open(gateway, address)
      }),
    )
  }

  async #resolve(gateway: string): Promise<readonly (string | null)[]> {
    const { addressesOf = systemAddressesOf } = this.#parts
    const { hostname } = new URL(gateway)
    if (isLoopback(hostname)) return [null]
    // A name that this machine cannot resolve may be one that its proxy resolves.
    const known = this.#addresses.get(gateway) ?? [null]
    return addressesOf(withoutBrackets(hostname)).catch(() => known)
  }

  #open(gateway: string, address: string | null): void {
    const id = `${gateway} ${address}`
    if (this.#links.has(id)) return
    const isWanted = async (): Promise<boolean> => {
      await this.#openMissing()
      return this.#addresses.get(gateway)?.includes(address) === true
    }
    const { signal } = this.#stopping
    const link = new GatewayLink({ ...this.#parts, gateway, address, isWanted, signal })
    this.#links.set(id, link)
    void link.ended.then(() => this.#links.delete(id))
  }
}

async function systemAddressesOf(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, hints: ADDRCONFIG })
  return found.map(({ address }) => address)
}
