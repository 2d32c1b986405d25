import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Child } from './child.ts'
import { writeFixture, type Fixture } from './fixture.ts'
import { startTarget, type StartOptions, type Target, type TargetName } from './targets.ts'

export interface Settings {
  readonly quick: boolean
  /** Servers to measure, in the order of the tables. */
  readonly targets: readonly TargetName[]
  /** `bin/run.js` of the project, or another build of it. */
  readonly entry: string
  /** That of the build to compare with, where one is wanted. */
  readonly reference?: string
}

/** The process that makes the load. */
export interface Load {
  ask<T>(question: string, argument: unknown): Promise<T>
}

const loadTimeoutMs = 90_000

/** One run: its folder, its processes, and their end. */
export class Bench {
  settings: Settings
  readonly fixture: Fixture
  readonly #root: string
  readonly #running = new Set<Child | Target>()

  constructor(settings: Settings) {
    this.settings = settings
    this.#root = mkdtempSync(join(tmpdir(), 'service-cli-bench-'))
    this.fixture = writeFixture(this.#root)
  }

  /** For what one row writes; emptied when the row ends. */
  get folder(): string {
    const folder = join(this.#root, 'row')
    mkdirSync(folder, { recursive: true })
    return folder
  }

  /** The builds to measure: today's, and the reference where one is wanted. */
  get builds(): readonly { readonly name: TargetName; readonly entry: string }[] {
    const { entry, reference } = this.settings
    const today = { name: 'serve' as const, entry }
    return reference === undefined ? [today] : [today, { name: 'reference', entry: reference }]
  }

  /** The full run's number, or the quick run's. */
  pick(full: number, quick: number): number {
    return this.settings.quick ? quick : full
  }

  say(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  async start(
    name: TargetName,
    options: Partial<Omit<StartOptions, 'name' | 'folder' | 'entry'>> = {},
  ): Promise<Target> {
    const { folder, fixture, settings } = this
    const entry = name === 'reference' ? (settings.reference ?? '') : settings.entry
    const target = await startTarget({ fixture, ...options, name, folder, entry })
    this.#running.add(target)
    return target
  }

  /** Ends with the row. */
  adopt(child: Child): Child {
    this.#running.add(child)
    return child
  }

  /** A load generator that nothing has warmed or filled before. */
  startLoad(): Load {
    const child = new Child({
      argv: [fileURLToPath(new URL('load/main.ts', import.meta.url))],
      logFile: join(this.folder, 'load.log'),
    })
    this.#running.add(child)
    return {
      ask: async <T>(question: string, argument: unknown) =>
        (await child.ask(question, argument, loadTimeoutMs)) as T,
    }
  }

  /** Ends what runs, so that the next row starts from nothing. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map(one => one.stop()))
    this.#running.clear()
    rmSync(join(this.#root, 'row'), { recursive: true, force: true, maxRetries: 5 })
  }

  /** For the way out: kills what runs and removes the folder. */
  cleanUp(): void {
    for (const one of this.#running) one.killNow()
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 })
  }
}
