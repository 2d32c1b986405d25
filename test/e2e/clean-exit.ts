import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServeProcess } from '../helpers/serve-process.ts'

/** Waits for the exit. The program exits with 1 when a stop takes longer than it may. */
export async function expectCleanExit(serve: ServeProcess, registryDir: string): Promise<void> {
  const { code, signal, stderr } = await serve.exited
  expect({ code, signal }, stderr).to.deep.equal({ code: 0, signal: null })
  expect(await readdir(join(registryDir, 'instances'))).to.deep.equal([])
  expect(stderr).not.to.match(/"level":"error"|\n\s+at /)
}
