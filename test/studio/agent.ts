import { setTimeout as delay } from 'node:timers/promises'
import * as v2 from '@modelcontextprotocol/client'
import type { Listening, Sdk, StatelessClient } from '../clients/client-face.ts'

const { Client, StreamableHTTPClientTransport } = v2 as unknown as Sdk

export type AgentKind = 'session' | 'stateless'

const pingMs = 500
const retryMs = 200
const rereadMs = 1000

/**
 * An MCP client of the official SDK that follows resources: it reads each after every update, and
 * opens a new connection when a call or its stream fails.
 */
export class Agent {
  /** What it read last. */
  readonly values = new Map<string, unknown>()
  /** What it saw, without repetitions in a row. */
  readonly seen: string[] = []
  readonly #url: URL
  readonly #key: string
  readonly #kind: AgentKind
  readonly #uris: readonly string[]
  readonly #closing = new AbortController()
  readonly #running: Promise<void>

  constructor(url: string, key: string, kind: AgentKind, uris: readonly string[]) {
    this.#url = new URL(url)
    this.#key = key
    this.#kind = kind
    this.#uris = uris
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  #see(what: string): void {
    if (this.seen.at(-1) !== what) this.seen.push(what)
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#connection()
      } catch (error) {
        this.#see(`connection: ${reasonOf(error)}`)
      }
      await delay(retryMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Rejects when the connection is lost. */
  async #connection(): Promise<void> {
    const { signal } = this.#closing
    const headers = { Authorization: `Bearer ${this.#key}` }
    const transport = new StreamableHTTPClientTransport(this.#url, { requestInit: { headers } })
    const options = this.#kind === 'session' ? {} : { versionNegotiation: { mode: 'auto' } }
    const client = new Client({ name: `agent ${this.#kind}`, version: '1' }, options)
    // Of this connection: what is left of the last one must take none of them.
    const dirty = new Set(this.#uris)
    let isLost = false
    const lost = Promise.withResolvers<never>()
    lost.promise.catch(() => (isLost = true))
    Object.assign(client, { onerror: lost.reject, onclose: () => lost.reject(new Error('closed')) })
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method !== 'notifications/resources/updated') return
      this.#see('update')
      dirty.add(String(params?.uri))
    }
    const work = async (): Promise<void> => {
      await client.connect(transport)
      let listening: Listening | null = null
      if (this.#kind === 'stateless') {
        const asStateless = client as StatelessClient
        listening = await asStateless.listen({ resourceSubscriptions: [...this.#uris] })
        void listening.closed.then(how => lost.reject(new Error(`stream ended: ${how}`)))
      } else for (const uri of this.#uris) await client.subscribeResource({ uri })
      for (let round = 0; !signal.aborted && !isLost; round++) {
        for (const uri of dirty) await this.#read(client, uri, dirty)
        // Nothing else tells a session that its gateway has forgotten it.
        if (this.#kind === 'session' && round % 10 === 0) await client.ping()
        await delay(pingMs / 10)
      }
    }
    try {
      await Promise.race([work(), lost.promise])
    } finally {
      await client.close().catch(() => {})
    }
  }

  async #read(client: InstanceType<typeof Client>, uri: string, dirty: Set<string>): Promise<void> {
    dirty.delete(uri)
    try {
      const { contents } = await client.readResource({ uri })
      this.values.set(uri, JSON.parse(contents[0]?.text ?? 'null').value)
      this.#see('read')
    } catch (error) {
      const reason = (error as { data?: { reason?: string } }).data?.reason
      if (reason === undefined) throw error
      this.#see(`read: ${reason}`)
      // Its stream may be at another gateway than its reads, and have nothing more to tell.
      setTimeout(() => dirty.add(uri), rereadMs).unref()
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 100) : String(error)
}
