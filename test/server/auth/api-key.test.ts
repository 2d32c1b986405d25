import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { bearer } from '../../helpers/keyed-server.ts'
import { ask, postHeaders, RawSession, rpc } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const folder = newFolder()

const key = 'k3y-0f-the-Clients_that-nobody-may-see'

describe('serve with a key', () => {
  let serve: RunningServe
  let session: RawSession
  let artefact: string

  before(async () => {
    const file = join(folder, 'key')
    await writeFile(file, `${key}\n`, { mode: 0o600 })
    // The file counts, not the variable.
    const env = { SERVICE_MCP_API_KEY: 'another' }
    serve = await serveInProcess({ flags: ['--api-key-file', file], env })
    session = await RawSession.open(serve.url, '2025-11-25', bearer(key))
    artefact = `${serve.base}/artefacts/sha256/${await serve.store('a body')}`
  })

  it('does not let in a longer one, nor one in another place', async () => {
    const { Authorization: _, ...rest } = session.headers
    for (const headers of [bearer(`${key}x`), { 'X-Api-Key': key }, { Cookie: `key=${key}` }]) {
      const posted = { method: 'POST', headers: { ...rest, ...headers }, body: rpc('ping') }
      const answers = [
        await ask(`${serve.url}?key=${key}&access_token=${key}`, posted),
        await ask(artefact, { headers }),
      ]
      for (const answer of answers) {
        expect(answer.status, answer.text).to.equal(401)
        expect(answer.headers['www-authenticate']).to.match(/^Bearer realm=/)
        expect(answer.text).not.to.contain(key).and.not.to.contain('a body')
      }
    }
  })

  it('lets in who has it, and the session lives', async () => {
    expect((await ask(artefact, { headers: bearer(key) })).text).to.equal('a body')
    expect(await session.call('ping')).to.deep.include({ result: {} })
    ;(await session.listen()).close()
  })

  it('shows neither it nor the host token in any output or record', async () => {
    await until(() => serve.output().stderr.includes('"path":"/mcp"'), 'the access log')
    const { stdout, stderr } = serve.output()
    const texts = [stdout, stderr, await recordsOf(serve)]
    for (const text of texts) expect(text).not.to.contain(key).and.not.to.contain(serve.token)
  })

  it('takes it from SERVICE_MCP_API_KEY', async () => {
    const other = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key } })
    expect((await ask(other.url, { headers: postHeaders })).status).to.equal(401)
    await RawSession.open(other.url, '2025-11-25', bearer(key))
    expect(other.output().stderr).not.to.contain(key)
  })

  it('takes a host token from SERVICE_HOST_TOKEN, which is written and printed nowhere', async () => {
    const token = 'the-token-of-the-host-that-nobody-may-see'
    const other = await serveInProcess({ env: { SERVICE_HOST_TOKEN: token } })
    expect(other.hostTokenFile).to.equal(null)
    expect((await other.post('scene', { a: 1 })).status).to.equal(200)
    expect((await other.post('scene', {}, { Authorization: 'Bearer x' })).status).to.equal(401)
    // The record is written again after the post, beside the old one.
    const names = async () => (await readdir(join(other.registryDir, 'instances'))).sort().join()
    const { instanceId: id } = other
    await until(async () => (await names()) === `${id}.json,${id}.owner`, 'no host token')
    expect((await recordsOf(other)) + other.output().stderr).not.to.contain(token)
  })
})

async function recordsOf({ registryDir }: RunningServe): Promise<string> {
  const folder = join(registryDir, 'instances')
  const names = (await readdir(folder)).filter(name => name.endsWith('.json'))
  return (await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')))).join()
}
