import { expect } from 'chai'
import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { type RunningAccounts, createAccountsOwner, createCaller } from '../helpers/accounts.ts'
import { freePort } from '../helpers/free-port.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'
import { runCommand } from '../helpers/in-process.ts'
import { ask } from '../helpers/mcp.ts'

const auth = '/api/v1/auth'

describe('service-cli registry', () => {
  let folder: string
  let dataDir: string
  beforeEach(() => {
    folder = newFolder()
    dataDir = join(folder, 'data')
  })

  async function serving(
    use: (registry: RunningAccounts, caller: ReturnType<typeof createCaller>) => Promise<unknown>,
    ...flags: string[]
  ): Promise<void> {
    const registry = await accountsInProcess({ dataDir, flags: flags })
    await use(registry, createCaller(registry.url))
    await registry.stop()
  }

  it('keeps accounts and what was ended over a restart, for its user alone', async () => {
    const tokens: { access_token: string; refresh_token: string }[] = []
    await serving(async (_, caller) => {
      for (const name of ['alice', 'outlogged', 'disabled'])
        tokens.push(await caller.register(name))
      expect((await caller.call('POST', '/logout', tokens[1]?.access_token)).status).to.equal(204)
      await createAccountsOwner(dataDir).ask(['users', 'disable', 'disabled'])
    })
    expect((await stat(dataDir)).mode & 0o777).to.equal(0o700)
    for (const name of ['registry.db', 'signing-keys.json']) {
      expect((await stat(join(dataDir, name))).mode & 0o777).to.equal(0o600)
    }
    await chmod(join(dataDir, 'registry.db'), 0o644)
    await serving(async (_, caller) => {
      expect((await stat(join(dataDir, 'registry.db'))).mode & 0o777).to.equal(0o600)
      const [alice, ...ended] = tokens
      expect(await caller.me(alice?.access_token ?? '')).to.equal('200')
      expect((await caller.login('alice')).status).to.equal(200)
      for (const { access_token, refresh_token } of ended) {
        expect(await caller.me(access_token)).to.equal('401 token-revoked')
        expect((await caller.refresh(refresh_token)).status).to.equal(401)
      }
    })
  })

  it('takes the name of --public-url as Host and issuer: old access tokens end, others go on', async () => {
    let first: { access_token: string; refresh_token: string }
    let service = ''
    await serving(async (_, caller) => {
      first = await caller.register('alice')
      service = await caller.makeToken(first.access_token)
    })
    const name = 'registry.studio.example'
    const port = await freePort()
    await serving(
      async () => {
        const url = `http://127.0.0.1:${port}${auth}`
        const me = async (token: string, host: string) => {
          const headers = { Host: host, Authorization: `Bearer ${token}` }
          const { json } = await ask(`${url}/me`, { headers })
          return json.code ?? json.username
        }
        const body = { username: 'bob', email: 'bob@studio.example', password: 'one honest phrase' }
        const post = (path: string, sent: object) =>
          ask(url + path, {
            method: 'POST',
            headers: { Host: name, 'Content-Type': 'application/json' },
            body: JSON.stringify(sent),
          })
        expect((await post('/register', body)).json.code).to.equal('registration-closed')
        expect(await me(first.access_token, name)).to.equal('token-invalid')
        expect(await me(service, name)).to.equal('alice')
        const { refresh_token } = first
        const token = (await post('/refresh', { refresh_token })).json.access_token
        const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
        expect(claims).to.include({ iss: `https://${name}`, aud: `https://${name}` })
        expect(await me(token, `${name}:8443`)).to.equal('alice')
        expect(await me(token, 'other.example')).to.equal('host-not-allowed')
      },
      '--public-url',
      `https://${name}`,
      '--port',
      String(port),
    )
  })

  it('names whoever holds the port', () =>
    serving(async ({ port }) => {
      const args = ['registry', '--port', String(port), '--data-dir', join(folder, 'other')]
      const { code, stdout, stderr } = await runCommand(args)
      expect([code, stdout]).to.deep.equal([1, ''])
      expect(stderr).to.include(`port ${port}`)
      expect(stderr).to.include('--port 0')
    }))

  const refused: [args: string[], code: number, word: string][] = [
    [['--limit', 'accessTokenMs=x'], 2, 'NAME=NUMBER'],
    [['--registration', 'maybe'], 2, 'registration'],
    [['--data-dir', '/dev/null'], 2, '/dev/null'],
    [['--host', '192.0.2.1'], 1, '192.0.2.1'],
  ]
  for (const [args, code, word] of refused) {
    it(`refuses ${args.join(' ')} with exit code ${code}`, async () => {
      const data = args.includes('--data-dir') ? [] : ['--data-dir', dataDir]
      const ended = await runCommand(['registry', '--port', '0', ...data, ...args])
      expect([ended.code, ended.stdout]).to.deep.equal([code, ''])
      expect(ended.stderr)
        .to.include(word)
        .and.not.match(/\n\s+at /)
    })
  }
})
