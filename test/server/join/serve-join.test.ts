import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { newFolder } from '../../helpers/cleanup.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { type RunningServe, runServe } from '../../helpers/serve-process.ts'
import { ask } from '../../helpers/mcp.ts'
import { accept, acceptLinks, type Joined } from '../../helpers/join.ts'
import { statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { listening } from '../../helpers/listening.ts'

const token = 'svc_a-token-of-the-scope-instance'
const never = new AbortController().signal
const read = async ({ transport }: Joined, uri: string) => {
  const request = { ...statelessPost('resources/read', { uri }), path: '/mcp' }
  const answer = await transport.send(request, never)
  return JSON.parse(await text(answer.body.stream()))
}

describe('serve --join', () => {
  let folder: string
  let tokenFile: string
  let server: Server
  let gateway: ReturnType<typeof acceptLinks>
  let status: number | null
  let base: string

  beforeEach(async () => {
    folder = newFolder()
    tokenFile = join(folder, 'join.token')
    await writeFile(tokenFile, `${token}\n`, { mode: 0o600 })
    status = null
    server = createServer()
    gateway = acceptLinks(server, () => status)
    base = `http://127.0.0.1:${await listening(server)}`
  })

  const start = (to: string, flags: string[] = []) => {
    const join = ['--join', to, '--join-token-file', tokenFile, '--name', 'my scene']
    return serveInProcess({ flags: [...join, ...flags] })
  }
  const state = async ({ base }: RunningServe) =>
    (await ask(`${base}/readyz`, { method: 'GET', headers: {} })).json.join?.[0]?.state
  const joinedAt = async (index: number) => {
    await until(() => gateway.joined.length > index, 'the link')
    const joined = gateway.joined[index]
    if (joined === undefined) throw new Error('no link')
    return joined
  }
  it('tells its record and its changes, and answers reads, with no address and no secret of the host link', async () => {
    const instance = await start(`${base}/mcp`, ['--visible-to', 'team'])
    const joined = await joinedAt(0)
    expect(joined.headers.authorization).to.equal(`Bearer ${token}`)
    expect(joined.headers['service-instance']).to.equal(instance.instanceId)
    const { records } = joined
    await until(() => records.length > 0, 'the record')
    const [record] = records
    expect([record.instance_id, record.display_name, record.dcc_type]).to.deep.equal([
      instance.instanceId,
      'my scene',
      'unknown',
    ])
    expect(record.visible_to).to.equal('team')
    expect(record).to.not.have.any.keys('host_url', 'host_token_file', 'pid_start')
    expect(JSON.stringify(record)).to.not.include(instance.token)
    await instance.post('scene', { objects: [{ id: 'Cube' }] })
    await until(() => records.at(-1).scene_set_at !== null, 'the change of the record')
    const { result } = await read(joined, 'scene://current')
    expect(JSON.parse(result.contents[0].text).objects).to.deep.equal([{ id: 'Cube' }])
  })

  it('says its state on the terminal and in /readyz, and joins again after a cut', async () => {
    const instance = await start(base)
    const first = await joinedAt(0)
    expect(await state(instance)).to.equal('connecting')
    accept(first)
    await until(async () => (await state(instance)) === 'joined', 'the joined state')
    first.socket.destroy()
    const second = await joinedAt(1)
    expect(await state(instance)).to.equal('lost')
    accept(second)
    await until(async () => (await state(instance)) === 'joined', 'the joined state')
    const said = () => instance.output().stderr
    await until(() => said().match(/joined the gateway/g)?.length === 2, 'both lines')
    const stderr = said()
    expect(stderr).to.include('"owner":"ada"').and.include('the link to the gateway is lost')
    expect(stderr).to.not.include(token)
  })

  it('writes nothing and drains nothing for the gateway', async () => {
    const instance = await start(base)
    const joined = await joinedAt(0)
    const events = { events: [{ source: 'test', stream: 'stdout', message: 'hello' }] }
    await instance.post('events/one', events)
    const drained = await read(joined, 'events://session/one?drain=true')
    expect(JSON.stringify(drained)).to.include('insufficient_scope')
    const kept = await read(joined, 'events://session/one')
    expect(JSON.parse(kept.result.contents[0].text).events).to.have.length(1)
    for (const path of ['/host/v1/scene', '/metrics', '/', '/page/session']) {
      const request = { method: 'POST', path, headers: {}, body: '{}' }
      const { status, body } = await joined.transport.send(request, never)
      expect([404, 405], path).to.include(status)
      body.destroy()
    }
  })

  it('states a refusal with what the gateway says, and goes on serving', async () => {
    status = 401
    const instance = await start(base)
    await until(async () => (await state(instance)) === 'refused', 'the refusal')
    const said = () => instance.output().stderr
    await until(() => said().includes('HTTP 401: the token was revoked'), 'the reason')
    expect(said()).to.include('trying again every 60 s')
    expect(gateway.attempts()).to.equal(1)
    status = 503
    const answer = await ask(`${instance.base}/healthz`, { method: 'GET', headers: {} })
    expect(answer.status).to.equal(200)
  })

  it('refuses an address where others read the token, and a start without a token', async () => {
    const file = ['--join-token-file', tokenFile]
    const cases: [string[], string][] = [
      [['--join', 'http://gateway.example.com', ...file], 'would receive secrets over plain http'],
      [['--join', 'ftp://gateway.example.com', ...file], 'the address of --join is not a URL'],
      [['--join', 'https://gateway.example.com'], '--join needs a token'],
      [file, '--join-token-file needs --join'],
      [['--visible-to', 'all'], '--visible-to needs --join'],
      [['--join', base, '--join-token-file', join(folder, 'none')], 'cannot be read'],
    ]
    for (const [flags, said] of cases) {
      const { code, stderr } = await runServe(flags)
      expect([code, stderr.includes(said)], stderr).to.deep.equal([2, true])
    }
  })
})
