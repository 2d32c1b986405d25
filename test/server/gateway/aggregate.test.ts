import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GatewayHandle } from '../../../src/server/gateway.ts'
import { writeInstance } from '../../helpers/instances.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { runCommand } from '../../helpers/in-process.ts'
import { runProgram } from '../../helpers/program.ts'
import { type Events, RawSession, toolCall } from '../../helpers/mcp.ts'
import { callStateless, listenStateless } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { gatewayInProcess, serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { at, sceneOf, startAggregating, startTwoInstances } from './aggregating.ts'

const registryDir = newFolder()

const key = 'a-key-that-only-clients-of-it-have'

describe('a gateway that aggregates', () => {
  let gateway: GatewayHandle
  let blender: RunningServe
  let maya: RunningServe
  let session: RawSession
  let events: Events

  before(async () => {
    // A beat writes a record again that a test has removed.
    const rareBeats = ['--bound=heartbeatMs=20000']
    ;({ blender, maya, gateway } = await startTwoInstances(registryDir, rareBeats))
    session = await RawSession.open(gateway.url)
    events = await session.listen()
  })

  const read = async (uri: string) =>
    (await callStateless(gateway.url, 'resources/read', { uri })).json
  const call = async (name: string, args: object) =>
    (await callStateless(gateway.url, 'tools/call', toolCall(name, args))).json.result
  const complete = async (uri: string, name: string, value: string) => {
    const { json } = await callStateless(gateway.url, 'completion/complete', {
      ref: { type: 'ref/resource', uri },
      argument: { name, value },
    })
    return json.result.completion.values
  }

  describe('a read', () => {
    it('answers as the instance does, under the address that was asked for', async () => {
      const inner = await callStateless(blender.url, 'resources/read', { uri: 'scene://current' })
      const outer = await read(at(blender))
      const [{ uri, ...content }] = outer.result.contents
      expect(uri).to.equal(at(blender))
      const { uri: _, ...expected } = inner.json.result.contents[0]
      expect(content).to.deep.equal(expected)
      const inSession = await session.call('resources/read', { uri: at(blender) })
      expect(inSession.result.contents).to.deep.equal(outer.result.contents)
    })

    it('opens an instance that asks for a key only where its own clients need one', async () => {
      const keyed = await serveInProcess({ registryDir, env: { SERVICE_MCP_API_KEY: key } })
      await keyed.post('scene', sceneOf(7))
      const uri = at(keyed)
      await until(async () => !(await read(uri)).error?.message.includes('no such'), 'the record')
      const { error } = await read(uri)
      expect([error.data.reason, error.message]).to.deep.equal([
        'instance_auth',
        'the instance asks for a key (HTTP 401)',
      ])
      const own = { Authorization: 'Bearer a-key-of-the-clients-of-the-gateway' }
      const guarded = await startAggregating(registryDir, {
        auth: {
          mode: 'api-key',
          key: own.Authorization.slice('Bearer '.length),
          keysFile: join(registryDir, 'no-keys.json'),
        },
      })
      const client = await RawSession.open(guarded.url, '2025-11-25', own)
      expect((await client.readJson(uri)).objects[0].translate[0]).to.equal(7)
      await guarded.stop()
    })

    it('shows nothing that is for the owner of the instance', async () => {
      const clients = await read(at(blender, 'server/clients'))
      expect(clients.error.message).to.include('no resource')
      const instance = 'blender'
      const byTool = await call('read_resource', { instance, uri: 'server://clients' })
      expect(byTool.content[0].text).to.include('no resource')
      const waited = await call('wait_for_change', { instance, uris: ['server://clients'] })
      expect(waited.content[0].text).to.include('no resource')
      const listed = await call('list_resources', { instance, limit: 500 })
      expect(listed.content[0].text).to.include('scene://current').and.not.include('server://')
    })

    it('of what only instances have says where it is', async () => {
      const { error } = await read('scene://current')
      expect(error.message)
        .to.include('what an instance calls scheme://path is instance://<id>/scheme/path here')
        .and.not.include('mcp_url')
    })

    it('fails as that of the instance does, naming the address that was asked for', async () => {
      const missing = at(blender, 'nothing/here')
      const { error } = await read(missing)
      expect([error.code, error.data.uri]).to.deep.equal([-32602, missing])
      const inSession = await session.call('resources/read', { uri: missing })
      expect(inSession.error.code).to.equal(-32002)
      const wrong = await read(at(blender, 'scene/current?colour=red'))
      expect(wrong.error.message).to.include('known: view, pointer')
    })

    it('gives large contents byte for byte', async () => {
      const bytes = randomBytes(5_000_000)
      const hex = await blender.store(bytes)
      const { contents } = (await read(at(blender, `artefact/sha256/${hex}`))).result
      expect(Buffer.from(contents[0].blob, 'base64').equals(bytes)).to.equal(true)
      const scene = { note: `"\\${'é\n"'.repeat(200_000)}`, objects: [] }
      await maya.post('scene', scene)
      const answer = await read(at(maya))
      expect(JSON.parse(answer.result.contents[0].text)).to.deep.equal(scene)
      await maya.post('scene', sceneOf(5))
    })
  })

  it('completes the ids of instances, and has templates of what they serve', async () => {
    const any = 'instance://{instance_id}/{scheme}/{+path}'
    expect(await complete(any, 'instance_id', '')).to.have.members([
      blender.instanceId,
      maya.instanceId,
    ])
    const digits = blender.instanceId.replaceAll('-', '').slice(0, 12).toUpperCase()
    expect(await complete(any, 'instance_id', digits)).to.deep.equal([blender.instanceId])
    const { resourceTemplates } = (await callStateless(gateway.url, 'resources/templates/list'))
      .json.result
    const ofInstances = resourceTemplates
      .map(({ uriTemplate }: any) => uriTemplate)
      .filter((template: string) => template.startsWith('instance:'))
    expect(ofInstances).to.deep.equal(['instance://{instance_id}/scene/current', any])
  })

  describe('a subscription', () => {
    it('hears of its instance alone, under the address that was subscribed', async () => {
      const uri = `instance://${blender.instanceId.slice(0, 6)}/scene/current`
      await session.call('resources/subscribe', { uri })
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: [at(maya)] })
      await blender.post('scene', sceneOf(1))
      await events.until(() => events.updates.includes(uri), 'the update of Blender')
      await maya.post('scene', sceneOf(6))
      await stream.until(() => stream.updates.includes(at(maya)), 'the update of Maya')
      expect(new Set(events.updates)).to.deep.equal(new Set([uri]))
      expect(new Set(stream.updates)).to.deep.equal(new Set([at(maya)]))
      stream.close()
      await session.call('resources/unsubscribe', { uri })
    })

    it('is accepted however many other URIs of the instance other clients follow', async () => {
      const crowds = await Promise.all(
        [0, 450].map(from => {
          const part = (_: unknown, n: number) =>
            at(blender, `scene/${'x'.repeat(1950)}${from + n}`)
          const resourceSubscriptions = Array.from({ length: 450 }, part)
          return listenStateless(gateway.url, { resourceSubscriptions })
        }),
      )
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: [at(blender)] })
      await blender.post('scene', sceneOf(2))
      await stream.until(() => stream.updates.includes(at(blender)), 'the update of Blender')
      stream.close()
      for (const crowd of crowds) crowd.close()
    })

    it('is left out of a stream when its instance has ended, and the others stay', async () => {
      const ended = await serveInProcess({ registryDir })
      await until(async () => (await read(at(ended))).result !== undefined, 'the instance')
      await ended.stop()
      const isGone = async () => (await read(at(ended))).error?.data?.reason === 'instance_gone'
      await until(isGone, 'its end')
      const uris = [at(ended), at(blender), 'gateway://instances']
      const stream = await listenStateless(gateway.url, { resourceSubscriptions: uris })
      const { notifications } = stream.messages[0].params
      expect(notifications.resourceSubscriptions).to.deep.equal(uris.slice(1))
      await blender.post('scene', sceneOf(4))
      await stream.until(() => stream.updates.includes(at(blender)), 'the update')
    })

    it('is refused for what can never be heard of', async () => {
      const uri = 'instance://abcdef01/scene/current'
      const { error } = await session.call('resources/subscribe', { uri })
      expect(error.message).to.include('no such instance')
      const nothing = await session.call('resources/subscribe', { uri: at(blender, 'app/x') })
      expect(nothing.error.message).to.include('the instance says')
    })
  })

  it('hands out artefacts, whole and in ranges', async () => {
    const bytes = randomBytes(1_000_000)
    const hex = await maya.store(bytes, '', 'text/html')
    const base = new URL(gateway.url).origin
    const url = `${base}/instances/${maya.instanceId.slice(0, 8)}/artefacts/sha256/${hex}`
    const whole = await fetch(url)
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).to.equal(true)
    expect(whole.headers.get('content-security-policy')).to.include('sandbox')
    const part = await fetch(url, { headers: { Range: 'bytes=10-19' } })
    expect(part.status).to.equal(206)
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(10, 20))).to.equal(true)
    const known = await fetch(url, { headers: { 'If-None-Match': `"${hex}"` } })
    expect(known.status).to.equal(304)
    expect((await fetch(url.replace(hex, 'a'.repeat(64)))).status).to.equal(404)
    expect((await fetch(url, { method: 'POST' })).status).to.equal(405)
  })

  describe('an instance that has ended', () => {
    it('is told of by its own error, with cause and time, and by an update', async () => {
      const ending = await serveInProcess({ registryDir, flags: ['--dcc-type', 'houdini'] })
      const uri = at(ending)
      await until(async () => (await read(uri)).result !== undefined, 'the instance')
      await session.call('resources/subscribe', { uri })
      await ending.stop()
      await events.until(() => events.updates.includes(uri), 'the update')
      const { error } = await read(uri)
      const { instanceId: instance_id } = ending
      expect(error.message).to.match(/houdini.* has ended; last seen: 20.*; cause: /)
      expect(error.data).to.include({ uri, reason: 'instance_gone', instance_id })
      expect(error.data.cause).to.be.a('string')
      const { content } = await call('query_scene', { instance: instance_id })
      expect(content[0].text).to.include('has ended')
      const { stderr } = await runCommand(['resources', 'read', uri, '--url', gateway.url])
      expect(stderr).to.match(/error: houdini.* has ended; last seen: 20.*; cause: /)
      const again = await session.call('resources/subscribe', { uri })
      expect(again.error.message).to.include('has ended')
    })

    it('is told of by an update when its process ends and its record stays', async () => {
      const killed = await writeInstance(registryDir, { heartbeatMs: 600_000 })
      const uri = `instance://${killed.record.instance_id}/scene/current`
      await until(async () => !(await read(uri)).error.message.includes('no such'), 'the record')
      await session.call('resources/subscribe', { uri })
      const record = { ...killed.record, pid: 2 ** 22 + 5, pid_start: null }
      await writeFile(killed.path, JSON.stringify(record))
      await events.until(() => events.updates.includes(uri), 'the update')
      expect((await read(uri)).error.data.reason).to.equal('instance_gone')
      await killed.remove()
    })

    it('was last seen at its last heartbeat, also when a later gateway or a removed record tells', async () => {
      const ended = { pid: 2 ** 22 + 5, heartbeatMs: 600_000 }
      const ending = await writeInstance(registryDir, { ...ended, dccType: 'houdini' })
      const { instance_id: instanceId } = ending.record
      const record = join(registryDir, 'instances', `${instanceId}.json`)
      const lastSeen = '2026-01-02T03:04:05.000Z'
      await utimes(record, new Date(lastSeen), new Date(lastSeen))
      const later = await startAggregating(registryDir)
      const readLater = async (uri: string) =>
        (await callStateless(later.url, 'resources/read', { uri })).json
      const expectGone = async () =>
        expect((await readLater(at({ instanceId }))).error.data).to.include({
          reason: 'instance_gone',
          last_seen: lastSeen,
        })
      await expectGone()
      await rm(record)
      await until(async () => {
        const listed = await readLater('gateway://instances?include_dead=true')
        return !JSON.stringify(listed).includes(instanceId)
      }, 'its row is gone')
      await expectGone()
    })

    it('is not said to have stopped when only its record is gone', async () => {
      const uri = at(maya)
      const path = join(registryDir, 'instances', `${maya.instanceId}.json`)
      const record = await readFile(path)
      await rm(path)
      await until(async () => (await read(uri)).error?.data.reason === 'instance_gone', 'its end')
      const { cause } = (await read(uri)).error.data
      expect(cause).to.equal('its record was removed, as by an instance that stops')
      await writeFile(path, record)
      await until(async () => (await read(uri)).result !== undefined, 'it is back')
    })

    it('never answers with what another one has, at the same address', async () => {
      // A record that names the address of Blender.
      const forged = await writeInstance(registryDir, { url: blender.url })
      const uri = `instance://${forged.record.instance_id}/scene/current`
      await until(async () => !(await read(uri)).error?.message.includes('no such'), 'the record')
      const { error } = await read(uri)
      expect(error.message).to.include('another program has the address')
      await forged.remove()
    })

    it('never has the gateway ask itself', async () => {
      const forged = await writeInstance(registryDir, { url: gateway.url })
      const uri = `instance://${forged.record.instance_id}/scene/current`
      await until(async () => !(await read(uri)).error?.message.includes('no such'), 'the record')
      const message = 'its address is that of this gateway'
      expect((await read(uri)).error.message).to.include(message)
      const { content } = await call('query_scene', { instance: forged.record.instance_id })
      expect(content[0].text).to.include(message)
      await forged.remove()
    })
  })
})

describe('a client of a gateway', () => {
  for (const flags of [[], ['--aggregate']]) {
    const isWarned = flags.length === 0
    it(`is set up ${isWarned ? 'with' : 'without'} a warning that it would only see the listing`, async () => {
      const registryDir = newFolder()
      const gateway = gatewayInProcess({ port: 0, registryDir, flags })
      const { url } = await gateway.line('listening')
      const folder = ['--registry-dir', registryDir]
      const configured = await runCommand(['mcp-config', 'cursor', '--gateway', ...folder])
      // Its log goes past `process.stderr`.
      const connected = await runProgram(['connect', 'gateway', ...folder])
      for (const { code, stderr } of [configured, connected]) {
        expect(code).to.equal(0)
        expect(stderr.includes('restart it with --aggregate')).to.equal(isWarned, stderr)
      }
      expect(configured.stdout).to.include(`"url": "${url}"`)
      await gateway.stop()
    })
  }
})
