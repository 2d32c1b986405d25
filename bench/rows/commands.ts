/** Rows of commands: whole processes, from their start to their end. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '../../test/clients/serve.ts'
import type { Bench } from '../bench.ts'
import type { Column, Entry, Row } from '../measure.ts'

const oneRequest = fileURLToPath(new URL('../one-request/run.js', import.meta.url))

const columns = (reference: string): readonly Column[] => [
  { title: `times ${reference}`, figure: 'ms', show: 'ratio' },
  { title: 'ms', figure: 'ms', show: 'value' },
]

/** How long a command takes, against node doing nothing. */
export async function startUpRow(bench: Bench): Promise<Row> {
  const reference = 'node -e 0'
  const env = cleanEnvironment(bench.folder())
  const entries = bench.builds.flatMap(([name, program]) => [
    entryOf(`${name}: --version`, [program, '--version'], env),
    entryOf(`${name}: serve --help`, [program, 'serve', '--help'], env),
  ])
  return {
    title: 'start-up of a command',
    reference,
    columns: columns(reference),
    entries: [entryOf(reference, ['-e', '0'], env), ...entries],
    rounds: bench.pick(40, 12),
  }
}

/** `whoami` with a saved token, beside a program of oclif and got that asks the same. */
export async function whoamiRow(bench: Bench): Promise<Row> {
  const reference = 'one request'
  const env = await startAccounts(bench)
  const TOKEN = run([bench.program, 'token', 'print'], env).trim()
  const entries = bench.builds.map(([name, program]) =>
    entryOf(`${name}: whoami`, [program, 'whoami'], env),
  )
  const oneEnv = { ...env, BASE_URL: env.SERVICE_REGISTRY, TOKEN }
  return {
    title: 'whoami with a saved token, asked of an accounts server on this machine',
    reference,
    columns: columns(reference),
    entries: [entryOf(reference, [oneRequest], oneEnv), ...entries],
    rounds: bench.pick(40, 10),
  }
}

/** Starts an accounts server; returns the environment of a user who is logged in there. */
export async function startAccounts(bench: Bench): Promise<NodeJS.ProcessEnv> {
  const { origin } = await bench.startOurs('registry')
  const env = { ...cleanEnvironment(bench.folder()), SERVICE_REGISTRY: origin }
  const register = ['register', 'bench', '--email', 'bench@bench.example', '--password-stdin']
  run([bench.program, ...register], env, 'correct horse battery bench')
  return env
}

function entryOf(name: string, argv: readonly string[], env: NodeJS.ProcessEnv): Entry {
  const measure = async () => {
    const started = performance.now()
    run(argv, env)
    return { ms: performance.now() - started }
  }
  // The first time fills the compile cache.
  return { name, prepare: measure, measure }
}

/** Returns its output. */
export function run(argv: readonly string[], env: NodeJS.ProcessEnv, input = ''): string {
  const options = { env, input, encoding: 'utf8', timeout: 20_000 } as const
  const { status, error, stdout, stderr } = spawnSync(process.execPath, argv, options)
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${argv.slice(1).join(' ')} ended with ${status}: ${stderr}`)
  return stdout
}
