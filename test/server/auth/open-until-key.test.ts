import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { until } from '../../helpers/until.ts'
import {
  bearer,
  type KeyedServer,
  makeKeys,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { RawSession } from '../../helpers/mcp.ts'

const revision = '2025-11-25'

describe('a server that started without keys', () => {
  let keys: TestKeys
  let server: KeyedServer

  beforeEach(async () => (keys = await makeKeys()))
  afterEach(async () => {
    await server.stop()
    await keys.remove()
  })

  const start = async () => (server = await startKeyedServer(keys, { mode: 'none' }))
  const letsIn = (key?: string) =>
    RawSession.open(server.url, revision, key === undefined ? {} : bearer(key)).then(
      () => true,
      () => false,
    )

  it('asks for a key from the first one on, and cuts what callers without one have open', async () => {
    await start()
    const session = await RawSession.open(server.url, revision)
    const stream = await session.listen()
    expect(await letsIn()).to.equal(true)
    const key = await keys.create('anna')
    await until(() => stream.ended, 'the stream is cut')
    expect(await letsIn()).to.equal(false)
    expect(await letsIn(key)).to.equal(true)
    await keys.revoke('anna')
    await until(async () => !(await letsIn(key)), 'the key is refused')
    await rm(keys.store.path)
    expect(await letsIn(), 'the last key is gone').to.equal(false)
  })

  it('stays open where the last key had been revoked before, until there is one again', async () => {
    await keys.create('anna')
    await keys.revoke('anna')
    await start()
    expect(await letsIn()).to.equal(true)
    await keys.create('ben')
    await until(async () => !(await letsIn()), 'a key is asked for')
  })

  it('refuses every request while the keys file is unusable', async () => {
    await start()
    await mkdir(dirname(keys.store.path), { recursive: true, mode: 0o700 })
    await writeFile(keys.store.path, '{', { mode: 0o600 })
    await until(async () => !(await letsIn()), 'nobody is let in')
    await rm(keys.store.path)
    await until(() => letsIn(), 'the server is open again, as it never had a key')
  })
})
