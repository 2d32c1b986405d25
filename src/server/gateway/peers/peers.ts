import { HttpLink } from '../../../lib/mcp/bridge/http-link.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { Secret } from '../../../lib/util/secret.ts'
import { repeat, type Timer } from '../../../lib/util/time.ts'
import { userAgent } from '../../../lib/util/version.ts'
import type { LinkClient } from '../join/link-client.ts'
import type { GatewayRow } from '../postgres/joined-table.ts'
import { ReadLink } from '../relay/read-link.ts'
import { unreachable } from '../relay/relay-errors.ts'
import { PeerClient } from './peer-client.ts'
import { peerPath } from './peer-endpoint.ts'

const connectMs = 5000
/** How long a probe waits. */
const answerMs = 5000
/** Failed probes in a row, after which open requests to the gateway are cancelled. */
const maxFailures = 2

interface PeersParts {
  readonly limits: { readonly peerProbeMs: number }
  readonly timer: Timer
  readonly log: Logger
}

interface Peer {
  readonly row: GatewayRow
  readonly link: HttpLink
  readonly reads: ReadLink
  failures: number
  /** Why the last probe failed. */
  reason: string | null
}

/** The other gateways of the database. Each is asked with its own secret, at its own address. */
export class Peers {
  readonly #parts: PeersParts
  readonly #peers = new Map<string, Peer>()
  readonly #recovered = new Set<(gateway: string) => void>()
  readonly #stop: () => void

  constructor(parts: PeersParts) {
    this.#parts = parts
    this.#stop = repeat(parts.timer, parts.limits.peerProbeMs, async () => {
      await Promise.all([...this.#peers.values()].map(peer => this.#probe(peer)))
    })
  }

  /** Takes over the gateways that the database lists now. */
  update(rows: GatewayRow[]): void {
    for (const { row, link, reads } of this.#peers.values()) {
      if (rows.some(({ id }) => id === row.id)) continue
      this.#peers.delete(row.id)
      link.close()
      reads.close()
    }
    for (const row of rows) {
      if (this.#peers.has(row.id)) continue
      const key = new Secret(row.secret)
      const link = new HttpLink({
        limits: { connectMs },
        key,
        env: {},
        timer: this.#parts.timer,
        userAgent,
      })
      const reads = new ReadLink({ connectMs, key })
      this.#peers.set(row.id, { row, link, reads, failures: 0, reason: null })
    }
  }

  /** Calls back when an unreachable gateway answers again. Returns the unsubscribe. */
  onRecovered(listener: (gateway: string) => void): () => void {
    this.#recovered.add(listener)
    return () => void this.#recovered.delete(listener)
  }

  /**
   * Returns a client of an instance whose link `gateway` holds. Calls `locate` once when the link
   * has moved. Throws a `ServiceError` when the gateway cannot be reached.
   */
  clientOf(
    gateway: string,
    instanceId: string,
    locate: (() => Promise<LinkClient | PeerClient>) | null,
  ): PeerClient {
    const peer = this.#peers.get(gateway)
    if (peer === undefined) throw unreachable('its gateway is away')
    if (peer.failures >= maxFailures) throw unreachable(`through its gateway: ${peer.reason}`)
    const { row, link, reads } = peer
    return new PeerClient({ root: `${row.address}${peerPath}${instanceId}`, link, reads, locate })
  }

  close(): void {
    this.#stop()
    this.update([])
  }

  /** On a network that is cut no socket fails: streams would wait for ever. */
  async #probe(peer: Peer): Promise<void> {
    const { row, link, reads } = peer
    // Rejects also when the address in the database is no URL.
    const ask = async () =>
      link.ask({
        url: new URL(`${row.address}${peerPath}`),
        method: 'GET',
        headers: {},
        repeatable: true,
        isHeld: true,
        answerMs,
        signal: new AbortController().signal,
      })
    const reason = await ask().then(answer => {
      answer.resume()
      return answer.statusCode === 204 ? null : `it answers with HTTP ${answer.statusCode}`
    }, messageOf)
    if (this.#peers.get(row.id) !== peer) return
    const wasAway = peer.failures >= maxFailures
    peer.reason = reason
    peer.failures = reason === null ? 0 : peer.failures + 1
    const facts = { address: row.address }
    if (wasAway && reason === null) {
      this.#parts.log.info(facts, 'another gateway answers again')
      for (const listener of this.#recovered) listener(row.id)
    } else if (peer.failures === maxFailures) {
      this.#parts.log.warn({ ...facts, reason }, 'another gateway cannot be reached')
      link.close()
      reads.close()
    }
  }
}
