import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ask, initializeBody, postHeaders, RawSession, rpc } from '../helpers/mcp.ts'
import { until } from '../helpers/until.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'

const key = 'k3y-0f-the-Clients_that-nobody-may-see'

const wrong: [string, Record<string, string>][] = [
  ['no key', {}],
  ['an empty one', { Authorization: '' }],
  ['only the scheme', { Authorization: 'Bearer' }],
  ['another key', { Authorization: 'Bearer nonsense' }],
  ['a longer key', { Authorization: `Bearer ${key}x` }],
  ['a shorter key', { Authorization: `Bearer ${key.slice(0, -1)}` }],
  ['the key in lower case', { Authorization: `Bearer ${key.toLowerCase()}` }],
  ['another scheme', { Authorization: `Basic ${key}` }],
  ['the key alone', { Authorization: key }],
  ['two keys in one', { Authorization: `Bearer x, Bearer ${key}` }],
  ['another header', { 'X-Api-Key': key }],
  ['a cookie', { Cookie: `key=${key}` }],
]

for (const source of ['SERVICE_MCP_API_KEY', '--api-key-file'] as const) {
  describe(`the key from ${source}`, () => {
    let folder: string
    let serve: RunningServe
    let pid = process.pid
    let session: RawSession
    let hex: string

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'key-'))
      const file = join(folder, 'key')
      await writeFile(file, `${key}\n`, { mode: 0o600 })
      if (source === '--api-key-file') {
        // The variable must not be what counts then.
        const env = { SERVICE_MCP_API_KEY: 'another' }
        const program = await startServeProcess({ flags: [source, file], env })
        pid = program.pid
        serve = program
      } else {
        serve = await serveInProcess({ env: { [source]: key } })
      }
      session = await RawSession.open(serve.url, '2025-11-25', { Authorization: `Bearer ${key}` })
      hex = await serve.store('a body')
    })

    after(async () => {
      await serve.stop()
      await rm(folder, { recursive: true, force: true })
    })

    for (const [title, headers] of wrong) {
      it(`does not let in ${title}, on any route`, async () => {
        const { Authorization: _, ...rest } = session.headers
        const url = `${serve.base}/artefacts/sha256/${hex}`
        const answers = [
          await ask(serve.url, {
            method: 'POST',
            headers: { ...postHeaders, ...headers },
            body: initializeBody(),
          }),
          await ask(serve.url, {
            method: 'POST',
            headers: { ...rest, ...headers },
            body: rpc('ping'),
          }),
          await ask(serve.url, { headers: { ...rest, ...headers } }),
          await ask(serve.url, { method: 'DELETE', headers: { ...rest, ...headers } }),
          await ask(`${serve.url}?key=${key}&access_token=${key}`, {
            method: 'POST',
            headers: { ...rest, ...headers },
            body: rpc('ping'),
          }),
          await ask(url, { headers }),
          await ask(url, { method: 'HEAD', headers }),
          await ask(url, { headers: { ...headers, Range: 'bytes=0-1' } }),
        ]
        for (const answer of answers) {
          expect(answer.status, answer.text).to.equal(401)
          expect(answer.headers['www-authenticate']).to.match(/^Bearer realm=/)
          expect(answer.text).not.to.contain(key).and.not.to.contain('a body')
          expect(answer.headers).not.to.have.property('mcp-session-id')
        }
      })
    }

    it('lets in who has it, and the session lives', async () => {
      const headers = { Authorization: `Bearer ${key}` }
      const url = `${serve.base}/artefacts/sha256/${hex}`
      expect((await ask(url, { headers })).text).to.equal('a body')
      expect(await session.call('ping')).to.deep.include({ result: {} })
      const stream = await session.listen()
      stream.close()
    })

    it('leaves health open, and nothing else', async () => {
      expect((await ask(`${serve.base}/healthz`)).json).to.deep.equal({ status: 'ok' })
      expect((await ask(`${serve.base}/readyz`)).status).to.equal(200)
    })

    it('records refusals in audit://recent, one for a second of them', async () => {
      const { entries } = await session.readJson('audit://recent?limit=500')
      const denied = entries.filter((entry: any) => entry.outcome.denied !== undefined)
      expect(denied).not.to.have.lengthOf(0)
      expect(denied[0]).to.deep.include({ action: 'http.request', params: { status: 401 } })
      const times = denied.map((entry: any) => Date.parse(entry.timestamp))
      for (let at = 1; at < times.length; at++) {
        expect(times[at] - times[at - 1]).to.be.at.least(1000)
      }
      expect(denied.length).to.be.below(wrong.length * 8)
      expect(JSON.stringify(entries)).not.to.contain(key)
    })

    it('and the host token are in no output, argument or record', async () => {
      const { stdout, stderr } = serve.output()
      expect(stderr).to.contain('"path":"/mcp"')
      const records = join(serve.registryDir, 'instances')
      const texts = [stdout, stderr, readFileSync(`/proc/${pid}/cmdline`, 'utf8')]
      for (const name of await readdir(records)) {
        if (name.endsWith('.json')) texts.push(await readFile(join(records, name), 'utf8'))
      }
      for (const text of texts) {
        expect(text).not.to.contain(key)
        expect(text).not.to.contain(serve.token)
      }
    })
  })
}

describe('a host token from SERVICE_HOST_TOKEN', () => {
  const token = 'the-token-of-the-host-that-nobody-may-see'

  it('is used, written nowhere and printed nowhere', async () => {
    const serve = await serveInProcess({ env: { SERVICE_HOST_TOKEN: token } })
    try {
      expect(serve.hostTokenFile).to.equal(null)
      expect((await serve.post('scene', { a: 1 })).status).to.equal(200)
      expect((await serve.post('scene', {}, { Authorization: 'Bearer x' })).status).to.equal(401)
      const instances = join(serve.registryDir, 'instances')
      const name = `${serve.instanceId}.json`
      // The record is written again after the post, beside the old one.
      const names = async () => (await readdir(instances)).join()
      await until(async () => (await names()) === name, 'the record alone')
      const record = await readFile(join(instances, name), 'utf8')
      const { stdout, stderr } = serve.output()
      for (const text of [record, stdout, stderr]) expect(text).not.to.contain(token)
    } finally {
      await serve.stop()
    }
  })
})
