import {
  HostClient,
  type HostClientOptions,
  type HostClientServices,
  type HostStatus,
} from '../../../src/host-client.ts'
import { type Peer, type Script, ScriptedServer, within } from './scripted-server.ts'

export const token = 'the-token-of-this-run'

export interface Linked {
  readonly server: ScriptedServer
  readonly host: HostClient
  readonly peer: Peer
}

/** Clients and servers of one test; `end` takes them away. */
export class Bench {
  readonly statuses: HostStatus[] = []
  readonly #hosts: HostClient[] = []
  readonly #servers: ScriptedServer[] = []

  async serve(script: Script = {}): Promise<ScriptedServer> {
    const server = await ScriptedServer.start(script)
    this.#servers.push(server)
    return server
  }

  client(
    url: string,
    options: Partial<HostClientOptions> = {},
    services: HostClientServices = {},
  ): HostClient {
    const all: HostClientOptions = {
      url,
      token,
      app: { dccType: 'blender', mode: 'gui', version: '4.2', pid: 4711 },
      onStatus: status => void this.statuses.push(status),
      ...options,
      limits: { stopGraceMs: 100, resendMs: 10, ...options.limits },
    }
    const host = new HostClient(all, services)
    this.#hosts.push(host)
    return host
  }

  keep(host: HostClient): HostClient {
    this.#hosts.push(host)
    return host
  }

  async linked(
    script: Script = {},
    options: Partial<HostClientOptions> = {},
    services: HostClientServices = {},
  ): Promise<Linked> {
    const server = await this.serve(script)
    const host = this.client(server.url, options, services)
    host.start()
    await within(host.connected(), 'the connection')
    return { server, host, peer: await server.peer() }
  }

  async end(): Promise<void> {
    await Promise.all(this.#hosts.splice(0).map(host => host.stop()))
    await Promise.all(this.#servers.splice(0).map(server => server.kill()))
  }
}

/** The error of a promise that must reject. */
export async function errorOf(promise: Promise<unknown>): Promise<any> {
  const answer = promise.then(
    value => {
      throw new Error(`resolved with ${JSON.stringify(value)}`)
    },
    error => error,
  )
  return within(answer, 'the rejection')
}
