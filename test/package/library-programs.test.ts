import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ask, RawSession } from '../helpers/mcp.ts'
import { childEnv, installPackage, programs, run, running, urlIn } from './installed.ts'

describe('the programs of docs/library.md', function () {
  this.timeout(180_000)
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'library-'))
    await installPackage(folder)
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const file = (name: string) => join(folder, name)

  it('are all tested here', () => {
    const servers = ['minimal.ts', 'state.ts', 'window.ts', 'key.ts', 'policy.ts']
    const others = ['oauth.ts', 'embedded.ts', 'limits.ts']
    expect([...programs.keys()]).to.deep.equal([...servers, ...others])
  })

  it('minimal.ts serves its scene', () =>
    running(file('minimal.ts'), {}, async line => {
      const session = await RawSession.open(urlIn(line))
      expect(await session.readJson('scene://current')).to.deep.equal({ objects: ['Cube'] })
      const events = await session.listen()
      expect(events.ended).to.equal(false)
    }))

  it('state.ts serves every kind of state', async () => {
    const data = join(folder, 'data')
    await mkdir(data, { mode: 0o700 })
    await running(file('state.ts'), { DATA_DIR: data }, async line => {
      const session = await RawSession.open(urlIn(line))
      const scene = await session.readJson('scene://current')
      expect(scene.objects).to.deep.equal([{ id: 'Cube', visible: true }])
      const { entries } = await session.readJson('audit://recent')
      expect(entries[0]).to.include({ action: 'mesh.create', actor: 'claude' })
      const { events } = await session.readJson('events://session/render-12')
      expect(events[0]).to.include({ source: 'farm', job_id: 'render-12' })
      const uri = /artefact:\S+/.exec(line)?.[0]
      const artefact = await session.call('resources/read', { uri })
      expect(atob(artefact.result.contents[0].blob)).to.equal('frame one')
      const guide = await session.call('resources/read', { uri: 'guide://rig' })
      expect(guide.result.contents[0].text).to.equal('# How the new rig works')
    })
  })

  it('window.ts serves its picture', () =>
    running(file('window.ts'), {}, async line => {
      const session = await RawSession.open(urlIn(line))
      const uri = 'capture://current_window'
      const { result } = await session.call('resources/read', { uri })
      expect(result.contents[0].mimeType).to.equal('image/png')
      expect(result.contents[0].blob).to.match(/^iVBORw0KGgo/)
    }))

  it('key.ts requires the key and does not start without one', async () => {
    const key = 'k'.repeat(43)
    await running(file('key.ts'), { SERVICE_MCP_API_KEY: key }, async line => {
      expect((await ask(urlIn(line))).status).to.equal(401)
      await RawSession.open(urlIn(line), '2025-11-25', { Authorization: `Bearer ${key}` })
    })
    const { status, stderr } = spawnSync(process.execPath, [file('key.ts')], {
      env: childEnv({ PORT: '0' }),
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect(status).to.equal(2)
    expect(stderr).to.match(/example to [\w-]{43}$/m)
  })

  it('policy.ts separates its users', () =>
    running(file('policy.ts'), {}, async line => {
      const ada = { Authorization: 'Bearer token-of-ada' }
      const session = await RawSession.open(urlIn(line), '2025-11-25', ada)
      const grace = { Authorization: 'Bearer token-of-grace' }
      const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
      expect((await session.post(ping)).status).to.equal(200)
      expect((await session.post(ping, grace)).status).to.equal(404)
      expect((await session.post(ping, { Authorization: 'Bearer x' })).status).to.equal(401)
    }))

  it('oauth.ts prints the endpoints and the document', () => {
    const [endpoints, document = ''] = run(process.execPath, [file('oauth.ts')], folder).split('\n')
    const realm = 'https://id.studio.example/realms/film'
    expect(endpoints).to.equal(`${realm}/authorize ${realm}/token`)
    expect(JSON.parse(document)).to.deep.equal({
      client_id: 'https://mcp.studio.example/.well-known/oauth-client-metadata',
      client_name: 'Blender of Ada',
      redirect_uris: ['http://127.0.0.1:8765/oauth/callback'],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'openid scene:read',
    })
  })

  it('embedded.ts serves its own page and /mcp', () =>
    running(file('embedded.ts'), {}, async line => {
      const { port } = JSON.parse(line.slice(line.indexOf('{')))
      const base = `http://127.0.0.1:${port}`
      // A connection that is kept open would keep the embedding server, not this one, waiting.
      const page = await ask(base, { headers: { Connection: 'close' } })
      expect(page.text).to.equal('the page of the studio')
      const close = { Connection: 'close' }
      const session = await RawSession.open(`${base}/mcp`, '2025-11-25', close)
      expect(await session.readJson('audit://recent')).to.include({ count: 0 })
      const events = await session.listen()
      expect(events.ended).to.equal(false)
    }))

  it('limits.ts prints port_in_use', () => {
    const said = run(process.execPath, [file('limits.ts')], folder)
    expect(said).to.match(/^port_in_use: .*--port 0/)
  })
})
