import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bearer } from '../helpers/keyed-server.ts'
import { runCommand } from '../helpers/in-process.ts'
import { ask, initializeBody, RawSession } from '../helpers/mcp.ts'
import { cleanEnv, exitOf, startProgram } from '../helpers/program.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

describe('answer_note, for callers who may only read', () => {
  let home: string
  let serve: RunningServe
  let reader: string
  let writer: string

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'note-access-'))
    const create = async (...words: string[]) => {
      const env = cleanEnv({ HOME: home })
      return (await runCommand(['keys', 'create', ...words], { env })).stdout.trim()
    }
    reader = await create('reader', '--read-only')
    writer = await create('writer')
    serve = await serveInProcess({ registryDir: home })
  })
  after(async () => {
    await serve.stop()
    await rm(home, { recursive: true, force: true })
  })

  const namesOf = ({ result }: any): string[] => result.tools.map(({ name }: any) => name)

  it('is not listed in any revision, and the list is the same at each look', async () => {
    for (const revision of revisions) {
      const [own, theirs] = [
        await RawSession.open(serve.url, revision, bearer(reader)),
        await RawSession.open(serve.url, revision, bearer(writer)),
      ]
      const all = namesOf(await theirs.call('tools/list'))
      expect(all, revision).to.include.members(['list_notes', 'answer_note'])
      const read = namesOf(await own.call('tools/list'))
      expect(read, revision).to.deep.equal(all.filter(name => name !== 'answer_note'))
      expect(namesOf(await own.call('tools/list'))).to.deep.equal(read)
      const unknown = await own.call('tools/call', { name: 'x', arguments: {} })
      expect(unknown.error.message).to.contain('list_notes').and.not.to.contain('answer_note')
    }
    const stateless = async (key: string) => {
      const answer = await ask(serve.url, {
        method: 'POST',
        headers: { ...statelessHeaders('tools/list'), ...bearer(key) },
        body: JSON.stringify(statelessRequest('tools/list')),
      })
      return namesOf(answer.json)
    }
    expect(await stateless(reader)).not.to.include('answer_note')
    expect(await stateless(writer)).to.include('answer_note')
  })

  it('is not listed over stdio', async () => {
    const list = async (key: string) => {
      const env = cleanEnv({ HOME: home, SERVICE_REGISTRY_DIR: home, SERVICE_MCP_API_KEY: key })
      const child = startProgram(['connect'], { env, stdio: ['pipe', 'pipe', 'pipe'] })
      let out = ''
      child.stdout?.on('data', chunk => (out += String(chunk)))
      const lines = () => out.split('\n').slice(0, -1)
      const send = (message: object) =>
        void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
      send(JSON.parse(initializeBody()))
      await until(() => lines().length > 0, 'the answer to initialize')
      send({ method: 'notifications/initialized' })
      send({ id: 2, method: 'tools/list' })
      const answer = () =>
        lines()
          .map(line => JSON.parse(line))
          .find(({ id }) => id === 2)
      await until(() => answer() !== undefined, 'the list')
      child.kill()
      await exitOf(child)
      return namesOf(answer())
    }
    expect(await list(reader))
      .to.include('list_notes')
      .and.not.to.include('answer_note')
    expect(await list(writer)).to.include('answer_note')
  })
})
