import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { password, startAccountsServer } from '../registry.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'
import { cleanEnvironment } from '../targets.ts'

const timeoutMs = 20_000
const oneRequest = fileURLToPath(new URL('../programs/one-request/run.js', import.meta.url))

/** `whoami` with a saved token, beside the least that a command with one request does. */
export async function measureWhoami(bench: Bench): Promise<Measured> {
  const { entry } = bench.settings
  const target = await startAccountsServer(bench, 'registry')
  const env: NodeJS.ProcessEnv = {
    ...cleanEnvironment(),
    XDG_CONFIG_HOME: join(bench.folder, 'config'),
    SERVICE_REGISTRY: target.url,
  }
  const account = ['register', 'bench', '--email', 'bench@bench.example', '--password-stdin']
  run([entry, ...account], env, password)
  const printed = spawnSync(process.execPath, [entry, 'token', 'print'], { env, encoding: 'utf8' })
  Object.assign(env, { BASE_URL: target.url, TOKEN: printed.stdout.trim() })
  const commands: readonly (readonly [name: string, argv: readonly string[]])[] = [
    ['one request', [oneRequest, 'me']],
    ['one request again', [oneRequest, 'me']],
    ...bench.builds.map(build => {
      const name = build.name === 'reference' ? 'whoami (reference)' : 'whoami'
      return [name, [build.entry, 'whoami']] as const
    }),
  ]
  const entries: Entry[] = commands.map(([name, argv]) => ({
    name,
    // The first time fills the compile cache.
    prepare: async () => {
      run(argv, env)
    },
    measure: async () => run(argv, env),
  }))
  const { rounds, notes } = await compare(entries, bench.pick(40, 10))
  return {
    name: 'whoami',
    title: 'whoami with a saved token, asked of a registry on this machine',
    reference: 'one request',
    columns: [
      { title: 'times one request', figure: 'ms', show: 'ratio' },
      { title: 'ms', figure: 'ms', show: 'value' },
      { title: 'times by CPU', figure: 'cpuMs', show: 'ratio' },
      { title: 'cpu ms', figure: 'cpuMs', show: 'value' },
    ],
    rounds,
    notes: [
      'one request: a program of oclif that asks the same with got and prints the name, with the same compile cache (bench/programs/one-request)',
      'ms: wall time of the whole process; cpu ms: of its threads, in steps of 10',
      ...notes,
    ],
  }
}

function run(argv: readonly string[], env: NodeJS.ProcessEnv, input = ''): Figures {
  const cpuBefore = endedChildrenCpuMs()
  const started = performance.now()
  const { status, error, stderr } = spawnSync(process.execPath, argv, {
    env,
    input,
    encoding: 'utf8',
    timeout: timeoutMs,
  })
  const ms = performance.now() - started
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${argv.slice(1).join(' ')} ended with ${status}: ${stderr}`)
  return { ms, cpuMs: endedChildrenCpuMs() - cpuBefore }
}

/** CPU time of the processes this one started and saw end; NaN where there is no /proc. */
function endedChildrenCpuMs(): number {
  try {
    const text = readFileSync('/proc/self/stat', 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) * 10
  } catch {
    return Number.NaN
  }
}
