import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

/** Servers on one state directory; after each test they end in reverse order and it is removed. */
export function useServers() {
  let folder = ''
  const ends: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stdio-test-'))
  })
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end()
    await rm(folder, { recursive: true, force: true })
  })

  async function serve(...flags: string[]): Promise<ServeProcess> {
    const server = await startServeProcess({ registryDir: folder, flags })
    ends.push(() => server.stop())
    return server
  }

  return { stateDir: () => folder, ends, serve }
}
