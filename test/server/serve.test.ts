import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { startServe } from '../../src/server/serve.ts'

describe('startServe', () => {
  let folder: string
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'serve-'))))
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const options = () => ({
    port: 0,
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    dccType: 'unknown',
    registryDir: folder,
    artefacts: true,
    resources: true,
    accessLog: () => {},
    log: silentLogger,
  })

  it('leaves nothing behind when it is cancelled', async () => {
    const cancel = new AbortController()
    const starting = startServe(options(), cancel.signal).catch((error: unknown) => error)
    const reason = new Error('cancelled')
    cancel.abort(reason)
    expect(await starting).to.equal(reason)
    expect(await readdir(join(folder, 'instances'))).to.deep.equal([])
  })
})
