import * as v2 from '@modelcontextprotocol/client'
import * as v2stdio from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect } from 'chai'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkPush, readJson } from '../clients/scenario.ts'
import { loadSdk, type Sdk, type SdkClient, Updates } from '../clients/client-face.ts'
import type { Serving } from '../clients/serve.ts'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv, exitOf, root, startProgram } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { until } from './until.ts'

describe('service-cli over stdio', function () {
  this.timeout(30_000)
  let folder = ''
  const ends: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stdio-test-'))
  })
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end()
    await rm(folder, { recursive: true, force: true })
  })

  async function serve(...flags: string[]): Promise<ServeProcess> {
    const server = await startServeProcess({ registryDir: folder, flags })
    ends.push(() => server.stop())
    return server
  }

  /** How a client is told to start the program, and what it says on stderr. */
  function command(...words: string[]) {
    const args = [join(root, 'bin/run.js'), ...words]
    const env = { ...(cleanEnv() as Record<string, string>), SERVICE_REGISTRY_DIR: folder }
    return { command: process.execPath, args, env, stderr: 'pipe' as const }
  }

  interface Connected {
    readonly client: SdkClient
    readonly updates: Updates
    readonly stderr: () => string
  }

  async function connect(client: SdkClient, transport: { stderr: unknown }): Promise<Connected> {
    let stderr = ''
    const stream = transport.stderr as NodeJS.ReadableStream
    stream.on('data', chunk => (stderr += String(chunk)))
    const updates = new Updates(client)
    await client.connect(transport)
    ends.push(() => client.close())
    return { client, updates, stderr: () => stderr }
  }

  async function connectV1(...words: string[]): Promise<Connected> {
    const sdk = await loadSdk('@modelcontextprotocol/sdk', specifier => import(specifier))
    const client = new sdk.Client({ name: 'v1', version: '1' })
    return connect(client, new StdioClientTransport(command(...words)))
  }

  async function connectV2(options: object, ...words: string[]): Promise<Connected> {
    const { Client } = v2 as unknown as Sdk
    const client = new Client({ name: 'v2', version: '1' }, options)
    return connect(client, new v2stdio.StdioClientTransport(command(...words)))
  }

  /** The part of a server that the shared checks of the client matrix use. */
  function serving(server: ServeProcess): Serving {
    return { post: (path: string, body: unknown) => server.post(path, body) } as unknown as Serving
  }

  const clients: [name: string, open: (...words: string[]) => Promise<Connected>][] = [
    ['SDK v1', connectV1],
    ['SDK v2', (...words) => connectV2({}, ...words)],
  ]
  for (const [name, open] of clients) {
    it(`lets ${name} list, read, subscribe and be told of changes`, async () => {
      const server = await serve('--dcc-type', 'blender')
      const bytes = Buffer.alloc(1_000_000, 'pixels')
      const uri = `artefact://sha256/${await server.store(bytes, '', 'image/x-exr')}`
      const { client, updates } = await open('connect')
      const { resources } = await client.listResources()
      expect(resources.map(resource => resource.uri)).to.include.members(['scene://current', uri])
      const [image] = (await client.readResource({ uri })).contents
      expect(Buffer.from(image?.blob ?? '', 'base64').equals(bytes)).to.equal(true)
      await checkPush(client, updates, serving(server))
      await client.ping()
    })
  }

  it('lets SDK v2 speak 2026-07-28, over a restart of the server', async () => {
    const first = await serve()
    const modern = { versionNegotiation: { mode: 'auto' } }
    const { client, updates } = await connectV2(modern, 'connect')
    const { getProtocolEra, listen } = client as unknown as {
      getProtocolEra(): string
      listen(filter: object): Promise<{ closed: Promise<string> }>
    }
    expect(getProtocolEra.call(client)).to.equal('modern')
    const subscription = await listen.call(client, { resourceSubscriptions: ['scene://current'] })
    await first.post('scene', { objects: ['Cube'] })
    await updates.until('scene://current', 1)
    expect((await readJson(client, 'scene://current')).objects).to.deep.equal(['Cube'])
    first.signal('SIGTERM')
    await first.exited
    const second = await serve()
    await updates.until('scene://current', 2, 20_000)
    await second.post('scene', { objects: [] })
    await updates.until('scene://current', 3)
    expect((await readJson(client, 'scene://current')).objects).to.deep.equal([])
    const open = await Promise.race([subscription.closed, Promise.resolve('open')])
    expect(open).to.equal('open')
  })

  it('goes on when the server is killed and comes back on another port', async () => {
    const first = await serve()
    const { client, updates, stderr } = await connectV1('connect')
    await client.subscribeResource({ uri: 'scene://current' })
    first.signal('SIGKILL')
    await first.exited
    await until(() => stderr().includes('the server is lost'), 'the loss')
    const error = await client.readResource({ uri: 'scene://current' }).catch(cause => cause)
    expect(error.message).to.contain('cannot be reached').and.contain('repeat the request')
    const second = await serve()
    expect(second.port).to.not.equal(first.port)
    await updates.until('scene://current', 1)
    await second.post('scene', { objects: ['Cube'] })
    await updates.until('scene://current', 2)
    expect((await readJson(client, 'scene://current')).objects).to.deep.equal(['Cube'])
    const events = () =>
      stderr()
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line).msg)
    await until(() => events().length >= 4, 'the lines on stderr')
    expect(events()).to.deep.equal([
      'messages on stdin go to the endpoint',
      'session opened',
      'the server is lost',
      'connected to the server again',
    ])
  })

  it('sends the key that the server asks for', async () => {
    const file = join(folder, 'key')
    await writeFile(file, 'k'.repeat(40), { mode: 0o600 })
    await serve('--api-key-file', file)
    const { client } = await connectV1('connect', '--api-key-file', file)
    expect((await client.listResources()).resources).to.not.have.length(0)
    const error = await connectV1('connect').then(
      () => expect.fail('it was let in'),
      (cause: Error) => cause,
    )
    expect(error.message).to.contain('requires an API key')
  })

  /** The program with its stdio at hand. */
  function start(...words: string[]) {
    const env = cleanEnv({ SERVICE_REGISTRY_DIR: folder })
    const child = startProgram(words, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    ends.push(async () => {
      child.kill('SIGKILL')
      await exitOf(child)
    })
    const out = { stdout: '', stderr: '' }
    child.stdout?.on('data', chunk => (out.stdout += String(chunk)))
    child.stderr?.on('data', chunk => (out.stderr += String(chunk)))
    const send = (message: object) =>
      void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const lines = () =>
      out.stdout
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line))
    return { child, out, send, lines }
  }

  async function answered(program: { lines(): any[] }, id: number): Promise<any> {
    const found = () => program.lines().find(message => message.id === id)
    await until(() => found() !== undefined, `an answer to ${id}`, 20_000)
    return found()
  }

  const hello = {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    },
  }
  const instances = async () =>
    (await readdir(join(folder, 'instances'))).filter(name => name.endsWith('.json'))

  async function endOf(child: ChildProcess): Promise<number | null> {
    child.stdin?.end()
    return exitOf(child)
  }

  it('starts a server for a client that finds none, and ends both with stdin', async () => {
    const program = start('serve', '--stdio', '--log-level', 'debug')
    program.child.stdin?.write('what is no message\n')
    program.send(hello)
    expect((await answered(program, 1)).result.serverInfo.name).to.equal('service-cli')
    const started = () => program.out.stderr.includes('started a server for this client')
    await until(started, 'the line on stderr')
    expect(await instances()).to.have.length(1)
    expect(await endOf(program.child)).to.equal(0)
    expect(await instances()).to.have.length(0)
    expect(program.lines().map(({ id, error }) => error?.code ?? id)).to.deep.equal([-32700, 1])
  })

  it('joins a running server, and takes its place when it is gone', async () => {
    const first = start('serve', '--stdio')
    first.send(hello)
    await answered(first, 1)
    const second = start('serve', '--stdio', '--name', 'mine', '--bound=takeoverMs=100')
    second.send(hello)
    await answered(second, 1)
    const joined = () => second.out.stderr.includes('joined the running server')
    await until(() => joined() && second.out.stderr.includes('--name'), 'the lines on stderr')
    second.send({ method: 'notifications/initialized' })
    second.send({ id: 2, method: 'resources/subscribe', params: { uri: 'scene://current' } })
    await answered(second, 2)
    expect(await endOf(first.child)).to.equal(0)
    const told = () => second.lines().some(({ method }) => method?.endsWith('updated'))
    await until(told, 'the update of its own server', 20_000)
    const started = () => second.out.stderr.includes('started a server for this client')
    await until(started, 'the line on stderr')
    expect(await endOf(second.child)).to.equal(0)
  })

  it('goes back to the server that it stood in for when that returns', async () => {
    const first = await serve('--dcc-type', 'blender')
    const program = start('serve', '--stdio', '--bound=takeoverMs=100')
    program.send(hello)
    await answered(program, 1)
    program.send({ method: 'notifications/initialized' })
    program.send({ id: 2, method: 'resources/subscribe', params: { uri: 'scene://current' } })
    await answered(program, 2)
    await first.stop()
    const said = (text: string) => program.out.stderr.split(text).length - 1
    await until(() => said('started a server for this client') === 1, 'its own server', 20_000)
    const second = await serve('--dcc-type', 'blender')
    await until(() => said('connected to the server again') === 2, 'the way back', 20_000)
    await until(async () => (await instances()).length === 1, 'the end of its own server')
    const updates = () => program.lines().filter(({ method }) => method?.endsWith('updated')).length
    const before = updates()
    await second.post('scene', { objects: ['Cube'] })
    await until(() => updates() > before, 'the update of the server that returned')
    program.send({ id: 3, method: 'resources/read', params: { uri: 'scene://current' } })
    expect((await answered(program, 3)).result.contents[0].text).to.contain('Cube')
    expect(await endOf(program.child)).to.equal(0)
  })

  it('starts one server for clients that come at the same time', async () => {
    const programs = [
      start('serve', '--stdio'),
      start('serve', '--stdio'),
      start('serve', '--stdio'),
    ]
    for (const program of programs) program.send(hello)
    for (const program of programs) await answered(program, 1)
    expect(await instances()).to.have.length(1)
    for (const { child } of programs) expect(await endOf(child)).to.equal(0)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends with 0 on ${signal}, and the server is told`, async () => {
      const server = await serve('--log-level', 'info')
      const program = start('connect')
      program.send(hello)
      await answered(program, 1)
      program.child.kill(signal)
      expect(await exitOf(program.child)).to.equal(0)
      const told = '"method":"DELETE","path":"/mcp","status":204'
      await until(() => server.output().stderr.includes(told), 'the farewell')
    })
  }

  it('ends when its client reads no more, and when it is told to while that does not read', async () => {
    const gone = start('serve', '--stdio')
    gone.send(hello)
    await answered(gone, 1)
    gone.child.stdout?.destroy()
    gone.child.stdin?.write('what needs an answer\n')
    expect(await exitOf(gone.child)).to.equal(0)

    const stuck = start('serve', '--stdio', '--bound=maxWaitingMessages=10')
    stuck.child.stdin?.on('error', () => {})
    stuck.send(hello)
    await answered(stuck, 1)
    stuck.child.stdout?.pause()
    stuck.child.stdin?.write('what needs an answer\n'.repeat(50_000))
    const blocked = () => (stuck.child.stdin?.writableLength ?? 0) > 0
    await until(blocked, 'the client to wait')
    stuck.child.kill('SIGTERM')
    expect(await exitOf(stuck.child)).to.equal(0)
  })

  it('ends with 5 and writes nothing to stdout when nothing runs', async () => {
    const ended = await runCommand(['connect', '--registry-dir', folder])
    expect(ended).to.deep.include({ code: 5, stdout: '' })
    expect(ended.stderr).to.contain('no service-cli serve of yours is running')
  })
})
