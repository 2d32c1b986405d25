import { mkdir, mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { failureOf } from '../helpers/failure.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { ask, RawSession } from '../helpers/mcp.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { contentOf, failure, readFailure, scene } from './support.ts'

const plainText = { 'Content-Type': 'text/plain' }
const key = 'k'.repeat(43)

/** The program with the flags, for the tests of the section. */
function useServe(flags: string[], env: Record<string, string> = {}): { program: RunningServe } {
  const section = {} as { program: RunningServe }
  before(async () => {
    section.program = await serveInProcess({ flags: ['--quiet', ...flags], env })
  })
  after(() => section.program?.stop())
  return section
}

describe('serve', () => {
  let unusedDir: string
  let program: RunningServe
  before(async () => {
    unusedDir = await mkdtemp(join(tmpdir(), 'unused-'))
    program = await serveInProcess({ env: { SERVICE_REGISTRY_DIR: unusedDir } })
  })
  after(async () => {
    await program?.stop()
    await rm(unusedDir, { recursive: true })
  })

  it('stores an artefact that the application posts, serves it over MCP and as a download', async () => {
    const { url, base, registryDir, post } = program
    const posted = await post('artefacts?display_name=a.txt', 'hello', plainText)
    expect(posted.status).to.equal(201)
    const { uri, sha256, existed } = posted.json
    expect(existed).to.equal(false)
    const { blob } = await contentOf(await RawSession.open(url), uri)
    expect(blob).to.equal(Buffer.from('hello').toString('base64'))
    expect((await ask(`${base}/artefacts/sha256/${sha256}`)).text).to.equal('hello')
    const shard = join(registryDir, 'dcc-mcp-artefacts', 'sha256', sha256.slice(0, 2))
    expect((await stat(join(shard, sha256))).size).to.equal(5)
  })

  it('serves the scene, audit records and events that the application posts', async () => {
    const { url, post } = program
    const session = await RawSession.open(url)
    const { json: posted } = await post('scene', '{"frame":7}')
    expect(posted).to.have.keys('ok', 'revision').and.include({ ok: true })
    expect(await session.readJson(scene)).to.deep.equal({ frame: 7 })
    const records = JSON.stringify({ records: [{ action: 'save', params: { token: 'x' } }] })
    expect((await post('audit', records)).json).to.deep.equal({ ok: true, count: 1 })
    const { entries } = await session.readJson('audit://recent')
    expect(entries[0]).to.deep.include({ action: 'save', params: { token: '[redacted]' } })
    const event = { source: 'maya', stream: 'stdout', message: 'hi', level: 'warn' }
    const answer = await post('events/job-1', JSON.stringify({ events: [event] }))
    expect(answer.json).to.deep.equal({ ok: true, next_cursor: 1, dropped: 0 })
    const { events } = await session.readJson('events://session/job-1')
    expect(events[0]).to.include({ message: 'hi', level: 'warning' })
  })

  it('prefers --registry-dir to SERVICE_REGISTRY_DIR, and keeps the folder private', async () => {
    expect((await stat(join(program.registryDir, 'instances'))).mode & 0o777).to.equal(0o700)
    expect(await stat(join(unusedDir, 'instances')).catch(() => null)).to.equal(null)
  })

  it('refuses a symbolic link as --registry-dir', async () => {
    const [real, link] = [join(unusedDir, 'real'), join(unusedDir, 'link')]
    await mkdir(real, { mode: 0o700 })
    await symlink(real, link)
    const error = await failureOf(() => serveInProcess({ registryDir: link }))
    expect(`${error.message} ${error.hint}`)
      .to.match(/symbolic link/)
      .and.match(/--registry-dir/)
  })
})

describe('serve --no-artefacts', () => {
  const section = useServe(['--no-artefacts'])

  it('reads none with −32002, and has no uploads and downloads', async () => {
    const { url, base, post } = section.program
    expect((await post('artefacts', 'x', plainText)).status).to.equal(404)
    const hex = 'a'.repeat(64)
    expect((await ask(`${base}/artefacts/sha256/${hex}`)).status).to.equal(404)
    const session = await RawSession.open(url)
    for (const uri of [`artefact://sha256/${hex}`, 'artefact://sha256/short']) {
      expect((await readFailure(session, uri)).code, uri).to.equal(-32002)
    }
  })
})

describe('serve --no-resources', () => {
  const section = useServe(['--no-resources'])
  const completion = {
    ref: { type: 'ref/resource', uri: 'audit://recent{?limit}' },
    argument: { name: 'limit', value: '' },
  }

  it('has −32601 for all methods of resources, templates and completion; ping stays', async () => {
    const session = await RawSession.open(section.program.url)
    for (const [method, params] of [
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', { uri: scene }],
      ['resources/subscribe', { uri: scene }],
      ['resources/unsubscribe', { uri: scene }],
      ['completion/complete', completion],
    ] as const) {
      expect((await failure(session, method, params)).code, method).to.equal(-32601)
    }
    expect((await session.call('ping')).result).to.deep.equal({})
  })
})

describe('serve with SERVICE_MCP_API_KEY', () => {
  const section = useServe([], { SERVICE_MCP_API_KEY: key })

  it('enforces the key on /mcp and on /artefacts', async () => {
    const { url, base } = section.program
    for (const path of [url, `${base}/artefacts/sha256/${'a'.repeat(64)}`]) {
      expect((await ask(path)).status, path).to.equal(401)
    }
    const session = await RawSession.open(url, '2025-11-25', { Authorization: `Bearer ${key}` })
    expect((await session.call('ping')).result).to.deep.equal({})
  })
})
