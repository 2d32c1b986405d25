import { spawnSync } from 'node:child_process'
import { root } from './program.ts'

/** Builds `dist` before the first test. Mocha calls this in its main process, never in a worker. */
export function mochaGlobalSetup(): void {
  const args = ['scripts/build.js', '--if-stale']
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed: run npm run build')
}

/** A rejection that no one handles ends a process; mocha would pass over it. Here it fails a test. */
process.on('unhandledRejection', reason => {
  throw reason
})
