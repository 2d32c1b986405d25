import { expect } from 'chai'
import { join } from 'node:path'
import { startAggregating } from '../gateway/aggregating.ts'
import { greyPng } from '../../helpers/pictures.ts'
import type { GatewayHandle } from '../../../src/server/gateway.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { LinkClient } from '../../helpers/link.ts'
import { RawSession, toolCall } from '../../helpers/mcp.ts'
import { callStateless } from '../../helpers/stateless.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const home = newFolder()

const light = { id: 'Key Light', name: 'Key Light', type: 'light', visible: true }
const ball = { id: 'Ball', name: 'Ball', type: 'mesh', visible: false }
const sceneOf = (frame: number) => ({
  schema: 'dcc-scene/1',
  document: { name: 'shot_010.blend', path: '/shots/shot_010.blend' },
  time: { frame },
  objects: [light, ball],
})

/** Each value in the data. */
function leaves(value: unknown, path = ''): (readonly [path: string, text: string])[] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]]
  return Object.entries(value).flatMap(([name, each]) => leaves(each, `${path}/${name}`))
}

/** What words tell in their own way: `changed: false` as "no change". */
const ownWords: readonly (readonly [path: RegExp, words: RegExp])[] = [
  [/^\/changed$/, /^(no change|changed): /],
  [/^\/proof\/settled$/, /is answered/],
  [/\/share$/, / % of the pixels changed/],
  // The place and the kind of a change: the words name the object and the member.
  [/^\/changes\/\d+\/(path|kind)$/, /changed/],
]

function expectAllSaid({ content, structuredContent }: any): void {
  const words = content.map(({ text }: any) => text ?? '').join('\n')
  expect(structuredContent, words).to.be.an('object')
  for (const [path, text] of leaves(structuredContent)) {
    const own = ownWords.find(([of]) => of.test(path))
    if (own === undefined) expect(words, path).to.contain(text)
    else expect(words, path).to.match(own[1])
  }
}

