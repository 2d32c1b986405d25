import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../src/lib/logger.ts'
import { startServe } from '../../src/server/serve.ts'

describe('startServe', () => {
  let folder: string
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'serve-'))))
  afterEach(() => rm(folder, { recursive: true, force: true }))

  for (const steps of [1, 2, 3]) {
    it(`leaves nothing behind when it is cancelled at look ${steps}`, async () => {
      const reason = new Error('cancelled')
      let looks = 0
      const cancelled = {
        aborted: false,
        throwIfAborted() {
          if (++looks === steps) throw reason
        },
      }
      const options = {
        ...{ port: 0, host: '127.0.0.1', allowedHosts: [], allowedOrigins: [] },
        ...{ dccType: 'unknown', registryDir: folder, artefacts: true, resources: true },
        ...{ accessLog: () => {}, log: silentLogger },
      }
      const failure: unknown = await startServe(options, cancelled).catch((error: unknown) => error)
      expect(failure).to.equal(reason)
      expect(await readdir(join(folder, 'instances'))).to.deep.equal([])
    })
  }
})
