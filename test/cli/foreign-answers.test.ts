import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'
import { listening } from '../helpers/listening.ts'

/** `String`, templates and `Number` throw for it. */
const hostile = { toString: 0, valueOf: 0 }
/** Turns the terminal red, rings, and turns the direction of the text. */
const escapes = '\u001b[31mred\u0007\u202e'
const plain = /^[\x20-\x7e\n]*$/

const note = { number: 1, id: '3fa1b2c4', state: 'open', author: 'ada', text: 'Higher' }

describe('a command whose server is another program', () => {
  let home: string
  let origin: string
  let answer: unknown
  let status: number
  let headers: Record<string, string>

  before(async () => {
    home = newFolder()
    await writeFile(join(home, 'file'), 'bytes')
    const server = createServer(async (req, res) => {
      let body = ''
      for await (const chunk of req) body += String(chunk)
      res.writeHead(status, { 'Content-Type': 'application/json', ...headers })
      if (req.method !== 'POST' || req.url !== '/mcp' || status !== 200)
        return res.end(JSON.stringify(answer))
      const { id, method, params = {} } = JSON.parse(body)
      const result = resultOf(method, params)
      return res.end(id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    origin = `http://127.0.0.1:${await listening(server)}`
  })
  beforeEach(() => {
    status = 200
    headers = {}
  })

  function resultOf(method: string, { uri }: any): unknown {
    return method === 'resources/read' && uri !== 'x://y'
      ? { contents: [{ uri, text: JSON.stringify(answer) }] }
      : answer
  }

  const run = (words: string) => {
    const link = { SERVICE_HOST_URL: `${origin}/host`, SERVICE_HOST_TOKEN: 't'.repeat(32) }
    const args = words.replace('FILE', join(home, 'file')).split(' ')
    const reads = ['list', 'show', 'read', 'get'].includes(args[1] ?? '')
    if (reads) args.push(`--url=${origin}/mcp`)
    return runCommand(args, { env: cleanEnv({ HOME: home, ...link }) })
  }

  const forms: [words: string, told: string, answer: unknown][] = [
    ['notes list', '/mcp to notes://open', { notes: [{ ...note, author: hostile }] }],
    ['notes show 1', '/mcp to notes://1', note],
    ['resources list', '/mcp to resources/list', { resources: hostile }],
    ['resources read x://y', '/mcp to x://y', { contents: [hostile] }],
    ['notes add Higher', '/host to v1/notes', { note: { ...note, text: hostile } }],
    ['notes close 1', '/host to v1/notes/1/close', { note: [] }],
    ['checkpoint one', '/host to v1/checkpoints', { checkpoint: [] }],
    ['page', '/host to v1/page-login', { url: hostile }],
    ['artefacts put FILE', '/host to v1/artefacts', {}],
  ]
  for (const [words, told, given] of forms) {
    it(`says for ${words} that ${JSON.stringify(given)} is not of the expected form`, async () => {
      answer = given
      const { code, stderr } = await run(words)
      const line = `error: the answer of ${origin}${told} is not of the expected form\n`
      expect(stderr).to.contain(line).and.contain('hint: it may be another program')
      expect(code).to.equal(1)
    })
  }

  it('shows a note without the control characters of its members', async () => {
    const texts = { state: escapes, id: escapes, author: escapes, text: escapes }
    answer = { number: 1, ...texts, entries: [] }
    const { code, stdout, stderr } = await run('notes show 1')
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout.match(/red/g)).to.have.length(4)
    expect(stdout).to.match(plain)
  })

  it('prints the link of the page with its control characters escaped', async () => {
    answer = { url: `http://127.0.0.1/#${escapes}`, expires_in: 300 }
    const { code, stdout } = await run('page')
    expect([code, stdout]).to.deep.equal([0, 'http://127.0.0.1/#%1B[31mred%07%E2%80%AE\n'])
  })

  it('escapes control characters with --json, which parses to the same', async () => {
    const resources = [{ uri: 'scene://current', name: `${escapes}\u009b31m` }]
    answer = { resources }
    const { code, stdout } = await run('resources list --json')
    expect(code).to.equal(0)
    expect(stdout).to.match(plain)
    expect(JSON.parse(stdout).resources).to.deep.equal(resources)
  })

  it('refuses a download in the words of the server, without its control characters', async () => {
    answer = { jsonrpc: '2.0', id: 1, error: { code: -32000, message: escapes } }
    status = 403
    const { code, stderr } = await run(`artefacts get ${'a'.repeat(64)}`)
    expect(code).to.equal(3)
    expect(stderr).to.match(/refused the request \(HTTP 403\): red\n$/)
  })

  const refusals: [words: string, status: number, code: number, told: RegExp, headers?: object][] =
    [
      ['resources list', 401, 4, /requires a key or token \(HTTP 401\): no\nhint: set SERVICE_MCP/],
      ['resources list', 400, 3, /does not serve MCP 2026-07-28 \(HTTP 400\)/],
      ['resources list', 404, 3, /\/mcp not found \(HTTP 404\): no\n/],
      ['resources list', 429, 6, /is busy \(HTTP 429\): no\n/],
      ['resources list', 302, 3, /redirects to http:\/\/other\/\n/, { Location: 'http://other/' }],
      ['resources list', 503, 5, /refused the request \(HTTP 503\): no\n/],
      [
        'resources list',
        200,
        3,
        /is not an MCP endpoint: it answers with text\/html\n/,
        { 'Content-Type': 'text/html' },
      ],
      [
        'page',
        401,
        4,
        /does not accept the key or token .*: no\nhint: the server may have restarted/,
      ],
      ['page', 507, 5, /refused the request \(HTTP 507\): no\n/],
      ['artefacts put FILE', 413, 3, /refused the request \(HTTP 413\): no\n/],
    ]
  for (const [words, refused, expected, told, more = {}] of refusals) {
    it(`exits with ${expected} for ${words} and HTTP ${refused}, and says ${told.source}`, async () => {
      answer = { detail: 'no' }
      status = refused
      headers = { ...more }
      const { code, stdout, stderr } = await run(words)
      expect([code, stdout]).to.deep.equal([expected, ''])
      expect(stderr).to.match(told)
    })
  }
})
