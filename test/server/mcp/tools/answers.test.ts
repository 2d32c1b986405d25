import { expect } from 'chai'
import { startServer, type TestServer, toolCall } from '../../../helpers/mcp.ts'
import { callStateless } from '../../../helpers/stateless.ts'

describe('answers of tools', () => {
  let server: TestServer
  before(async () => (server = await startServer({ enableTools: true })))

  const call = async (name: string, args: object = {}, { url } = server): Promise<any> =>
    (await callStateless(url, 'tools/call', toolCall(name, args))).json.result
  /** Long enough that a delta of all of them is shorter. */
  const note = 'x'.repeat(200)
  const objects = Array.from({ length: 300 }, (_, at) => ({ id: `o${at}`, x: 0, note }))

  it('are a page, a value, a change, a reset and cut words', async () => {
    const resources = server.server.resources()
    const revision = resources.setScene({ frame: 1, objects })
    expect((await call('query_scene', { limit: 2 })).structuredContent.items).to.have.length(2)
    expect((await call('query_scene', { pointer: '/frame' })).structuredContent).to.include({
      value: 1,
    })
    const waiting = call('wait_for_change', { since: revision })
    resources.setScene({ frame: 2, objects: objects.map((each, x) => ({ ...each, x })) })
    expect((await waiting).structuredContent).to.include({ changed: true })
    const reset = await call('scene_changes', { since: 1, run: 'earlier' })
    expect(reset.structuredContent).to.include({ reset: true })
    const cut = await call('scene_changes', { max_chars: 500 })
    expect(cut.content[0].text.length).to.be.at.most(500)
    expect(cut.content[0].text).to.match(/\n… \d+ more lines\ngo on with since=\d+, run=\w+$/)
  })

  it('say that the application is gone, also when nothing changed', async () => {
    const own = await startServer({ enableTools: true })
    const { scene } = own.server.resources()
    const app = { instanceId: 'run-1', dccType: 'blender' }
    scene.setApplication({ ...app, connected: true })
    scene.setApplication({ ...app, connected: false })
    const before = await call('read_resource', { uri: 'scene://current' }, own)
    expect(JSON.stringify(before.content)).to.match(/gone since \S+Z; it left no scene"/)
    scene.setApplication({ ...app, connected: true })
    const since = own.server.resources().scene.replaceText('{"frame":1}', 'run-1')
    const ask = (name: string, args: object = {}) => call(name, args, own)
    expect((await ask('query_scene')).structuredContent).to.not.have.property('application')
    const waiting = ask('wait_for_change', { since })
    // Goes once the call waits: tools are called in the order of their arrival.
    await ask('list_resources')
    scene.setApplication({ ...app, connected: false })
    expect((await waiting).content[0].text).to.match(/\nthe application is gone since 2/)
    const answers = [
      await ask('query_scene'),
      await ask('scene_changes', { since }),
      await ask('wait_for_change', { since, timeout_s: 1 }),
    ]
    for (const { structuredContent, content } of answers) {
      expect(structuredContent.application).to.include({ connected: false })
      expect(content[0].text).to.match(/gone since|"connected":false/)
    }
    for (const uri of ['scene://current', 'scene://current?view=summary', 'scene://delta']) {
      const { content } = await ask('read_resource', { uri })
      expect(content.at(-1).text).to.match(/^\nthe application is gone since 2/)
    }
    scene.setApplication({ ...app, instanceId: 'run-2', connected: true })
    own.server.resources().scene.replaceText('{"frame":2}', 'run-2')
    for (const name of ['wait_for_change', 'scene_changes']) {
      const { structuredContent, content } = await ask(name, { since })
      expect(content[0].text).to.match(/\nthe application connected at 2/)
      expect(structuredContent.application).to.include({ connected: true })
    }
    const seen = own.server.resources().scene.current.revision
    own.server.resources().scene.replaceText('{"frame":3}', 'run-2')
    expect((await ask('scene_changes', { since: seen })).structuredContent).to.not.have.property(
      'application',
    )
    scene.setApplication({ ...app, instanceId: 'run-2', connected: false })
    own.server.resources().setScene(null)
    const { content } = await ask('scene_changes')
    expect(content[0].text).to.match(
      /no scene is shared now; wait for a change of scene:\/\/current/,
    )
    expect(content[0].text).to.not.contain('its last')
  })

  it('of selections: an empty scene has no objects, a summary is whole or refused', async () => {
    server.server.resources().setScene({ objects: [] })
    const none = await call('query_scene', { type: 'light' })
    expect(none.structuredContent).to.include({ total: 0, returned: 0 })
    const names = Array.from({ length: 40 }, (_, at) => `Set ${at}`)
    const collections = names.map(name => ({ name, parent: null, objects: 1 }))
    server.server.resources().setScene({ schema: 'dcc-scene/1', collections, objects })
    const refused = await call('query_scene', { view: 'summary', max_chars: 500 })
    expect(refused.content[0].text).to.contain('the answer is longer than max_chars (500)')
  })

  it('treat names of JavaScript as any other name', async () => {
    server.server
      .resources()
      .setScene(
        JSON.parse('{"objects":[{"id":"a","__proto__":{"x":1},"constructor":7},{"id":"b"}]}'),
      )
    const fields = await call('query_scene', { fields: ['__proto__', 'constructor'] })
    const [own, none] = fields.structuredContent.items
    expect(Object.keys(own)).to.have.members(['id', '__proto__', 'constructor'])
    expect(Object.keys(none)).to.deep.equal(['id'])
    const where = await call('query_scene', { where: 'constructor:7' })
    expect(where.structuredContent.items.map((each: any) => each.id)).to.deep.equal(['a'])
    const pointer = await call('query_scene', { pointer: '/objects/1/constructor' })
    expect(pointer.content[0].text).to.match(/^resource_uri_invalid: pointer leads to nothing/)
    const wrong = await call('query_scene', { constructor: 1 })
    expect(wrong.content[0].text).to.match(/^argument_invalid: unknown argument "constructor"/)
  })
})
