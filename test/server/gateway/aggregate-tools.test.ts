import { expect } from 'chai'
import type { GatewayHandle } from '../../../src/server/gateway.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { ask, toolCall } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { callStateless } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { at, sceneOf, startAggregating, startTwoInstances } from './aggregating.ts'

const registryDir = newFolder()

describe('the tools of a gateway that aggregates', () => {
  let gateway: GatewayHandle
  let blender: RunningServe
  let maya: RunningServe

  before(async () => {
    ;({ blender, maya, gateway } = await startTwoInstances(registryDir))
  })

  const call = async (name: string, args: object) =>
    (await callStateless(gateway.url, 'tools/call', toolCall(name, args))).json.result
  /** Calls that wait at the instance. */
  const waitsAt = (instance: RunningServe) => gaugeAt(instance, 'pending_calls')
  const followedAt = (instance: RunningServe) => gaugeAt(instance, 'subscriptions')
  const gaugeAt = async ({ base }: RunningServe, name: string) => {
    const { text } = await ask(`${base}/metrics`, { method: 'GET', headers: {} })
    return Number(new RegExp(`^service_cli_${name} (\\d+)$`, 'm').exec(text)?.[1])
  }

  it('read the instance that is named by its kind, its name or its id', async () => {
    for (const instance of ['Blender', 'my blender', blender.instanceId.slice(0, 5)]) {
      const { structuredContent } = await call('query_scene', { instance })
      expect(structuredContent.document.name).to.equal('shot_010.blend')
      expect(structuredContent.revision).to.equal(1)
    }
  })

  it('name those that run when it is not clear which one is meant', async () => {
    for (const args of [{}, { instance: 'houdini' }]) {
      const { isError, content } = await call('query_scene', args)
      expect(isError).to.equal(true)
      expect(content[0].text)
        .to.match(/^argument_invalid: /)
        .and.include(blender.instanceId.slice(0, 8))
        .and.include(maya.instanceId.slice(0, 8))
    }
  })

  it('say that notes are answered at the instance', async () => {
    const { tools } = (await callStateless(gateway.url, 'tools/list', {})).json.result
    const { description } = tools.find(({ name }: any) => name === 'list_notes')
    expect(description).to.contain('Notes are answered at the instance itself')
  })

  it('repeat little of what was asked for, and no line breaks', async () => {
    const { content } = await call('query_scene', { instance: `a\n\u202e${'b'.repeat(10_000)}` })
    expect(content[0].text).to.match(/no instance runs as "a b{90,}…?";/)
    expect(content[0].text.length).to.be.below(1000)
  })

  it('read, list and follow by addresses of either kind', async () => {
    const inner = { instance: 'maya', uri: 'scene://current?pointer=/document/name' }
    const outer = { uri: at(maya, 'scene/current?pointer=/document/name') }
    const [first, second] = [await call('read_resource', inner), await call('read_resource', outer)]
    expect(first.content[0].text).to.include('shot_010.blend')
    expect(second.content).to.deep.equal(first.content)
    const listed = await call('list_resources', { instance: 'maya', scheme: 'scene' })
    expect(listed.content[0].text).to.include('scene://current')
    const own = await call('list_resources', {})
    expect(own.content[0].text).to.include('gateway://instances')
  })

  it('ask which instance has the object that is called so', async () => {
    for (const [name, args] of [
      ['read_resource', { uri: 'Cube' }],
      ['wait_for_change', { uris: ['Cube'] }],
    ] as const) {
      const { content, isError } = await call(name, args)
      expect(isError).to.equal(true)
      expect(content[0].text).to.contain('2 instances run; name one of them as "instance":')
    }
  })

  it('wait for one instance since a revision, and for several at once', async () => {
    const { revision } = (await call('query_scene', { instance: 'blender' })).structuredContent
    await blender.post('scene', sceneOf(2))
    const since = await call('wait_for_change', { instance: 'blender', since: revision })
    expect(since.content[0].text).to.include('Cube moved')
    const waiting = call('wait_for_change', { uris: [at(blender), at(maya)] })
    await until(async () => (await followedAt(maya)) === 1, 'the subscription at Maya')
    await until(async () => (await followedAt(blender)) === 1, 'the subscription at Blender')
    await blender.post('scene', sceneOf(3))
    const { content, structuredContent } = await waiting
    expect(content[0].text).to.include(`changed: ${at(blender)} `)
    expect(structuredContent).to.include({ changed: true })
    expect(structuredContent.uris).to.deep.equal([at(blender)])
    await until(async () => (await followedAt(maya)) === 0, 'the end of it at Maya')
  })

  it('wait at the instance that is named for its addresses of either kind', async () => {
    const uris = [at(maya), 'scene://delta']
    const waiting = call('wait_for_change', { instance: 'maya', uris })
    await until(async () => (await waitsAt(maya)) === 1, 'the wait')
    await maya.post('scene', sceneOf(8))
    expect((await waiting).structuredContent).to.include({ changed: true })
  })

  it('tell those who wait that the gateway stops', async () => {
    const stopping = await startAggregating(registryDir)
    const waits = [{ uris: [at(maya)] }, { uris: [at(blender), at(maya)] }, { instance: 'maya' }]
    const waiting = waits.map(args =>
      callStateless(stopping.url, 'tools/call', toolCall('wait_for_change', args)),
    )
    await until(async () => (await waitsAt(maya)) === 2, 'the waits')
    await stopping.stop()
    for (const { json } of await Promise.all(waiting)) {
      const reason = 'the server is stopping'
      expect(json.result.structuredContent).to.deep.equal({ changed: false, reason })
    }
    await until(async () => (await waitsAt(maya)) === 0, 'the end of the waits at Maya')
  })
})
