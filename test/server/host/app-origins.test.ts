import { expect } from 'chai'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { expectEnd } from '../../helpers/in-process.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { helloOf, LinkClient } from '../../helpers/link.ts'
import { type Answer, ask, RawSession } from '../../helpers/mcp.ts'
import { type RunningServe, runServe, startServeProcess } from '../../helpers/serve-process.ts'

const viewer = 'https://viewer.example'
const local = 'http://localhost:5173'
const other = 'https://other.example'

describe('the pages of serve --app-origin', () => {
  let serve: RunningServe
  let token: string

  before(async () => {
    const flags = ['--app-origin', viewer, '--app-origin', local]
    serve = await serveInProcess({ flags })
    token = serve.pageTokens.get(viewer) ?? ''
  })

  /** What the server sends to a page whose first message is this, up to the close or `until`. */
  async function link(origin: string, first: object, ...more: object[]) {
    const ws = new WebSocket(serve.hostUrl.replace('http', 'ws'), 'dcc-host.v1', { origin })
    const messages: any[] = []
    const closed = once(ws, 'close').then(([code]) => code as number)
    ws.on('message', data => {
      messages.push(JSON.parse(String(data)))
      if (messages.length > more.length) ws.terminate()
    })
    await once(ws, 'open')
    ws.send(JSON.stringify(first))
    for (const message of more) ws.send(JSON.stringify(message))
    return { code: await closed, messages }
  }

  const post = (
    path: string,
    headers: Record<string, string>,
    body: object = {},
    method = 'POST',
  ) =>
    ask(`${serve.hostUrl}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const page = () => ({ Origin: viewer, Authorization: `Bearer ${token}` })
  const allowed = ({ headers }: Answer) => headers['access-control-allow-origin']

  it('link with their token in the hello, also beside strangers that show none', async () => {
    const strangers = Array.from({ length: 20 }, () => {
      return new WebSocket(serve.hostUrl.replace('http', 'ws'), 'dcc-host.v1', { origin: viewer })
    })
    await Promise.all(strangers.map(ws => once(ws, 'open')))
    expect([...serve.pageTokens.keys()]).to.deep.equal([viewer, local])
    expect(new Set(serve.pageTokens.values()).size).to.equal(2)
    for (const origin of [viewer, local]) {
      const hello = helloOf({ token: serve.pageTokens.get(origin) })
      expect((await link(origin, hello)).messages[0]).to.include({ type: 'welcome' })
    }
    await (await LinkClient.connect(serve)).bye()
    for (const ws of strangers) ws.terminate()
  })

  it('are closed with 4401 without it, and told nothing', async () => {
    const { pageTokens } = serve
    for (const wrong of [undefined, '', serve.token, pageTokens.get(local), 7, [token]]) {
      const { code, messages } = await link(viewer, helloOf({ token: wrong }), {
        type: 'x',
        id: '1',
      })
      expect([code, messages], String(wrong)).to.deep.equal([4401, []])
    }
    expect((await link(viewer, { type: 'bye', token })).code).to.equal(4400)
    const session = await RawSession.open(serve.url)
    const { entries } = await session.readJson('audit://recent')
    const refused = entries.filter(({ outcome }: any) => outcome.denied?.reason === 'token_wrong')
    expect(refused).not.to.deep.equal([])
  })

  it('record no audit and have no notes', async () => {
    const hello = helloOf({ token, notes: true, document: { path: '/a.view' } })
    const { messages } = await link(
      viewer,
      hello,
      { type: 'audit.record', id: 'audit', records: [{ action: 'x' }] },
      { type: 'note.add', id: 'note', note: { text: 'x' } },
      { type: 'note.act', id: 'act', note: 'x', action: 'accept' },
    )
    const answers = messages.filter(({ id }) => id !== undefined)
    expect(answers.map(({ id, code }) => [id, code])).to.deep.equal([
      ['audit', 'unsupported'],
      ['note', 'unsupported'],
      ['act', 'unsupported'],
    ])
    expect(messages.map(({ type }) => type)).not.to.include('notes')
  })

  it('post scene, document, events and artefacts, and read the answers', async () => {
    const posts: [path: string, body: object, method?: string][] = [
      ['/v1/scene', { objects: [{ id: 'a' }] }],
      ['/v1/scene', { objects: [{ id: 'b' }] }, 'PATCH'],
      ['/v1/app', { document: { path: '/shots/010.view' } }],
      ['/v1/events/viewer', { events: [] }],
      ['/v1/artefacts', {}],
    ]
    for (const [path, body, method] of posts) {
      const answer = await post(path, page(), body, method)
      expect([answer.status < 300, allowed(answer)], path).to.deep.equal([true, viewer])
    }
    const preflight = await ask(`${serve.hostUrl}/v1/scene`, {
      method: 'OPTIONS',
      headers: { Origin: viewer, 'Access-Control-Request-Method': 'PATCH' },
    })
    expect(preflight.status).to.equal(204)
    expect(preflight.headers).to.include({
      'access-control-allow-origin': viewer,
      'access-control-allow-methods': 'POST, PATCH',
      'access-control-allow-headers': 'Authorization, Content-Type',
      vary: 'Origin',
    })
  })

  it('may not use other addresses of the host link', async () => {
    const posts = ['audit', 'notes', 'notes/import', 'checkpoints', 'page-login']
    const answers = [
      ...(await Promise.all(posts.map(path => post(`/v1/${path}`, page())))),
      await ask(`${serve.hostUrl}/v1/notes`, { headers: page() }),
      await ask(`${serve.hostUrl}/v1/artefacts/${'0'.repeat(64)}`, {
        method: 'DELETE',
        headers: page(),
      }),
    ]
    for (const { status, json } of answers) {
      expect([status, json.code]).to.deep.equal([403, 'request-refused'])
    }
  })

  it('need the token of their origin for every post, and reach nothing else', async () => {
    const wrong: [string, Record<string, string>, number][] = [
      ['none', { Origin: viewer }, 401],
      ['the host token', { ...page(), Authorization: `Bearer ${serve.token}` }, 401],
      ['that of another page', { ...page(), Origin: local }, 401],
      ['no origin', { Authorization: `Bearer ${token}` }, 401],
      ['another origin', { ...page(), Origin: other }, 403],
      ['another page of this machine', { ...page(), Origin: 'http://localhost:1' }, 403],
      ['a proxy', { ...page(), 'X-Forwarded-For': '10.0.0.1' }, 403],
      ['another host', { ...page(), Host: 'evil.example' }, 403],
    ]
    for (const [what, headers, status] of wrong) {
      expect((await post('/v1/scene', headers)).status, what).to.equal(status)
    }
    expect(allowed(await post('/v1/scene', { ...page(), Origin: other }))).to.equal(undefined)
    for (const path of ['/mcp', '/healthz', '/hosts']) {
      const answer = await ask(`${serve.base}${path}`, { method: 'POST', headers: page() })
      expect([answer.status, allowed(answer)], path).to.deep.equal([403, undefined])
    }
  })

  it('have a token that opens no /mcp', async () => {
    const flags = ['--app-origin', local, '--auth', 'api-key']
    const keyed = await serveInProcess({ flags, env: { SERVICE_MCP_API_KEY: 'k'.repeat(43) } })
    const Authorization = `Bearer ${keyed.pageTokens.get(local)}`
    const answer = await ask(keyed.url, {
      method: 'POST',
      headers: { Origin: local, Authorization },
    })
    await keyed.stop()
    expect([answer.status, allowed(answer)]).to.deep.equal([401, undefined])
  })
})

describe('serve --app-origin', () => {
  it('prints the token once, and logs it never', async () => {
    const serve = await startServeProcess({ flags: ['--app-origin', local] })
    const token = serve.pageTokens.get(local) ?? ''
    await serve.post('scene', {})
    const { stdout, stderr } = await serve.stop()
    expect(stdout.split(token).length).to.equal(2)
    expect(stderr).not.to.contain(token)
  })

  it('refuses what is no origin', async () => {
    for (const value of ['localhost:5173', 'http://localhost:5173/viewer', '*', 'file://']) {
      expectEnd(
        await runServe(['--app-origin', value]),
        2,
        `--app-origin ${value} is not an origin`,
        'write it as https://studio.example',
      )
    }
    const { stderr } = await runServe(['--stdio', '--app-origin', local])
    expect(stderr).to.contain('--app-origin is not for --stdio')
  })
})
