import { ADDRCONFIG } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { RequestListener } from 'node:http'
import { joinCloseCodes, type Visibility } from '../../lib/instances/join-wire.ts'
import type { InstanceRecord } from '../../lib/instances/record.ts'
import { onAbort } from '../../lib/util/abort.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { isLoopback, withoutBrackets } from '../../lib/util/net.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { pause, retryDelay, systemTimer } from '../../lib/util/time.ts'
import { connectLink } from './connect-link.ts'
import type { LinkEnd } from './link.ts'
import { serveOnLink } from './link-server.ts'

/** Which gateways an instance joins, and how. */
export interface JoinSettings {
  /** Their addresses, http or https, without a slash at the end; http only on this machine. */
  gateways: string[]
  /** Reads the token, before each attempt. Rejects with a `ServiceError`. */
  token: () => Promise<Secret>
  visibleTo: Visibility
}

interface JoinerParts extends JoinSettings {
  /** The instance record, and its changes. */
  record: { readonly record: InstanceRecord; follow(changed: () => void): () => void }
  /** What the instance serves. */
  listener: RequestListener
  log: Logger
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

  /** For `/readyz`: one for each link. */
  get facts() {
    return Array.from(this.#links.values(), ({ state }) => ({ state }))
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

interface GatewayLinkParts extends JoinerParts {
  /** The address of the gateway, http or https, without a slash at the end. */
  gateway: string
  /** One of the addresses of its name; null: whatever the name has at each attempt. */
  address: string | null
  /** Asked before each further attempt; false ends the attempts. */
  isWanted: () => Promise<boolean>
  /** Aborted when the instance stops. */
  signal: AbortSignal
}

/** Pause after a refusal: an operator may have made a new token meanwhile. */
const refusedRetryMs = 60_000
/** Pauses grow to 2 s, less than a gateway waits for its instances after a restart. */
const maxDoublings = 3

/** Keeps a link to one address of a gateway, and logs when it is lost or back. */
class GatewayLink {
  /** Resolves when the link has ended and is not wanted any more. */
  readonly ended: Promise<void>
  state: 'connecting' | 'joined' | 'lost' | 'refused' = 'connecting'
  readonly #parts: GatewayLinkParts

  constructor(parts: GatewayLinkParts) {
    this.#parts = parts
    this.ended = this.#run()
  }

  async #run(): Promise<void> {
    const { signal, isWanted } = this.#parts
    let loggedReason = ''
    for (let attempt = 0; !signal.aborted; attempt++) {
      const { code, reason } = await this.#connect()
      // Replaced: another link of this instance leads to the same gateway.
      if (signal.aborted || code === joinCloseCodes.replaced) return
      const wasJoined = this.state === 'joined'
      if (wasJoined) attempt = 0
      const isRefused = code === 'refused'
      if (wasJoined || reason !== loggedReason) {
        const what = wasJoined ? 'the link to the gateway is lost' : 'the gateway cannot be joined'
        const next = isRefused ? `trying again every ${refusedRetryMs / 1000} s` : 'trying again'
        this.#log(isRefused ? 'error' : 'warn', { reason }, `${what}; ${next}`)
        loggedReason = reason
      }
      this.state = isRefused ? 'refused' : 'lost'
      const retryMs = retryDelay(Math.min(attempt, maxDoublings), Math.random)
      const delayMs = isRefused ? refusedRetryMs : retryMs
      await pause(systemTimer, delayMs, signal)
      if (!signal.aborted && !(await isWanted())) return
    }
  }

  /** Opens the link, and resolves when it has ended. Never rejects. */
  async #connect(): Promise<LinkEnd | { code: 'failed' | 'refused'; reason: string }> {
    const { record, listener, signal } = this.#parts
    const received = (text: string) => this.#accepted(text)
    const instanceId = record.record.instance_id
    try {
      const token = await this.#parts.token()
      const link = await connectLink({ ...this.#parts, token, instanceId, received })
      serveOnLink(link, listener)
      let sent = ''
      const sendRecord = (): void => {
        const text = this.#recordText()
        if (text !== sent) link.sendText(text)
        sent = text
      }
      sendRecord()
      const unfollow = record.follow(sendRecord)
      const stop = () => link.close(joinCloseCodes.stopped, 'the instance stops')
      const release = onAbort(signal, stop)
      const end = await link.ended
      release()
      unfollow()
      return end
    } catch (error) {
      const isTemporary = error instanceof ServiceError && error.code === 'network_failed'
      return { code: isTemporary ? 'failed' : 'refused', reason: messageOf(error) }
    }
  }

  #recordText(): string {
    const { record, visibleTo } = this.#parts
    // For programs of the same machine, such as the token for applications.
    const hidden = ['host_url', 'host_token_file', 'pid_start', 'gateways']
    const shown = Object.entries(record.record).filter(([name]) => !hidden.includes(name))
    return JSON.stringify({ ...Object.fromEntries(shown), visible_to: visibleTo })
  }

  /** `text`: a `JoinAccepted`. */
  #accepted(text: string): void {
    this.state = 'joined'
    const message = parseJson(text, 4)
    const { owner, team, name } = message.ok && isJsonObject(message.value) ? message.value : {}
    // The log redacts a member with the name `token`.
    this.#log('info', { owner, team, token_name: name }, 'joined the gateway')
  }

  #log(level: 'info' | 'warn' | 'error', facts: object, message: string): void {
    const { gateway, address, log } = this.#parts
    log[level]({ gateway, address: address ?? undefined, ...facts }, message)
  }
}
