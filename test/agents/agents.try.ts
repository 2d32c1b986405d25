import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { type Serving, startServe } from '../clients/serve.ts'
import { runOwn } from '../clients/run-program.ts'
import { until } from '../helpers/until.ts'
import { skipBecause } from '../helpers/skip.ts'

const hasThread = (answer: any): answer is { thread: { id: string } } => answer?.thread?.id

const countToolLists = (serving: Serving) => serving.log().match(/tools\/list/g)?.length ?? 0

const key = 'an-api-key-of-thirty-two-characters'

/**
 * Programs with a model behind them, as far as they go without one and without a login: do they
 * find the server by what mcp-config writes? Those that are in PATH are tried, at home in a folder
 * of the test; what is said of them is in docs/clients.md, with their versions.
 */
describe('the settings that mcp-config writes', function () {
  this.timeout(60_000)
  let folder: string
  let home: string
  let open: Serving
  let keyed: Serving
  let homes = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-cli-agents-'))
    const keyFile = join(folder, 'key')
    await writeFile(keyFile, key, { mode: 0o600 })
    await mkdir(join(folder, 'open'), { mode: 0o700 })
    await mkdir(join(folder, 'keyed'), { mode: 0o700 })
    open = await startServe(join(folder, 'open'), ['--dcc-type', 'blender'])
    const flags = ['--dcc-type', 'maya', '--api-key-file', keyFile]
    keyed = await startServe(join(folder, 'keyed'), flags)
  })
  beforeEach(async () => {
    home = join(folder, `home-${++homes}`)
    await mkdir(home, { mode: 0o700 })
  })
  after(async () => {
    const codes = [await open?.stop(), await keyed?.stop()]
    await rm(folder, { recursive: true, force: true })
    expect(codes).to.deep.equal([0, 0])
  })

  const environment = (): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: folder,
    NO_COLOR: '1',
    SERVICE_MCP_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  })

  /** All that the program says; the test is skipped when there is no such program. */
  function ask(context: Mocha.Context, program: string, ...args: string[]): Promise<string> {
    const options = { cwd: home, env: environment(), timeout: 45_000 }
    return new Promise((resolve, reject) => {
      const child = execFile(program, args, options, (error, stdout, stderr) => {
        if (error?.code !== 'ENOENT') return resolve(stdout + stderr)
        try {
          skipBecause(context, `${program} is not in PATH`)
        } catch (skipped) {
          reject(skipped)
        }
      })
      child.stdin?.end()
    })
  }

  async function write(client: string, server: 'open' | 'keyed', ...flags: string[]) {
    const registry = ['--registry-dir', join(folder, server)]
    const args = ['mcp-config', client, '--write', ...registry, ...flags]
    const { code, stderr } = await runOwn(args, { home })
    expect(code, stderr).to.equal(0)
  }

  it('connect Claude Code, with a key and without', async function () {
    await write('claude-code', 'open')
    await write('claude-code', 'keyed')
    const said = await ask(this, 'claude', 'mcp', 'list')
    expect(said).to.include(`blender: ${open.url} (HTTP) - ✔ Connected`)
    expect(said).to.include(`maya: ${keyed.url} (HTTP) - ✔ Connected`)
  })

  it('connect Gemini CLI, with a key and without', async function () {
    await write('gemini-cli', 'open')
    await write('gemini-cli', 'keyed', '--scope', 'project')
    const said = await ask(this, 'gemini', 'mcp', 'list')
    expect(said).to.match(/✓ blender: .* serve --stdio --dcc-type blender .* - Connected/)
    expect(said).to.match(/✓ maya: .* serve --stdio --dcc-type maya .* - Connected/)
  })

  it('let Claude Code start the bridge, with the key', async function () {
    await write('claude-code', 'keyed', '--stdio', '--name', 'bridged')
    const said = await ask(this, 'claude', 'mcp', 'list')
    expect(said).to.match(/bridged: .* connect maya .* - ✔ Connected/)
  })

  for (const [title, client, program, connected] of [
    ['opencode', 'opencode', 'opencode', '(✓ NAME.* connected)'],
    ['Qwen Code', 'qwen-code', 'qwen', '(✓.* NAME: .* - Connected)'],
  ] as const) {
    it(`connect ${title}, with a key, without, and by the bridge`, async function () {
      await write(client, 'open')
      await write(client, 'keyed')
      await write(client, 'keyed', '--stdio', '--name', 'bridged')
      const said = stripVTControlCharacters(await ask(this, program, 'mcp', 'list'))
      for (const name of ['blender', 'maya', 'bridged']) {
        expect(said).to.match(new RegExp(connected.replace('NAME', name)))
      }
    })
  }

  it('lead Codex to the resources, with a key, without, and by the bridge', async function () {
    await write('codex', 'open')
    await write('codex', 'keyed')
    await write('codex', 'open', '--stdio', '--name', 'bridged')
    await ask(this, 'codex', '--version')
    const servers = ['blender', 'maya', 'bridged']
    const said = await askCodex([
      ['mcpServerStatus/list', {}],
      ...servers.map(server => ['mcpServer/resource/read', { server, uri: 'scene://current' }]),
    ] as [string, object][])
    const [status, ...read] = said as [Status, ...{ contents: { uri: string }[] }[]]
    for (const name of servers) {
      const found = status.data.find(each => each.name === name)
      const uris = found?.resources.map(({ uri }) => uri)
      expect(uris, name).to.include.members(['scene://current', 'audit://recent'])
    }
    for (const { contents } of read) expect(contents[0]?.uri).to.equal('scene://current')
  })

  it('lead Codex to the tools, and to what one answers', async function () {
    await write('codex', 'open')
    await ask(this, 'codex', '--version')
    const called = { server: 'blender', tool: 'query_scene', arguments: {} }
    const [status, , answer] = (await askCodex([
      ['mcpServerStatus/list', {}],
      ['thread/start', {}],
      ['mcpServer/tool/call', called],
    ])) as [Status, { thread: { id: string } }, { content: { text: string }[] }]
    const tools = status.data.find(({ name }) => name === 'blender')?.tools ?? {}
    expect(Object.keys(tools)).to.include.members(['query_scene', 'wait_for_change'])
    expect(answer.content[0]?.text).to.contain('no_snapshot')
  })

  for (const [client, program, args] of [
    ['claude-code', 'claude', ['mcp', 'list']],
    ['opencode', 'opencode', ['mcp', 'list']],
  ] as const) {
    it(`let ${client} list the tools`, async function () {
      await write(client, 'open')
      const before = countToolLists(open)
      await ask(this, program, ...args)
      await until(() => countToolLists(open) > before, 'tools/list')
    })
  }

  interface Status {
    data: { name: string; resources: { uri: string }[]; tools?: Record<string, unknown> }[]
  }

  /** Codex as the server of an editor: what it needs no model for. One answer for each request. */
  async function askCodex(requests: [method: string, params: object][]): Promise<unknown[]> {
    const child = spawn('codex', ['app-server'], {
      cwd: home,
      env: { ...environment(), SERVICE_REGISTRY_DIR: '' },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const waiting = new Map<number, (answer: { result?: unknown; error?: unknown }) => void>()
    createInterface({ input: child.stdout }).on('line', line => {
      const message = JSON.parse(line)
      waiting.get(message.id)?.(message)
    })
    const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
    const call = async (id: number, method: string, params: object) => {
      const { promise, resolve } = Promise.withResolvers<{ result?: unknown; error?: unknown }>()
      waiting.set(id, resolve)
      send({ id, method, params })
      const { result, error } = await promise
      expect(error, method).to.equal(undefined)
      return result
    }
    try {
      const clientInfo = { name: 'service-cli-test', title: 'test', version: '1' }
      await call(0, 'initialize', { clientInfo })
      send({ method: 'initialized' })
      const answers: unknown[] = []
      for (const [index, [method, params]] of requests.entries()) {
        const thread = answers.findLast(hasThread)?.thread.id
        const inThread = method === 'mcpServer/tool/call' ? { ...params, threadId: thread } : params
        answers.push(await call(index + 1, method, inThread))
      }
      return answers
    } finally {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
  }
})
