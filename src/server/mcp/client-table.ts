import type { JsonObject } from '../../lib/util/json.ts'
import { claimOf, metaKeys } from '../../lib/mcp/request-metadata.ts'
import { Throttle } from '../../lib/mcp/throttle.ts'
import { type Clock, repeat, type Timer } from '../../lib/util/time.ts'
import type { ClientsSource } from '../resources/clients.ts'
import { Client, type Identity, namesIn } from './client.ts'

/** Stateless clients choose their names: one that takes a new one per request must not fill memory. */
const maxStatelessClients = 100
/** A person reads the list; a server may have thousands of sessions. */
const maxShown = 100
/** A stateless client never says that it leaves. */
const statelessIdleMs = 10 * 60_000
const sweepMs = 60_000
/** A subscriber reads the list at each push. */
const pushIntervalMs = 1000

interface TableParts {
  readonly clock: Clock
  readonly timer: Timer
}

/**
 * The clients of a server: one per session, and of the stateless transport one per name, version
 * and principal.
 */
export class ClientTable implements ClientsSource {
  readonly #clock: Clock
  readonly #sessions = new Set<Client>()
  /** Looked through at each request: so few cost less than the text of a key. */
  readonly #stateless = new Set<Client>()
  readonly #pushes: Throttle
  readonly #stopSweeps: () => void
  #told = (): void => {}
  #version = 0

  constructor({ clock, timer }: TableParts) {
    this.#clock = clock
    const run = async () => this.#told()
    this.#pushes = new Throttle({ timer, minIntervalMs: pushIntervalMs, run })
    this.#stopSweeps = repeat(timer, sweepMs, async () => this.#sweep())
  }

  get version(): number {
    return this.#version
  }

  /** The client of a new session, until it is `gone`. */
  ofSession(identity: Omit<Identity, 'transport'>): Client {
    const client = this.#create({ ...identity, transport: 'session' })
    this.#sessions.add(client)
    return client
  }

  /** The client of a request that has no session, by its metadata. */
  ofRequest(params: JsonObject, principal: string): Client {
    const meta = claimOf(params) ?? {}
    const info = meta[metaKeys.clientInfo]
    let client = this.#find(info, principal)
    if (client === null) {
      if (this.#stateless.size >= maxStatelessClients) this.#makeRoom()
      const protocolVersion = String(meta[metaKeys.protocolVersion])
      client = this.#create({ transport: 'stateless', protocolVersion, principal, info })
      this.#stateless.add(client)
    }
    client.requestMs = this.#clock.now()
    return client
  }

  page(): object {
    const all = [...this.#sessions, ...this.#stateless]
    const newest = all.toSorted((a, b) => b.lastSeenMs - a.lastSeenMs).slice(0, maxShown)
    return { clients: newest.map(client => client.row()), total: all.length }
  }

  onChange(told: () => void): void {
    this.#told = told
  }

  close(): void {
    this.#stopSweeps()
    this.#pushes.stop()
  }

  #find(info: unknown, principal: string): Client | null {
    const { name, version } = namesIn(info)
    for (const client of this.#stateless) if (client.is(name, version, principal)) return client
    return null
  }

  #create(identity: Identity): Client {
    const client = new Client(identity, {
      clock: this.#clock,
      changed: isPushed => this.#changed(isPushed),
      gone: () => {
        if (this.#sessions.delete(client)) this.#changed()
      },
    })
    this.#changed()
    return client
  }

  #changed(isPushed = true): void {
    this.#version++
    if (isPushed) this.#pushes.poke()
  }

  /** The one without a stream that asked longest ago leaves; with a stream only when all have one. */
  #makeRoom(): void {
    let first: Client | null = null
    for (const client of this.#stateless) {
      if (first === null || leavesBefore(client, first)) first = client
    }
    if (first !== null) this.#stateless.delete(first)
  }

  #sweep(): void {
    const beforeMs = this.#clock.now() - statelessIdleMs
    for (const client of this.#stateless) {
      if (client.streams > 0 || client.requestMs > beforeMs) continue
      this.#stateless.delete(client)
      this.#changed()
    }
  }
}

function leavesBefore(a: Client, b: Client): boolean {
  const [aHas, bHas] = [a.streams > 0, b.streams > 0]
  return aHas === bHas ? a.requestMs < b.requestMs : bHas
}