describe('the answers of the tools of serve and of a gateway', () => {
  let serve: RunningServe
  let gateway: GatewayHandle
  let app: LinkClient
  let session: RawSession
  let relayed: RawSession
  let grey = 100

  before(async () => {
    const env = { HOME: home, XDG_DATA_HOME: join(home, 'data') }
    serve = await serveInProcess({ env, registryDir: home })
    gateway = await startAggregating(home)
    app = await LinkClient.connect(serve, {
      app: { dcc_type: 'paint', mode: 'gui' },
      capture: { targets: ['window', 'viewport'], shots: true },
    })
    app.answer = ({ type, uri }) => {
      if (type === 'capture') return { png: greyPng(16, 8, grey), view: { matrix: [1] } }
      const name = decodeURIComponent(uri.replace('paint-object://', ''))
      if (!['Key Light', 'Schlüssel #1 [50%]', 'NoId'].includes(name)) {
        return { code: 'not_found', message: '' }
      }
      const text = `{"name":"${name}","energy":10.0}`
      return { contents: [{ uri, mimeType: 'application/json', text }] }
    }
    await app.done({
      type: 'producer.register',
      scheme: 'paint-object',
      resources: [],
      templates: [{ uriTemplate: 'paint-object://{name}', name: 'One object' }],
    })
    session = await RawSession.open(serve.url)
    relayed = await RawSession.open(gateway.url)
    await show(1)
    await until(async () => {
      const { result } = await relayed.call('tools/call', toolCall('query_scene'))
      return result.isError !== true
    }, 'the instance at the gateway')
  })

  async function show(frame: number, visible = true): Promise<void> {
    const scene = { ...sceneOf(frame), objects: [{ ...light, visible }, ball] }
    await app.done({ type: 'scene.set', scene })
  }
  const call = async (name: string, args: object = {}, from = session) =>
    (await from.call('tools/call', toolCall(name, args))).result
  const addNote = async (members: object = {}) =>
    (await serve.post('notes', { text: 'Too bright', author: 'ada', ...members })).json.note

  it('say when there is no note', async () => {
    expect((await call('list_notes')).content[0].text).to.equal('no open notes')
  })

  it('have nothing in their data that the words lack', async () => {
    const note = await addNote({ targets: ['Key Light'], view: { matrix: [1] } })
    const { revision: since } = (await call('query_scene')).structuredContent
    await show(2, false)
    grey = 200
    await addNote({ text: 'Too dark' })
    expectAllSaid(await call('answer_note', { id: note.id, text: 'Dimmed' }))
    const { instanceId: instance } = serve
    for (const [name, args] of [
      ['query_scene', {}],
      ['query_scene', { type: 'light' }],
      ['query_scene', { ids: ['Key Light'], detail: true }],
      ['scene_changes', { since }],
      ['wait_for_change', { since }],
      ['wait_for_change', { timeout_s: 1, uris: ['paint-object://Key Light'] }],
      ['list_notes', {}],
      ['list_notes', { state: 'all', max_chars: 450 }],
    ] as const) {
      expectAllSaid(await call(name, args))
      expectAllSaid(await call(name, { ...args, instance }, relayed))
    }
  })

  it('are words alone where no data is asked for', async () => {
    await show(2)
    const calls: [name: string, args: object][] = [
      ['list_resources', {}],
      ['read_resource', { uri: 'scene://current' }],
      ['query_scene', {}],
      ['scene_changes', {}],
      ['look', {}],
      ['wait_for_change', { since: 1 }],
      ['list_notes', {}],
    ]
    for (const [name, args] of calls) {
      for (const [from, given] of [
        [session, args],
        [relayed, { ...args, instance: serve.instanceId }],
      ] as const) {
        const { result } = await from.call('tools/call', { name, arguments: given })
        expect(result, name).to.have.all.keys('content')
        for (const item of result.content) expect(item, name).to.not.have.property('_meta')
      }
    }
  })

  it('tell all of an object by its name, in any spelling of its URI', async () => {
    const asked = ['Key Light', 'paint-object://Key Light', 'paint-object://Key%20Light']
    for (const uri of asked) {
      const { content } = await call('read_resource', { uri })
      expect(content[0].text, uri).to.equal('{"name":"Key Light","energy":10.0}')
    }
    for (const uri of ['Schlüssel #1 [50%]', 'paint-object://Schlüssel #1 [50%]']) {
      expect((await call('read_resource', { uri })).content[0].text).to.contain('"energy":10.0')
    }
    const ofScene = await call('read_resource', { uri: 'Ball' })
    expect(JSON.parse(ofScene.content[0].text).items).to.deep.equal([ball])
    const missing = await call('read_resource', { uri: 'Bell' })
    expect(missing.content[0].text).to.match(
      /^resource_not_found: no object .* called "Bell"; query/,
    )
  })

  it('are of an object by its name at a gateway of one instance', async () => {
    const { content } = await call('read_resource', { uri: 'Key Light' }, relayed)
    expect(content[0].text).to.equal('{"name":"Key Light","energy":10.0}')
    const uris = ['Key Light']
    const waited = await call('wait_for_change', { timeout_s: 1, uris }, relayed)
    expect(waited.structuredContent).to.include({ changed: false })
    expect(waited.content[0].text).to.match(/^no change: nothing .*changed in 1 s/)
  })

  it('have the details of chosen objects', async () => {
    const { content } = await call('query_scene', { ids: ['Key Light', 'Ball'], detail: true })
    expect(content[0].text).to.contain('"detail":{"name":"Key Light","energy":10.0}')
    const { items } = JSON.parse(content[0].text)
    expect(items.map(({ id }: any) => id)).to.deep.equal(['Key Light', 'Ball'])
    expect(items[1].no_detail).to.contain('no resource at paint-object://Ball')
    const refused = await call('query_scene', { type: 'light', detail: true })
    expect(refused.content[0].text).to.equal('argument_invalid: detail needs ids')
  })

  it('to people name the client, and are not given twice', async () => {
    await addNote()
    const note = await addNote()
    await call('answer_note', { id: note.id, text: 'Done' })
    const [{ by }] = (await session.readJson(`notes://${note.id}`)).entries
    expect(by).to.equal('test')
    const params = toolCall('answer_note', { id: note.id, text: 'Done again' })
    const again = (await callStateless(serve.url, 'tools/call', params)).json.result
    expect(again.content[0].text).to.match(/^note_state: /)
    await serve.post(`notes/${note.id}/reopen`, { text: 'Not yet' })
    await callStateless(serve.url, 'tools/call', params)
    const listed = await call('list_notes')
    expect(listed.content[0].text).to.match(
      /answered, waits for the person, do not answer again; from ada .*; last: answer by test at .*: "Done again"/,
    )
    expect(listed.content[0].text).to.contain(': open, waits for you; from ada')
  })
})
