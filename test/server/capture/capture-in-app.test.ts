import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { HostClient, type PictureQuestion, PictureUnavailable } from '../../../src/host-client.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { startServe } from '../../../src/server/serve.ts'
import type { ServeHandle } from '../../../src/server/host/serve-options.ts'
import { type Events, RawSession } from '../../helpers/mcp.ts'
import { pngOf } from '../../helpers/png.ts'
import { until } from '../../helpers/until.ts'

const uri = 'capture://current_window'
const listChanged = 'notifications/resources/list_changed'

describe('capture://current_window, taken by the application itself', () => {
  let folder: string
  let serve: ServeHandle
  let session: RawSession
  let events: Events
  let host: HostClient

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'capture-in-app-'))
    serve = await startServe({
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      dccType: 'unknown',
      registryDir: folder,
      artefacts: false,
      resources: true,
      accessLog: () => {},
      log: silentLogger,
      limits: { listChangedIntervalMs: 20, linkCaptureMs: 3000, captureReuseMs: 0 },
      capture: { mode: 'host' },
    })
    host = new HostClient({ app: { dccType: 'paint', mode: 'gui' }, registryDir: folder })
    session = await RawSession.open(serve.url)
    events = await session.listen()
  })
  afterEach(async () => {
    events.close()
    await host.stop()
    await serve.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const isListed = async () => {
    const { result } = await session.call('resources/list')
    return result.resources.some((each: { uri: string }) => each.uri === uri)
  }
  const read = (query = '') => session.call('resources/read', { uri: uri + query })
  const reason = async (query = '') => (await read(query)).error?.data?.reason
  async function begin(): Promise<void> {
    host.start()
    await host.connected({ timeoutMs: 10_000 })
  }
  const told = () => events.messages.filter(({ method }) => method === listChanged).length

  it('is there from the offer to its withdrawal, and clients hear of both', async () => {
    await begin()
    expect(await isListed()).to.equal(false)
    expect((await read()).error.code).to.equal(-32002)
    const before = told()
    const withdraw = host.provideCapture(() => pngOf(40, 30))
    await until(isListed, 'the resource in the list')
    await until(() => told() > before, 'the notice of it')
    withdraw()
    await until(async () => !(await isListed()), 'its going')
    await until(() => told() > before + 1, 'the notice of that')
  })

  it('brings the bytes of the application, no wider than asked for', async () => {
    const widths: number[] = []
    host.provideCapture(({ maxWidth }) => {
      widths.push(maxWidth)
      return pngOf(Math.min(maxWidth, 400), 30)
    })
    await begin()
    await until(isListed, 'the resource in the list')
    const { result } = await read('?max_width=64')
    const [content] = result.contents
    expect(content).to.include({ uri: `${uri}?max_width=64`, mimeType: 'image/png' })
    expect(Buffer.from(content.blob, 'base64').equals(pngOf(64, 30))).to.equal(true)
    const whole = Buffer.from((await read()).result.contents[0].blob, 'base64')
    expect(whole.equals(pngOf(400, 30))).to.equal(true)
    expect(widths).to.deep.equal([64, 8192])
  })

  it('brings the viewport alone, where the application draws it', async () => {
    const withdraw = host.provideCapture(({ target }) => pngOf(target === 'window' ? 40 : 20, 10), {
      targets: ['window', 'viewport'],
    })
    await begin()
    await until(isListed, 'the resource in the list')
    const widthOf = async (query: string) => {
      const { result, error } = await read(query)
      if (error !== undefined) return error
      return Buffer.from(result.contents[0].blob, 'base64').readUInt32BE(16)
    }
    const templates = async () => {
      const { result } = await session.call('resources/templates/list')
      return result.resourceTemplates.map(({ uriTemplate }: any) => uriTemplate)
    }
    expect(await widthOf('?view=viewport&max_width=30')).to.equal(20)
    expect(await widthOf('?view=window')).to.equal(40)
    expect(await widthOf('')).to.equal(40)
    expect(await widthOf('?view=hologram')).to.include({ code: -32602 })
    expect(await templates()).to.include(`${uri}{?max_width,view}`)
    const completed = await session.call('completion/complete', {
      ref: { type: 'ref/resource', uri: `${uri}{?max_width,view}` },
      argument: { name: 'view', value: 'v' },
    })
    expect(completed.result.completion.values).to.deep.equal(['viewport'])

    withdraw()
    host.provideCapture(() => pngOf(40, 10))
    await until(async () => (await templates()).includes(`${uri}{?max_width}`), 'another offer')
    const refused = await widthOf('?view=viewport')
    expect(refused).to.include({ code: -32602 })
    expect(refused.message).to.contain('the application draws no picture of it')
    expect(await widthOf('')).to.equal(40)
  })

  it('draws the scene from where the reader says, where the application can', async () => {
    const asked: unknown[] = []
    const draw = ({ target, shot }: PictureQuestion) => {
      asked.push(shot)
      if (shot !== undefined && 'camera' in shot && shot.camera !== 'Camera') {
        throw new PictureUnavailable('not_found', `there is no camera ${shot.camera}`)
      }
      const png = pngOf(target === 'viewport' ? 20 : 40, 10)
      return shot === undefined ? { png, view: { eye: 7 } } : png
    }
    const withdraw = host.provideCapture(draw, { targets: ['window', 'viewport'], shots: true })
    await begin()
    await until(isListed, 'the resource in the list')
    const shotAt = async (query: string) => {
      const { result, error } = await session.call('resources/read', {
        uri: `capture://viewport?${query}`,
      })
      return error ?? Buffer.from(result.contents[0].blob, 'base64').readUInt32BE(16)
    }
    expect(await shotAt('camera=Camera&max_width=30')).to.equal(20)
    expect(await shotAt('of=Cube,Lamp&view=top')).to.equal(20)
    expect(await shotAt('of=Cube')).to.equal(20)
    expect(await shotAt('')).to.equal(20)
    expect(asked).to.deep.equal([
      { camera: 'Camera' },
      { of: ['Cube', 'Lamp'], from: 'top' },
      { of: ['Cube'], from: 'three-quarter' },
      undefined,
    ])
    const { result: onScreen } = await session.call('resources/read', { uri: 'capture://viewport' })
    const { _meta: meta } = onScreen.contents[0]
    expect(meta).to.deep.equal({ 'service-cli/capture': { view: { eye: 7 } } })
    const none = await shotAt('camera=Other')
    expect(none.data).to.include({ reason: 'not_found' })
    expect(none.message).to.include('there is no camera Other')
    expect((await shotAt('camera=Camera&of=Cube')).message).to.include(
      'cannot be combined with "of"',
    )
    expect((await shotAt('view=top')).message).to.include('"view" needs "of"')

    withdraw()
    host.provideCapture(() => pngOf(40, 10), { targets: ['window', 'viewport'] })
    const plain = async () => (await shotAt('camera=Camera')).data?.reason === 'failed'
    await until(plain, 'an application without shots')
    expect((await shotAt('camera=Camera')).message).to.include('only as it is on the screen')
  })

  it('says why there is none, also of what is no picture', async () => {
    const answers: [() => Buffer, string][] = [
      [() => throwing(new PictureUnavailable('minimised')), 'minimised'],
      [() => throwing(new PictureUnavailable('blank')), 'blank'],
      [() => throwing(new Error('a secret')), 'failed'],
      [() => Buffer.from('<html>'), 'failed'],
      [() => pngOf(65, 1), 'failed'],
      [() => pngOf(10, 10).subarray(0, -1), 'failed'],
    ]
    host.provideCapture(() => (answers[at]?.[0] ?? (() => pngOf(1, 1)))())
    await begin()
    await until(isListed, 'the resource in the list')
    let at = 0
    for (const [answer, expected] of answers) {
      const { error } = await read('?max_width=64')
      expect(error?.data?.reason, String(answer)).to.equal(expected)
      expect(error.code).to.equal(-32603)
      expect(JSON.stringify(error)).not.to.contain('secret')
      at++
    }
    expect((await read('?max_width=64')).error).to.equal(undefined)
  })

  it('lets widths and views that are asked for at once take their turn', async () => {
    let atOnce = 0
    const seen: number[] = []
    const take = async ({ maxWidth }: PictureQuestion) => {
      seen.push(++atOnce)
      await new Promise(resolve => setTimeout(resolve, 30))
      atOnce--
      return pngOf(maxWidth, 2)
    }
    host.provideCapture(take, { targets: ['window', 'viewport'] })
    await begin()
    await until(isListed, 'the resource in the list')
    const queries = [
      'max_width=10',
      'max_width=20',
      'view=viewport&max_width=30',
      'view=viewport&max_width=5',
    ]
    const reading = queries.map(query => read(`?${query}`))
    for (const answer of await Promise.all(reading)) expect(answer.error).to.equal(undefined)
    expect(seen).to.deep.equal([1, 1, 1, 1])
  })

  it('does not hold up other reads, and has a deadline', async () => {
    const never = Promise.withResolvers<Buffer>()
    host.provideCapture(() => never.promise)
    host.setScene({ name: 'shot 010' })
    await begin()
    await until(isListed, 'the resource in the list')
    const reading = reason()
    let answered = false
    void reading.then(() => (answered = true))
    for (let n = 0; n < 3; n++) await session.readJson('scene://current')
    expect(answered).to.equal(false)
    expect(await reading).to.equal('timeout')
    never.resolve(pngOf(1, 1))
    await until(async () => (await read()).error === undefined, 'another picture')
  })

  it('is gone with the application, and while it waits for it', async () => {
    const asked = Promise.withResolvers<void>()
    host.provideCapture(() => (asked.resolve(), new Promise<Buffer>(() => {})))
    await begin()
    await until(isListed, 'the resource in the list')
    const reading = reason()
    await asked.promise
    await host.stop()
    expect(await reading).to.be.oneOf(['host_disconnected', 'no_window'])
    await until(async () => !(await isListed()), 'its going')
  })

  it('is nowhere when the person at the application denies it', async () => {
    host.provideCapture(() => pngOf(1, 1))
    await begin()
    await until(isListed, 'the resource in the list')
    host.denyCapture(true)
    await until(async () => !(await isListed()), 'its going')
    const { error } = await read()
    expect(error.code).to.equal(-32002)
    const state = serve.capture?.state
    expect(state?.ok === false && state.failure.reason).to.equal('denied')
    host.denyCapture(false)
    await until(isListed, 'its coming back')
  })
})

function throwing(error: Error): never {
  throw error
}
