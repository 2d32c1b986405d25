import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'

/** `String`, templates and `Number` throw for it. */
const hostile = { toString: 0, valueOf: 0 }
const note = { number: 1, id: '3fa1b2c4', state: 'open', author: 'ada', text: 'Higher' }

describe('a command whose server answers with another form', () => {
  let home: string
  let server: Server
  let origin: string
  let answer: unknown

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'cli-unexpected-'))
    await writeFile(join(home, 'file'), 'bytes')
    server = createServer(async (req, res) => {
      let body = ''
      for await (const chunk of req) body += String(chunk)
      if (req.url?.startsWith('/host')) return res.end(JSON.stringify(answer))
      const { id, method, params } = req.method === 'POST' ? JSON.parse(body) : {}
      if (id === undefined) return res.writeHead(202).end()
      res.writeHead(200, { 'Content-Type': 'application/json' })
      return res.end(JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, params) }))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(async () => {
    server.closeAllConnections()
    server.close()
    await rm(home, { recursive: true, force: true })
  })

  function resultOf(method: string, { uri, protocolVersion }: any): unknown {
    if (method === 'initialize') {
      const serverInfo = { name: 'other', version: '1' }
      return { protocolVersion, serverInfo, capabilities: { resources: {} } }
    }
    return method === 'resources/read' && uri !== 'x://y'
      ? { contents: [{ uri, text: JSON.stringify(answer) }] }
      : answer
  }

  const run = (words: readonly string[]) => {
    const link = { SERVICE_HOST_URL: `${origin}/host`, SERVICE_HOST_TOKEN: 't'.repeat(32) }
    const reads = ['list', 'show', 'read'].includes(words[1] ?? '')
    const all = reads ? [...words, `--url=${origin}/mcp`] : words
    return runCommand(all, { env: cleanEnv({ HOME: home, ...link }) })
  }

  const list = ['notes', 'list']
  const show = ['notes', 'show', '1']
  const add = ['notes', 'add', 'Higher']
  const entry = (proof: unknown) => ({ ...note, entries: [{ action: 'answer', proof }] })
  const cases: [words: string[], told: string, answer: unknown][] = [
    [list, '/mcp to notes://open', {}],
    [list, '/mcp to notes://open', { notes: [{ ...note, author: hostile }] }],
    [list, '/mcp to notes://open', { notes: [{ ...note, number: '\u001b[31m' }] }],
    [show, '/mcp to notes://1', note],
    [show, '/mcp to notes://1', entry({ asked: 'nothing' })],
    [show, '/mcp to notes://1', entry({ no_changes: hostile })],
    [show, '/mcp to notes://1', entry({ as_of: hostile })],
    [show, '/mcp to notes://1', entry({ after: 'a://b', difference: { share: 'all', uri: '' } })],
    [['resources', 'list'], '/mcp to resources/list', { resources: hostile }],
    [['resources', 'read', 'x://y'], '/mcp to x://y', { contents: [hostile] }],
    [add, '/host to v1/notes', {}],
    [add, '/host to v1/notes', { note: { ...note, text: hostile } }],
    [['notes', 'close', '1'], '/host to v1/notes/1/close', { note: [] }],
    [['checkpoint', 'one'], '/host to v1/checkpoints', {}],
    [['checkpoint', 'one'], '/host to v1/checkpoints', { checkpoint: { as_of: hostile } }],
    [['page'], '/host to v1/page-login', { url: hostile }],
    [['artefacts', 'put', 'FILE'], '/host to v1/artefacts', {}],
  ]
  for (const [words, told, given] of cases) {
    it(`says so for ${words.join(' ')} and ${JSON.stringify(given)}`, async () => {
      answer = given
      const file = join(home, 'file')
      const { code, stderr } = await run(words.map(word => (word === 'FILE' ? file : word)))
      const line = `error: the answer of ${origin}${told} is not of the expected form\n`
      expect(stderr).to.contain(line).and.contain('hint: it may be another program')
      expect(code).to.equal(1)
    })
  }

  it('shows a note whose other members have another form', async () => {
    const targets = [{ name: hostile, was: hostile }, hostile]
    answer = { ...note, targets, entries: [{ action: hostile, at: hostile, by: 7, text: hostile }] }
    const shown = await run(show)
    expect(shown.code, shown.stderr).to.equal(0)
    answer = { notes: [answer] }
    const listed = await run(list)
    expect(listed.code, listed.stderr).to.equal(0)
    expect(listed.stdout).to.contain('ada: Higher ({"toString":0,')
  })
})
