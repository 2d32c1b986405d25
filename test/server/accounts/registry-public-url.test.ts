import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { ask } from '../../helpers/mcp.ts'
import { accountsInProcess } from '../../helpers/in-process-servers.ts'

const auth = '/api/v1/auth'
const name = 'registry.studio.example'

describe('service-cli registry --public-url', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-public-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('takes its name as Host; under it old access tokens end, refresh and service tokens go on', async () => {
    const local = await accountsInProcess({ dataDir: folder })
    const send = (url: string, body: object, token?: string) =>
      ask(url, {
        method: 'POST',
        headers: {
          Host: name,
          'Content-Type': 'application/json',
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(body),
      })
    const login = await ask(`${local.url}${auth}/register`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        username: 'alice',
        email: 'alice@studio.example',
        password: 'a long and honest phrase',
      }),
    })
    const { access_token, refresh_token } = login.json
    const refused = await send(`${local.url}${auth}/tokens`, { name: 'ci' }, access_token)
    expect(refused.json.code).to.equal('host-not-allowed')
    const service = await ask(`${local.url}${auth}/tokens`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${access_token}` },
      body: JSON.stringify({ name: 'ci' }),
    })
    await local.stop()

    const port = await freePort()
    const flags = ['--public-url', `https://${name}`, '--port', String(port)]
    const open = await accountsInProcess({ dataDir: folder, flags })
    const url = `http://127.0.0.1:${port}${auth}`
    const meOf = async (token: string, host = name) => {
      const headers = { Host: host, Authorization: `Bearer ${token}` }
      const { json } = await ask(`${url}/me`, { headers })
      return json.code ?? json.username
    }
    try {
      expect(await meOf(access_token)).to.equal('token-invalid')
      expect(await meOf(service.json.token)).to.equal('alice')
      const refreshed = await send(`${url}/refresh`, { refresh_token })
      const token = refreshed.json.access_token
      const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
      expect(claims).to.include({ iss: `https://${name}`, aud: `https://${name}` })
      expect(await meOf(token, `${name}:8443`)).to.equal('alice')
      expect(await meOf(token, `127.0.0.1:${port}`)).to.equal('alice')
      expect(await meOf(token, 'other.example')).to.equal('host-not-allowed')
    } finally {
      await open.stop()
    }
  })

  it('counts the failures of all clients together when a proxy stands in front', async () => {
    const flags = ['--limit', 'maxLoginFailures=2']
    const registry = await accountsInProcess({ dataDir: folder, flags })
    const tryFrom = async (address: string) => {
      const { status } = await ask(`${registry.url}${auth}/login`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
        body: JSON.stringify({ username: 'nobody', password: 'wrong' }),
      })
      return status
    }
    try {
      expect(await tryFrom('192.0.2.1')).to.equal(401)
      expect(await tryFrom('192.0.2.2')).to.equal(401)
      expect(await tryFrom('192.0.2.3')).to.equal(429)
    } finally {
      await registry.stop()
    }
  })
})
