import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '../test/clients/serve.ts'
import { Server } from './server.ts'

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Those of `bench/servers` that are measured beside ours. */
const comparisonServers = ['bare-http', 'bare-prepared', 'plain-hono', 'sdk'] as const

interface Start {
  /** In the tables. */
  readonly name?: string
  readonly program?: string
  /** Home, working directory and state directory. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>> | undefined
}

/** One run: its folder, its builds, its processes. */
export class Bench {
  /** `bin/run.js` of this build. */
  readonly program = fileOf('../bin/run.js')
  /** Name in the tables, and `bin/run.js`, of each build to measure. */
  readonly builds: readonly (readonly [name: string, program: string])[]
  readonly #quick: boolean
  readonly #root = mkdtempSync(join(tmpdir(), 'service-cli-bench-'))
  readonly #running: Server[] = []

  /** `against`: `bin/run.js` of another build. */
  constructor({ quick, against }: { quick: boolean; against: string | undefined }) {
    this.#quick = quick
    const own = ['serve', this.program] as const
    this.builds = against === undefined ? [own] : [own, ['serve (against)', resolve(against)]]
  }

  /** A new folder, removed at the end. */
  folder(): string {
    return mkdtempSync(join(this.#root, 'row-'))
  }

  /** The full run's number, or the quick run's. */
  pick(full: number, quick: number): number {
    return this.#quick ? quick : full
  }

  /** A command of ours that listens. */
  startOurs(command: string, flags: readonly string[] = [], start: Start = {}): Promise<Server> {
    const args = [command, ...flags, '--port', '0', '--json']
    return this.#start([start.program ?? this.program, ...args], { name: command, ...start })
  }

  startBuild([name, built]: readonly [name: string, program: string]): Promise<Server> {
    return this.startOurs('serve', [], { name, program: built })
  }

  startOther(name: (typeof comparisonServers)[number], env?: Start['env']): Promise<Server> {
    return this.#start([fileOf(`servers/${name}.ts`)], { name, env })
  }

  async startOthers(env?: Start['env']): Promise<Server[]> {
    const servers: Server[] = []
    for (const name of comparisonServers) servers.push(await this.startOther(name, env))
    return servers
  }

  /** The comparison servers and each build. */
  async startAll(): Promise<Server[]> {
    const servers = await this.startOthers()
    for (const build of this.builds) servers.push(await this.startBuild(build))
    return servers
  }

  /** Ends what runs, so that the next row starts from nothing. */
  async stopAll(): Promise<void> {
    for (const server of this.#running.splice(0)) {
      await server.stop()
      rmSync(server.folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }

  /** For the way out; the processes end when this one does. */
  cleanUp(): void {
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 })
  }

  #start(
    argv: readonly string[],
    { name = '', folder = this.folder(), env }: Start,
  ): Promise<Server> {
    const own = { ...cleanEnvironment(folder), SERVICE_REGISTRY_DIR: folder, ...env }
    const server = new Server(name, argv, { folder, env: own })
    this.#running.push(server)
    return server.listening()
  }
}
