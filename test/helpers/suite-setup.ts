import { configureGlobal } from 'fast-check'
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { inspect } from 'node:util'
import type { Context } from 'mocha'
import { beginTest, endFile, endTest } from './cleanup.ts'
import { root } from './program.ts'

/** Builds `dist` before the first test. Mocha calls this in its main process, never in a worker. */
export function mochaGlobalSetup(): void {
  const args = ['scripts/build.js', '--if-stale']
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed: run npm run build')
  // Workers inherit the environment; the reporter reads the file and removes its folder.
  process.env.TEST_TIMES_FILE = join(mkdtempSync(join(tmpdir(), 'test-times-')), 'files.jsonl')
}

// Mocha passes over a rejection that nothing handles, and a worker forgets listeners after each file.
const unhandled: unknown[] = []
const keep = (reason: unknown): void => void unhandled.push(reason)

function failOfUnhandled(): void {
  const reasons = unhandled.splice(0)
  if (reasons.length > 0) throw new Error(`not handled: ${inspect(reasons[0])}`)
}

/** CPU seconds of this process and of those it has waited for. A worker loads a file before `beforeAll`. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + childSeconds()
}

/** `cutime` and `cstime` of proc(5), in ticks of 10 ms; 0 where there is no /proc. */
function childSeconds(): number {
  if (process.platform !== 'linux') return 0
  const afterName = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1) ?? ''
  const [user = 0, system = 0] = afterName.split(' ').slice(13, 15).map(Number)
  return (user + system) / 100
}

let startedAt = 0
let cpuBefore = 0

function writeTimes(this: Context): void {
  // A worker runs one file at a time, a serial run has all in one.
  const files = new Set(this.test?.parent?.suites.map(({ file = 'unknown' }) => file))
  const [first = 'unknown'] = files
  const [wall, cpu] = [(performance.now() - startedAt) / 1000, cpuSeconds()]
  const times = {
    file: files.size > 1 ? `${files.size} files` : relative(root, first),
    wall,
    cpu: cpu - cpuBefore,
  }
  cpuBefore = cpu
  const target = process.env.TEST_TIMES_FILE
  if (target !== undefined) appendFileSync(target, `${JSON.stringify(times)}\n`)
}

// A failed property names its seed: with it in FUZZ_SEED the same cases come again.
if (process.env.FUZZ_SEED !== undefined) {
  configureGlobal({ seed: Number(process.env.FUZZ_SEED) })
}

// Mocha ends its workers with SIGTERM after a second, on a busy machine before their coverage is written.
if (process.env.NODE_V8_COVERAGE !== undefined) process.on('SIGTERM', () => {})

export const mochaHooks = {
  beforeAll() {
    startedAt = performance.now()
    process.off('unhandledRejection', keep).on('unhandledRejection', keep)
  },
  beforeEach: beginTest,
  afterEach: [endTest, failOfUnhandled],
  afterAll: [endFile, failOfUnhandled, writeTimes],
}
