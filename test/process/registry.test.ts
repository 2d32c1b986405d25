import { expect } from 'chai'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask } from '../helpers/mcp.ts'
import { runCommand } from '../helpers/in-process.ts'
import { cheapHashing } from '../helpers/accounts-caller.ts'
import { startAccountsProcess } from '../helpers/accounts-process.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const auth = '/api/v1/auth'
const password = 'a long and honest phrase'
const post = (url: string, body: object) =>
  ask(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })

describe('service-cli registry', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-e2e-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('says where it listens, keeps accounts over a restart, and stops on a signal', async () => {
    const dataDir = join(folder, 'data')
    const first = await startAccountsProcess({ dataDir })
    const { url, pid } = first
    expect(first.said).to.deep.equal({
      event: 'listening',
      url,
      pid,
      registration: 'open',
      data_dir: dataDir,
    })
    const body = { username: 'alice', email: 'alice@studio.example', password }
    const made = await post(`${url}${auth}/register`, body)
    expect(made.status).to.equal(201)
    expect((await stat(dataDir)).mode & 0o777).to.equal(0o700)
    for (const name of ['registry.db', 'keys.json']) {
      expect((await stat(join(dataDir, name))).mode & 0o777).to.equal(0o600)
    }
    expect(await first.stop()).to.equal(0)
    expect(first.stderr()).not.to.include(password).and.not.include(made.json.refresh_token)

    const second = await accountsInProcess({ dataDir })
    try {
      const headers = { Authorization: `Bearer ${made.json.access_token}` }
      const me = await ask(`${second.url}${auth}/me`, { headers })
      expect(me.json).to.include({ username: 'alice' })
      const login = await post(`${second.url}${auth}/login`, { username: 'alice', password })
      expect(login.status).to.equal(200)
    } finally {
      await second.stop()
    }
  })

  it('counts failed logins over a restart', async () => {
    const dataDir = join(folder, 'data')
    const tryLogin = (url: string) =>
      post(`${url}${auth}/login`, { username: 'nobody', password: 'wrong' })
    const first = await accountsInProcess({ dataDir, flags: cheapHashing })
    for (let count = 0; count < 10; count++) {
      expect((await tryLogin(first.url)).status).to.equal(401)
    }
    await first.stop()
    const second = await accountsInProcess({ dataDir, flags: cheapHashing })
    try {
      expect((await tryLogin(second.url)).status).to.equal(429)
    } finally {
      await second.stop()
    }
  })

  it('asks for invitations and good passwords as soon as others can reach it', async () => {
    const dataDir = join(folder, 'data')
    const one = await startAccountsProcess({
      dataDir,
      flags: ['--public-url', 'https://registry.studio.example'],
    })
    try {
      expect(one.said).to.include({
        url: 'https://registry.studio.example',
        registration: 'invite',
      })
    } finally {
      await one.stop()
    }
    const open = await startAccountsProcess({
      dataDir,
      flags: ['--host', '0.0.0.0', '--registration', 'open'],
    })
    try {
      expect(open.said).to.include({ registration: 'open' })
      const body = { username: 'alice', email: 'alice@studio.example', password: 'password123' }
      const answer = await post(`http://127.0.0.1:${open.port}${auth}/register`, body)
      expect(answer.json.code).to.equal('password-blocked')
    } finally {
      await open.stop()
    }
    expect(open.stderr()).to.include('unencrypted')
  })

  it('names whoever holds the port', async () => {
    const first = await accountsInProcess()
    try {
      const dataDir = join(folder, 'data')
      const args = ['registry', '--port', String(first.port), '--data-dir', dataDir]
      const { code, stdout, stderr } = await runCommand(args)
      expect([code, stdout]).to.deep.equal([1, ''])
      expect(stderr).to.include(`port ${first.port}`).and.include(String(process.pid))
      expect(stderr).to.include('--port 0')
    } finally {
      await first.stop()
    }
  })

  const refused: [args: string[], code: number, word: string][] = [
    [['--limit', 'accessTokenMs=x'], 2, 'accessTokenMs=NUMBER'],
    [['--registration', 'maybe'], 2, 'registration'],
    [['--data-dir', '/dev/null'], 2, '/dev/null'],
    [['--host', '192.0.2.1'], 1, '192.0.2.1'],
  ]
  for (const [args, code, word] of refused) {
    it(`refuses ${args.join(' ')} with exit code ${code}`, async () => {
      const data = args.includes('--data-dir') ? [] : ['--data-dir', join(folder, 'data')]
      const ended = await runCommand(['registry', '--port', '0', ...data, ...args])
      expect([ended.code, ended.stdout]).to.deep.equal([code, ''])
      expect(ended.stderr)
        .to.include(word)
        .and.not.match(/\n\s+at /)
    })
  }
})
