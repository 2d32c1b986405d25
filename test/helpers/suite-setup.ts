import { spawnSync } from 'node:child_process'
import { inspect } from 'node:util'
import { root } from './program.ts'

/** Builds `dist` before the first test. Mocha calls this in its main process, never in a worker. */
export function mochaGlobalSetup(): void {
  const args = ['scripts/build.js', '--if-stale']
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed: run npm run build')
}

// Mocha passes over a rejection that nothing handles, and a worker forgets listeners after each file.
const unhandled: unknown[] = []
const keep = (reason: unknown): void => void unhandled.push(reason)

function failOfUnhandled(): void {
  const reasons = unhandled.splice(0)
  if (reasons.length > 0) throw new Error(`not handled: ${inspect(reasons[0])}`)
}

export const mochaHooks = {
  beforeAll: () => void process.off('unhandledRejection', keep).on('unhandledRejection', keep),
  afterEach: failOfUnhandled,
  afterAll: failOfUnhandled,
}
