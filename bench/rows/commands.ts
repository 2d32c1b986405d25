/** Rows of commands: whole processes, from their start to their end. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Bench, cleanEnvironment } from '../bench.ts'
import { type Column, compare, type Entry, type Figures, type Table } from '../measure.ts'

const oneRequest = fileURLToPath(new URL('../one-request/run.js', import.meta.url))
const password = 'correct horse battery bench'

type Command = readonly [name: string, argv: readonly string[]]

const columns = (reference: string): Column[] => [
  { title: `times ${reference}`, figure: 'ms', show: 'ratio' },
  { title: 'ms', figure: 'ms', show: 'value' },
]

/** How long a command takes, against node doing nothing. */
export async function measureStartUp(bench: Bench): Promise<Table> {
  const reference = 'node -e 0'
  const commands: readonly Command[] = [
    [reference, ['-e', '0']],
    ...bench.builds.flatMap(([name, entry]): Command[] => [
      [`${name}: --version`, [entry, '--version']],
      [`${name}: serve --help`, [entry, 'serve', '--help']],
    ]),
  ]
  const rounds = await compare(entriesOf(commands, process.env), bench.pick(40, 12))
  return { title: 'start-up of a command', reference, columns: columns(reference), rounds }
}

/** `whoami` with a saved token, beside the least that a command with one request does. */
export async function measureWhoami(bench: Bench): Promise<Table> {
  const { entry } = bench
  const reference = 'one request'
  const args = ['registry', '--data-dir', bench.folder('data')]
  const { origin } = await bench.startOurs('registry', entry, args)
  const env: NodeJS.ProcessEnv = {
    ...cleanEnvironment(),
    XDG_CONFIG_HOME: bench.folder('config'),
    SERVICE_REGISTRY: origin,
  }
  const account = ['register', 'bench', '--email', 'bench@bench.example', '--password-stdin']
  run([entry, ...account], env, password)
  const printed = spawnSync(process.execPath, [entry, 'token', 'print'], { env, encoding: 'utf8' })
  Object.assign(env, { BASE_URL: origin, TOKEN: printed.stdout.trim() })
  const commands: readonly Command[] = [
    [reference, [oneRequest, 'me']],
    ...bench.builds.map(([name, entry]): Command => [`${name}: whoami`, [entry, 'whoami']]),
  ]
  const rounds = await compare(entriesOf(commands, env), bench.pick(40, 10))
  const notes = [
    'one request: a program of oclif that asks the same with got and prints the name, with the same compile cache',
  ]
  const title = 'whoami with a saved token, asked of a registry on this machine'
  return { title, reference, columns: columns(reference), rounds, notes }
}

function entriesOf(commands: readonly Command[], env: NodeJS.ProcessEnv): Entry[] {
  return commands.map(([name, argv]) => ({
    name,
    // The first time fills the compile cache.
    prepare: async () => run(argv, env),
    measure: async () => run(argv, env),
  }))
}

function run(argv: readonly string[], env: NodeJS.ProcessEnv, input = ''): Figures {
  const started = performance.now()
  const options = { env, input, encoding: 'utf8', timeout: 20_000 } as const
  const { status, error, stderr } = spawnSync(process.execPath, argv, options)
  const ms = performance.now() - started
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${argv.slice(1).join(' ')} ended with ${status}: ${stderr}`)
  return { ms }
}
