import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'
import {
  contentsOf,
  type ScriptedInstance,
  startScriptedInstance,
} from '../helpers/scripted-instance.ts'

/** Turns the terminal red, rings, and turns the direction of the text. */
const hostile = '\u001b[31mred\u0007\u202e'

describe('a command whose server answers with hostile members', () => {
  let home: string
  let server: Server
  let instance: ScriptedInstance
  let answer: unknown
  let status = 200

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'cli-lying-'))
    instance = await startScriptedInstance(home)
    server = createServer((req, res) => {
      req.resume().on('end', () => res.writeHead(status).end(JSON.stringify(answer)))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(async () => {
    await instance.stop()
    server.close()
    await rm(home, { recursive: true, force: true })
  })

  const host = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = (...words: string[]) =>
    runCommand(words, {
      input: 'a-token\n',
      env: cleanEnv({
        HOME: home,
        SERVICE_HOST_URL: `${host()}/host`,
        SERVICE_HOST_TOKEN: 't'.repeat(32),
      }),
    })
  const show = (note: object) => {
    instance.onRead = ({ res, uri, id }) => {
      res.setHeader('Content-Type', 'application/json')
      res.end(contentsOf(uri, JSON.stringify(note), id))
    }
    return run('notes', 'show', '1', `--url=${instance.url}`)
  }

  for (const member of ['state', 'id', 'author', 'text']) {
    it(`shows a note without the control characters of its ${member}`, async () => {
      const texts = { state: 'open', id: 'abcd', author: 'ada', text: 'bright' }
      const note = { number: 1, ...texts, entries: [] }
      const { code, stdout, stderr } = await show({ ...note, [member]: hostile })
      expect([code, stderr]).to.deep.equal([0, ''])
      expect(stdout).to.contain('red')
      expect(stdout.trimEnd()).to.match(/^[\x20-\x7e]*$/)
    })
  }

  it('prints the link of the page with its control characters escaped', async () => {
    answer = { url: `http://127.0.0.1/#${hostile}`, expires_in: 300 }
    const { code, stdout } = await run('page')
    expect([code, stdout]).to.deep.equal([0, 'http://127.0.0.1/#%1B[31mred%07%E2%80%AE\n'])
  })

  it('escapes control characters with --json, which parses to the same', async () => {
    const entry = { uri: 'scene://current', name: `${hostile}\u009b31m` }
    instance.onCall = ({ res, id }) => {
      res.setHeader('Content-Type', 'application/json')
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resources: [entry] } }))
    }
    const { code, stdout } = await run('resources', 'list', '--json', `--url=${instance.url}`)
    expect(code).to.equal(0)
    expect(stdout.trimEnd()).to.match(/^[\x20-\x7e]*$/)
    expect(JSON.parse(stdout).resources).to.deep.equal([entry])
  })

  it('refuses a download in the words of the server, without its control characters', async () => {
    const error = { code: -32000, message: hostile }
    const word = 'a'.repeat(64)
    answer = { jsonrpc: '2.0', id: 1, error }
    status = 403
    const { code, stderr } = await run('artefacts', 'get', word, `--url=${host()}/mcp`)
    status = 200
    expect([code, stderr]).to.deep.equal([3, 'error: red\n'])
  })

  it('saves a login whose token expires after the year 9999', async () => {
    const token = { name: 'ci', expires_at: '9999-12-31T23:59:59-05:00' }
    answer = { username: 'ada', email: 'ada@studio.example', token }
    const login = await run('login', '--token-stdin', `--registry=${host()}`)
    expect(login.code, login.stderr).to.equal(0)
    const { code, stdout, stderr } = await run('whoami', `--registry=${host()}`)
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.contain('username: ada')
  })
})
