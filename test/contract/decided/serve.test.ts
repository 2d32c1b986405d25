import { mkdir, mkdtemp, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ask, RawSession } from '../../helpers/mcp.ts'
import { type RunningServe, runServe } from '../../helpers/serve-process.ts'
import { facts, failure, inFolder, readCode } from '../facts.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'

/** The real program with the flags, in a folder of its own. */
async function serve(
  flags: string[],
  check: (started: RunningServe) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const started = await serveInProcess({ flags: ['--quiet', ...flags], env })
  try {
    await check(started)
  } finally {
    await started.stop()
  }
}

describe('the program serve', () => {
  /** One without flags, which several facts are about. */
  let plain: RunningServe
  let unusedDir: string

  before(async () => {
    unusedDir = await mkdtemp(join(tmpdir(), 'unused-'))
    const env = { SERVICE_REGISTRY_DIR: unusedDir }
    plain = await serveInProcess({ flags: ['--quiet'], env })
  })
  after(async () => {
    await plain.stop()
    await rm(unusedDir, { recursive: true })
  })

  const plainText = { 'Content-Type': 'text/plain' }

  facts('decision: artefacts of serve', [
    [
      'on by default: an upload is answered 201, read over MCP and downloaded',
      async () => {
        const { url, base, registryDir, post } = plain
        const posted = await post('artefacts?display_name=a.txt', 'hello', plainText)
        expect(posted.status).to.equal(201)
        const { uri, sha256, existed } = posted.json
        expect(existed).to.equal(false)
        const session = await RawSession.open(url)
        const { result } = await session.call('resources/read', { uri })
        expect(result.contents[0].blob).to.equal(Buffer.from('hello').toString('base64'))
        expect((await ask(`${base}/artefacts/sha256/${sha256}`)).text).to.equal('hello')
        const shard = join(registryDir, 'dcc-mcp-artefacts', 'sha256', sha256.slice(0, 2))
        expect((await stat(join(shard, sha256))).size).to.equal(5)
      },
    ],
    [
      '--no-artefacts: reads are −32002, uploads and downloads 404',
      () =>
        serve(['--no-artefacts'], async ({ url, base, post }) => {
          expect((await post('artefacts', 'x', plainText)).status).to.equal(404)
          const hex = 'a'.repeat(64)
          expect((await ask(`${base}/artefacts/sha256/${hex}`)).status).to.equal(404)
          const session = await RawSession.open(url)
          expect(await readCode(session, `artefact://sha256/${hex}`)).to.equal(-32002)
          expect(await readCode(session, 'artefact://sha256/short')).to.equal(-32002)
        }),
    ],
  ])

  const scene = 'scene://current'
  const completion = {
    ref: { type: 'ref/resource', uri: 'audit://recent{?limit}' },
    argument: { name: 'limit', value: '' },
  }

  facts('decision: --no-resources', [
    [
      'all resources methods, templates and completion are −32601; ping stays',
      () =>
        serve(['--no-resources'], async ({ url }) => {
          const session = await RawSession.open(url)
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
        }),
    ],
  ])

  facts('decision: what the application posts is what clients read', [
    [
      'scene, audit and events',
      async () => {
        const { url, post } = plain
        const session = await RawSession.open(url)
        const { json: posted } = await post('scene', '{"frame":7}')
        expect(posted).to.have.keys('ok', 'revision')
        expect(posted).to.include({ ok: true })
        expect(await session.readJson(scene)).to.deep.equal({ frame: 7 })
        const records = JSON.stringify({ records: [{ action: 'save', params: { token: 'x' } }] })
        expect((await post('audit', records)).json).to.deep.equal({ ok: true, count: 1 })
        const { entries } = await session.readJson('audit://recent')
        expect(entries[0]).to.deep.include({ action: 'save', params: { token: '[redacted]' } })
        const events = JSON.stringify({
          events: [{ source: 'maya', stream: 'stdout', message: 'hi', level: 'warn' }],
        })
        expect((await post('events/job-1', events)).json).to.deep.equal({
          ok: true,
          next_cursor: 1,
          dropped: 0,
        })
        const page = await session.readJson('events://session/job-1')
        expect(page.events[0]).to.include({ message: 'hi', level: 'warning' })
      },
    ],
  ])

  facts('decision: state directory', [
    [
      '--registry-dir goes before SERVICE_REGISTRY_DIR; the folder is private to its user',
      async () => {
        expect((await stat(join(plain.registryDir, 'instances'))).mode & 0o777).to.equal(0o700)
        expect(await stat(join(unusedDir, 'instances')).catch(() => null)).to.equal(null)
      },
    ],
    [
      'a symbolic link is refused, naming the flag',
      () =>
        inFolder(async folder => {
          await mkdir(join(folder, 'real'), { mode: 0o700 })
          await symlink(join(folder, 'real'), join(folder, 'link'))
          const { code, stdout, stderr } = await runServe(['--registry-dir', join(folder, 'link')])
          expect(code).not.to.equal(0)
          expect(stdout + stderr)
            .to.match(/symbolic link/)
            .and.to.match(/--registry-dir/)
        }),
    ],
  ])

  facts('decision: a configured key is never ignored', [
    [
      'SERVICE_MCP_API_KEY is enforced on /mcp and on /artefacts',
      () =>
        serve(
          [],
          async ({ url, base }) => {
            const paths = [url, `${base}/artefacts/sha256/${'a'.repeat(64)}`]
            for (const path of paths) expect((await ask(path)).status, path).to.equal(401)
            const headers = { Authorization: `Bearer ${'k'.repeat(43)}` }
            const session = await RawSession.open(url, '2025-11-25', headers)
            expect((await session.call('ping')).result).to.deep.equal({})
          },
          { SERVICE_MCP_API_KEY: 'k'.repeat(43) },
        ),
    ],
  ])
})
