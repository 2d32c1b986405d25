import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { locateInstance } from '../../../src/commands/find-endpoint.ts'
import { JoinOrServe } from '../../../src/commands/stdio/join-or-serve.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { silentLogger as log } from '../../../src/lib/util/logger.ts'
import type { Target } from '../../../src/lib/mcp/bridge/connection.ts'
import type { Result } from '../../../src/lib/util/result.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'
import { makeRecord } from '../../server/gateway/support.ts'

const url = (place: Result<Target, string>) => (place.ok ? place.value.url.href : place.failure)
const urlOf = (id: string) => `http://${id}.localhost:1/mcp`
const ownUrl = 'http://127.0.0.1:9/mcp'

describe('JoinOrServe', () => {
  let registryDir: string
  let starts: number
  let stops: number
  let failure: Error | null

  beforeEach(() => {
    starts = 0
    stops = 0
    failure = null
    registryDir = newFolder()
  })

  /** Replaces the running instances. */
  async function run(...ids: string[]): Promise<void> {
    const folder = join(registryDir, 'instances')
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { mode: 0o700 })
    for (const id of ids) {
      const [dccType = ''] = id.split('-')
      const instanceId = randomUUID()
      const record = makeRecord({
        instance_id: instanceId,
        dcc_type: dccType,
        display_name: dccType,
        host_url: urlOf(id),
        started_at: new Date().toISOString(),
      })
      await writeFile(join(folder, `${instanceId}.json`), JSON.stringify(record))
    }
  }

  function createServer(dccType?: string, takeoverMs = 0): JoinOrServe {
    async function start() {
      if (failure !== null) throw failure
      starts++
      return {
        url: 'https://studio.example/mcp',
        hostUrl: 'http://127.0.0.1:9/host',
        hostTokenFile: null,
        instanceId: 'own',
        stop: async () => void stops++,
      }
    }
    return new JoinOrServe(registryDir, dccType, start, log, takeoverMs)
  }

  /** One that has joined `blender-1` and then lost it. */
  async function lost(dccType?: string, takeoverMs?: number): Promise<JoinOrServe> {
    await run('blender-1')
    const server = createServer(dccType, takeoverMs)
    await server.open()
    expect(url(await server.locate())).to.equal(urlOf('blender-1'))
    await run()
    return server
  }

  const cases: [kind: string | undefined, among: string[], joined: string][] = [
    [undefined, [], ownUrl],
    [undefined, ['maya-1'], urlOf('maya-1')],
    ['blender', ['maya-1', 'unknown-1'], urlOf('unknown-1')],
    ['blender', ['unknown-1', 'blender-1'], urlOf('blender-1')],
    ['blender', ['maya-1'], ownUrl],
  ]
  for (const [kind, among, expected] of cases) {
    it(`opens ${expected} for ${kind} among ${among.join(', ')}`, async () => {
      await run(...among)
      const server = createServer(kind)
      await server.open()
      expect(url(await server.locate())).to.equal(expected)
    })
  }

  it('refuses to choose between several servers', async () => {
    for (const [kind, among] of [
      ['blender', ['blender-1', 'blender-2']],
      [undefined, ['maya-1', 'blender-1']],
    ] as const) {
      await run(...among)
      expect(await failureOf(() => createServer(kind).open())).to.include({ code: 'usage_invalid' })
    }
  })

  it('waits for the joined server to return', async () => {
    const server = await lost(undefined, 60_000)
    expect(url(await server.locate())).to.contain('does not answer')
    await run('blender-1b')
    expect(url(await server.locate())).to.equal(urlOf('blender-1b'))
    await run()
    expect(url(await server.locate())).to.contain('does not answer')
    expect(starts).to.equal(0)
  })

  it('starts a server when the joined one stays away, and ends it', async () => {
    const server = await lost()
    for (let time = 0; time < 2; time++) expect(url(await server.locate())).to.equal(ownUrl)
    await server.stop()
    expect([starts, stops]).to.deep.equal([1, 1])
  })

  it('joins a server that another client started', async () => {
    const server = await lost('blender')
    await run('maya-1', 'blender-2')
    expect(url(await server.locate())).to.equal(urlOf('blender-2'))
    expect(starts).to.equal(0)
  })
})

describe('locateInstance', () => {
  function instance(id: string, more: Partial<InstanceRecord> = {}): InstanceRecord {
    return makeRecord({ instance_id: id, display_name: id, host_url: urlOf(id), ...more })
  }

  const blender = instance('blender-1')
  const second = instance('blender-2')
  const maya = instance('maya-1', { dcc_type: 'maya' })
  const started_at = '2100-01-01T00:00:00.000Z'
  const next = instance('blender-1b', { display_name: 'blender-1', started_at })
  const nowhere = 'the instance blender-1 does not run or does not answer'
  const cases: [word: string | undefined, live: InstanceRecord[], place: string][] = [
    [undefined, [blender, maya], urlOf('blender-1')],
    [undefined, [], nowhere],
    [undefined, [maya], urlOf('maya-1')],
    ['blender', [second], urlOf('blender-2')],
    ['blen', [second], nowhere],
    ['blen', [second, next], urlOf('blender-1b')],
  ]
  for (const [word, live, place] of cases) {
    const names = live.map(each => each.display_name).join(', ')
    it(`returns ${place} for ${word} among ${names}`, async () => {
      const locate = locateInstance(blender, word, '/r', async () => live)
      expect(url(await locate())).to.equal(place)
    })
  }
})
