import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as v2 from '@modelcontextprotocol/client'
import { expect } from 'chai'
import type { Sdk, StatelessClient } from '../clients/client-face.ts'
import { type Prepared, prepare, runScenario } from '../clients/scenario.ts'
import { end, type Serving, startServe } from '../clients/serve.ts'
import { runStatelessScenario } from '../clients/stateless-scenario.ts'
import { until } from '../helpers/until.ts'
import { makePair, trust, writePair } from '../helpers/certificate.ts'
import { freePort } from '../helpers/free-port.ts'
import { ask, initializeBody, postHeaders, RawSession } from '../helpers/mcp.ts'
import { PageBrowser, useLink } from '../helpers/page.ts'
import { root } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

const info = { name: 'behind nginx', version: '1' }
const { Client, StreamableHTTPClientTransport } = v2 as unknown as Sdk
const MiB = 1024 * 1024
/** Shorter than in the document, so that streams are idle for longer within the test. */
const readTimeoutMs = 2000

describe('nginx with TLS in front of serve, set up as docs/studio.md says', function () {
  this.timeout(60_000)
  let folder: string
  let block: string
  let serving: Serving
  let prepared: Prepared
  let port: number
  const running: ChildProcess[] = []

  before(async function () {
    if (spawnSync('nginx', ['-v']).error !== undefined) skipBecause(this, 'nginx is not installed')
    folder = await mkdtemp(join(tmpdir(), 'nginx-'))
    const text = await readFile(join(root, 'docs/studio.md'), 'utf8')
    block = /```nginx\n(.*?)```/s.exec(text)?.[1] ?? ''
    const pair = makePair()
    await writePair(folder, pair)
    trust(pair)
    port = await freePort()
    const url = `https://localhost:${port}`
    const limits = ['--limit', `streamKeepAliveMs=${readTimeoutMs / 4}`]
    const open = '--allow-unauthenticated'
    const flags = ['--public-url', url, '--trusted-proxy', '127.0.0.1', open, ...limits]
    serving = await startServe(folder, flags)
    expect(serving.url).to.equal(`${url}/mcp`)
    await startNginx(port)
    prepared = await prepare(serving)
  })
  after(async () => {
    for (const child of running) await end(child)
    await serving?.stop()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  /** The configuration of the document, with the addresses of the test, in front of one `serve`. */
  async function startNginx(at: number, closed = '/host'): Promise<void> {
    const exchanged = [
      ['listen 443 ssl;', `listen 127.0.0.1:${at} ssl;`],
      ['server_name gateway.studio.example;', 'server_name localhost;'],
      ['/etc/nginx/tls/gateway.studio.example.crt', join(folder, 'cert.pem')],
      ['/etc/nginx/tls/gateway.studio.example.key', join(folder, 'key.pem')],
      ['/etc/nginx/tls/studio-ca.crt', join(folder, 'cert.pem')],
      ['server 10.0.0.7:9765', `server ${new URL(serving.hostUrl).host}`],
      ['  server 10.0.0.8:9765 fail_timeout=5s;\n', ''],
      ['https://servers', 'http://servers'],
      ['location /join', `location ${closed}`],
      ['proxy_read_timeout 60s;', `proxy_read_timeout ${readTimeoutMs}ms;`],
    ].reduce((config, [from = '', to = '']) => {
      expect(config).to.include(from)
      return config.replace(from, to)
    }, block)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const config = join(folder, `nginx-${at}.conf`)
    await writeFile(
      config,
      `${process.getuid?.() === 0 ? 'user root;' : ''}
      daemon off;
      worker_processes 1;
      pid ${folder}/nginx-${at}.pid;
      events { worker_connections 256; }
      http {
        access_log off;
        ${temporary.map(name => `${name}_temp_path ${folder}/${name}-${at};`).join('\n')}
        ${exchanged}
      }`,
    )
    const log = join(folder, `error-${at}.log`)
    const child = spawn('nginx', ['-p', folder, '-e', log, '-c', config], { stdio: 'ignore' })
    running.push(child)
    await until(async () => {
      const answer = await ask(`https://localhost:${at}/healthz`).catch(() => null)
      if (answer === null && child.exitCode !== null) throw new Error(await readFile(log, 'utf8'))
      return answer?.status === 200
    }, 'nginx answers')
  }

  it('passes on all that SDK v2 does, with sessions', async () => {
    const open = (url: URL) => ({
      client: new Client(info),
      transport: new StreamableHTTPClientTransport(url),
    })
    await runScenario(prepared, open, { revision: '2025-11-25' })
  })

  it('passes on all that SDK v2 does without sessions, subscriptions/listen included', async () => {
    await runStatelessScenario(prepared, url => ({
      client: new Client(info, { versionNegotiation: { mode: 'auto' } }) as StatelessClient,
      transport: new StreamableHTTPClientTransport(url),
    }))
  })

  it('lets a browser log in to the page, read and write', async () => {
    const base = serving.url.slice(0, -'/mcp'.length)
    expect((await ask(`${base}/`)).headers['cross-origin-opener-policy']).to.equal('same-origin')
    const { url } = (await serving.post('page-login', {})).json
    expect(url.startsWith(`${base}/#login=`)).to.equal(true)
    const login = await useLink(base, url)
    expect(login.headers['set-cookie']?.[0]).to.contain('; Secure')
    const page = new PageBrowser(base, login)
    const session = await RawSession.open(serving.url, '2025-11-25', page.headers)
    const events = await session.listen()
    expect((await page.post('/page/notes', { text: 'through a proxy' })).status).to.equal(200)
    const foreign = { Origin: 'https://localhost:1' }
    expect((await page.post('/page/notes', { text: 'x' }, foreign)).status).to.equal(403)
    await page.logOut()
    await events.untilEnded()
  })

  it('keeps a stream that is idle for longer than its read time-out', async () => {
    const session = await RawSession.open(serving.url)
    const events = await session.listen()
    await session.call('resources/subscribe', { uri: 'scene://current' })
    // Nothing but time shows that the time-out of nginx does not strike.
    await delay(2.5 * readTimeoutMs)
    expect(events.ended).to.equal(false)
    await serving.post('scene', { after: 'a long silence' })
    await events.until(() => events.updates.length === 1, 'the update after the silence')
    events.close()
  })

  it('passes on a large artefact, its ranges, and what is asked about it', async () => {
    const bytes = randomBytes(20 * MiB)
    const sha256 = await serving.store(bytes, '?display_name=large.exr', 'image/x-exr')
    const url = new URL(`/artefacts/sha256/${sha256}`, serving.url)
    const whole = await fetch(url)
    expect(whole.headers.get('content-length')).to.equal(String(bytes.length))
    expect(hash(await whole.arrayBuffer())).to.equal(sha256)
    const part = await fetch(url, { headers: { Range: 'bytes=1000000-8999999' } })
    expect(part.status).to.equal(206)
    expect(part.headers.get('content-range')).to.equal(`bytes 1000000-8999999/${bytes.length}`)
    expect(hash(await part.arrayBuffer())).to.equal(hash(bytes.subarray(1_000_000, 9_000_000)))
    const known = await fetch(url, { headers: { 'If-None-Match': `"${sha256}"` } })
    expect(known.status).to.equal(304)
  })

  it('names the client in the audit, whatever that forged', async () => {
    const headers = { ...postHeaders, Origin: 'https://evil.example', 'X-Forwarded-For': '6.6.6.6' }
    const req = request(serving.url, {
      method: 'POST',
      headers,
      host: '127.0.0.1',
      localAddress: '127.0.0.2',
      servername: 'localhost',
      setHost: false,
    })
    req.setHeader('Host', `localhost:${port}`)
    req.end(initializeBody())
    const [res] = await once(req, 'response')
    res.resume()
    expect(res.statusCode).to.equal(403)
    const session = await RawSession.open(serving.url)
    const { entries } = await session.readJson('audit://recent')
    expect(entries.map(({ actor }: { actor: string }) => actor)).to.include('127.0.0.2')
  })

  it('does not get through to the host link, with its own rule and without', async () => {
    const { token } = serving
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const post = (base: string) =>
      ask(`${base}/host/v1/scene`, { method: 'POST', headers, body: '{"from":"outside"}' })
    expect((await post(`https://localhost:${port}`)).status).to.equal(404)

    const second = await freePort()
    await startNginx(second, '/join')
    const { status, json } = await post(`https://localhost:${second}`)
    expect(status).to.equal(403)
    expect(json.detail).to.match(/over a proxy.*x-forwarded-for/)
  })

  it('passes Host and Origin on, which are checked as ever', async () => {
    const url = `https://localhost:${port}/healthz`
    // The name of the handshake is another matter.
    const req = request(url, { headers: { Host: 'evil.example' }, servername: 'localhost' }).end()
    const [foreign] = await once(req, 'response')
    foreign.resume()
    expect(foreign.statusCode).to.equal(403)
    const page = await ask(url, { headers: { Origin: 'https://evil.example' } })
    expect(page.status).to.equal(403)
    expect((await ask(url, { headers: { Origin: `https://localhost:${port}` } })).status).to.equal(
      200,
    )
  })
})

function hash(bytes: ArrayBuffer | Uint8Array): string {
  return createHash('sha256').update(new Uint8Array(bytes)).digest('hex')
}
