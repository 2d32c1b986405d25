import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { startServe } from '../../src/server/serve.ts'
import { until } from '../helpers/until.ts'
import { boundsWith } from '../helpers/bounds.ts'

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

  it('writes record and tokens again when they, or their folder, were removed', async () => {
    const serve = await startServe({ ...options(), limits: boundsWith({ heartbeatMs: 50 }) })
    try {
      const file = serve.hostTokenFile ?? ''
      const token = await readFile(file, 'utf8')
      const isBack = async () => (await readFile(file, 'utf8').catch(() => '')) === token
      for (const removed of [file, folder]) {
        // First its name, at once: the server may be writing to the folder.
        await rename(removed, `${folder}-removed`)
        await rm(`${folder}-removed`, { recursive: true })
        await until(isBack, `the token after ${removed} was removed`)
      }
      const names = ['json', 'owner', 'token'].map(end => `${serve.instanceId}.${end}`)
      const found = async () => (await readdir(join(folder, 'instances'))).toSorted()
      await until(async () => (await found()).length === names.length, 'the record')
      expect(await found()).to.deep.equal(names)
    } finally {
      await serve.stop()
    }
  })
})
