import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunningServe, ServeProcess } from '../helpers/serve-process.ts'

/** Waits for the exit. The program exits with 1 when a stop takes longer than it may. */
export async function expectCleanExit(serve: ServeProcess, registryDir: string): Promise<void> {
  const { code, signal, stderr } = await serve.exited
  expect({ code, signal }, stderr).to.deep.equal({ code: 0, signal: null })
  await expectNothingLeft(registryDir, stderr)
}

/** Waits for the stop of a server in this process. */
export async function expectCleanStop(
  stopped: Promise<unknown>,
  serve: RunningServe,
): Promise<void> {
  await stopped
  await expectNothingLeft(serve.registryDir, serve.output().stderr)
}

async function expectNothingLeft(registryDir: string, log: string): Promise<void> {
  expect(await readdir(join(registryDir, 'instances'))).to.deep.equal([])
  expect(log).not.to.match(/"level":"error"|\n\s+at /)
}
