import { spawnSync } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import type { Bench } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import type { Measured } from '../table.ts'

const timeoutMs = 20_000

/** How long a command takes from its start to its end, against node doing nothing. */
export async function measureStartUp(bench: Bench): Promise<Measured> {
  const commands: readonly (readonly [name: string, argv: readonly string[]])[] = [
    ['node -e 0', ['-e', '0']],
    ['node -e 0 again', ['-e', '0']],
    ...bench.builds.flatMap(({ name, entry }) => {
      const end = name === 'reference' ? ' (reference)' : ''
      return [
        [`--version${end}`, [entry, '--version']],
        [`serve --help${end}`, [entry, 'serve', '--help']],
      ] as const
    }),
  ]
  const entries: Entry[] = commands.map(([name, argv]) => ({
    name,
    measure: () => Promise.resolve({ ms: run(argv) }),
  }))
  const { rounds, notes } = await compare(entries, bench.pick(40, 12))
  return {
    name: 'startup',
    title: 'start-up of a command',
    reference: 'node -e 0',
    columns: [
      { title: 'times node -e 0', figure: 'ms', show: 'ratio' },
      { title: 'ms', figure: 'ms', show: 'value' },
    ],
    rounds,
    notes: ['wall time of the whole process, its stdio closed', ...notes],
  }
}

function run(argv: readonly string[]): number {
  const started = performance.now()
  const { status, error } = spawnSync(process.execPath, argv, {
    stdio: 'ignore',
    timeout: timeoutMs,
  })
  const elapsedMs = performance.now() - started
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`node ${argv.join(' ')} ended with ${status}`)
  return elapsedMs
}
