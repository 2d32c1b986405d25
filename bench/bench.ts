import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Child } from './child.ts'
import { fixtureEnvironment, type Fixture, makeFixture } from './fixture.ts'
import { Server } from './server.ts'

/** Those of `bench/servers` that are measured beside ours. */
export const comparisonServers = ['bare-http', 'bare-prepared', 'plain-hono', 'sdk'] as const

export type ServerName = (typeof comparisonServers)[number] | 'bare-relay'

export interface Settings {
  readonly quick: boolean
  /** `bin/run.js` of the build to measure. */
  readonly entry: string
  /** That of the build it is measured against. */
  readonly against: string | undefined
}

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** One run: its folder, its processes, and their end. */
export class Bench {
  readonly fixture: Fixture = makeFixture()
  readonly #settings: Settings
  readonly #root = mkdtempSync(join(tmpdir(), 'service-cli-bench-'))
  readonly #running = new Set<Child>()

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** `bin/run.js` of the build to measure. */
  get entry(): string {
    return this.#settings.entry
  }

  /** Name in the tables, and program, of each build. */
  get builds(): readonly (readonly [name: string, entry: string])[] {
    const { entry, against } = this.#settings
    const own = ['serve', entry] as const
    return against === undefined ? [own] : [own, ['serve (against)', against]]
  }

  /** A new folder, removed when the row ends. */
  folder(name: string): string {
    const row = join(this.#root, 'row')
    mkdirSync(row, { recursive: true })
    return mkdtempSync(join(row, `${name}-`))
  }

  /** The full run's number, or the quick run's. */
  pick(full: number, quick: number): number {
    return this.#settings.quick ? quick : full
  }

  /** A command of ours that listens; rejects when it does not. */
  startOurs(
    name: string,
    entry: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Server> {
    const folders = args.includes('--registry-dir') || args.includes('registry')
    const own = folders ? [] : ['--registry-dir', this.folder('registry')]
    return Server.start(
      name,
      this.#start(name, entry, [...args, ...own, '--port', '0', '--json'], env),
    )
  }

  startOther(
    name: ServerName,
    { fixture = this.fixture, env = {} }: { fixture?: Fixture; env?: Record<string, string> } = {},
  ): Promise<Server> {
    const file = fileOf(`servers/${name}.ts`)
    const pointing = fixtureEnvironment(this.folder(name), fixture)
    return Server.start(name, this.#start(name, file, [name], { ...pointing, ...env }))
  }

  /** The process that makes the load; nothing has warmed or filled it before. */
  startLoad(): Child {
    return this.#start('load', fileOf('load.ts'), [])
  }

  /** Ends what runs, so that the next row starts from nothing. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map(one => one.stop()))
    this.#running.clear()
    rmSync(join(this.#root, 'row'), { recursive: true, force: true, maxRetries: 5 })
  }

  /** For the way out: kills what runs and removes the folder. */
  cleanUp(): void {
    for (const one of this.#running) one.kill()
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 })
  }

  #start(name: string, file: string, args: readonly string[], env = {}): Child {
    const own = this.folder(name.replace(/\W+/g, '-'))
    const child = new Child(file, args, {
      env: { ...cleanEnvironment(), ...env },
      logFile: join(own, 'stderr.log'),
    })
    this.#running.add(child)
    return child
  }
}

/** Keys and folders of whoever runs the benchmark stay out of it. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.filter(([name]) => !name.startsWith('SERVICE_')))
}
