import { expect } from 'chai'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { LinkClient } from '../../helpers/link.ts'
import { ask, RawSession } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

/** As Python writes a byte of a file name that is not UTF-8. */
const half = '\\udc80'
const scene = `{"schema":"dcc-scene/1","document":{"path":"/a/${half}.blend"},"objects":[{"id":"L${half}","name":"L${half}","type":"light","note":"\\ud83d\\ude00 \\\\ud83d \\uD83D"}]}`

describe('half a surrogate pair', () => {
  let serve: RunningServe
  let session: RawSession
  before(async () => {
    serve = await serveInProcess({ flags: ['--dcc-type', 'blender'] })
    session = await RawSession.open(serve.url)
  })

  /** What a strict client would refuse: an escape or a character of half a pair, at any level. */
  const expectWellFormed = (value: unknown, where: string): void => {
    if (typeof value === 'string') {
      expect(value.isWellFormed(), `${where}: ${value}`).to.equal(true)
      if (value.startsWith('{')) expectWellFormed(JSON.parse(value), `${where} as JSON`)
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, each] of Object.entries(value)) {
        expectWellFormed(name, where)
        expectWellFormed(each, `${where}/${name}`)
      }
    }
  }
  const call = async (method: string, params: object): Promise<any> => {
    const message = await session.call(method, params)
    expectWellFormed(message, method)
    return message.result ?? message.error
  }
  const read = async (uri: string): Promise<string> =>
    (await call('resources/read', { uri })).contents[0].text
  const tool = async (name: string, args: object = {}): Promise<string> =>
    (await call('tools/call', { name, arguments: args })).content[0].text

  it('becomes U+FFFD in the scene, its parts, its summary and its changes', async () => {
    expect(await serve.post('scene', scene)).to.include({ status: 200 })
    expect(JSON.parse(await read('scene://current')).objects[0]).to.deep.equal({
      id: 'L\ufffd',
      name: 'L\ufffd',
      type: 'light',
      note: '\ud83d\ude00 \\ud83d \ufffd',
    })
    expect(await read('scene://current?type=light')).to.contain('L\ufffd')
    expect(await read('scene://current?view=summary')).to.contain('/a/\ufffd.blend')
    const patch = `{"objects":[{"id":"L${half}","name":"New ${half}"}],"members":{"m${half}":1}}`
    const answer = await ask(`${serve.hostUrl}/v1/scene`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${serve.token}`, 'Content-Type': 'application/json' },
      body: patch,
    })
    expect(answer).to.include({ status: 200 })
    expect(await read('scene://current')).to.contain('New ')
    await read('scene://delta')
    expect(await tool('scene_changes')).to.contain('New \ufffd')
    expect(await tool('query_scene', { ids: ['L\ufffd'] })).to.contain('New \ufffd')
    await tool('query_scene')
  })

  it('in one name of an application leaves its list and its resources readable', async () => {
    const app = await LinkClient.connect(serve)
    const listed = `[{"uri":"app://1","name":"bad ${half}"},{"uri":"app://2","name":"good"}]`
    app.say(`{"type":"producer.register","id":"1","scheme":"app","resources":${listed}}`)
    app.say(`{"type":"scene.set","id":"2","scene":${scene}}`)
    app.say(`{"type":"app.update","id":"3","document":{"path":"/x/${half}.blend"}}`)
    await app.until(() => app.ofType('ok').length === 3, 'all answers')
    const { resources } = await call('resources/list', {})
    const names = resources.map(({ name }: { name: string }) => name)
    expect(names).to.include.members(['bad \ufffd', 'good'])
    expect(await tool('list_resources', { scheme: 'app' })).to.contain('bad \ufffd')
    expect(await read('scene://current')).to.contain('L')
    app.answer = ({ uri }) => ({
      contents: [{ uri, mimeType: 'application/json', text: `{"name":"${half}","n":1.0}` }],
    })
    expect(await read('app://1')).to.equal('{"name":"\\ufffd","n":1.0}')
    // A text that is no JSON may speak of escapes.
    app.answer = ({ uri }) => ({ contents: [{ uri, mimeType: 'text/plain', text: `say ${half}` }] })
    expect(await read('app://2')).to.equal(`say ${half}`)
  })
})
