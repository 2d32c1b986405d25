import * as v2 from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { expect } from 'chai'
import type { ChildProcess } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { findEndpoint } from '../../src/commands/find-endpoint.ts'
import { runBridge } from '../../src/lib/mcp/bridge/bridge.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { loadSdk, type Sdk, type StatelessClient, Updates } from '../clients/client-face.ts'
import { checkPush, readJson } from '../clients/scenario.ts'
import { atEnd, newFolder } from '../helpers/cleanup.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { cleanEnv, exitOf, root, startProgram } from '../helpers/program.ts'
import { until } from '../helpers/until.ts'

const scene = 'scene://current'

/** The `initialize` that a client sends first. */
const hello = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
  },
}

describe('service-cli over stdio', () => {
  /** The state directory of servers and clients. */
  let folder: string
  beforeEach(() => (folder = newFolder()))

  const serve = (...flags: string[]) => serveInProcess({ registryDir: folder, flags })

  const environment = () => cleanEnv({ SERVICE_REGISTRY_DIR: folder, XDG_DATA_HOME: folder })

  describe('as a process', () => {
    interface Program {
      readonly child: ChildProcess
      send(message: object): void
      /** JSON-RPC messages that it wrote. */
      lines(): any[]
      answer(id: number): Promise<any>
      stderr(): string
    }

    function start(...words: string[]): Program {
      const child = startProgram(words, { env: environment(), stdio: ['pipe', 'pipe', 'pipe'] })
      atEnd(async () => {
        child.kill('SIGKILL')
        await exitOf(child)
      })
      let stdout = ''
      let stderr = ''
      child.stdout?.on('data', chunk => (stdout += String(chunk)))
      child.stderr?.on('data', chunk => (stderr += String(chunk)))
      const lines = () =>
        stdout
          .split('\n')
          .slice(0, -1)
          .map(line => JSON.parse(line))
      return {
        child,
        lines,
        stderr: () => stderr,
        send: message =>
          void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
        async answer(id) {
          const found = () => lines().find(message => message.id === id)
          await until(() => found() !== undefined, `an answer to ${id}`)
          return found()
        },
      }
    }

    const instances = async () =>
      (await readdir(join(folder, 'instances'))).filter(name => name.endsWith('.json'))

    async function endOf(child: ChildProcess): Promise<number | null> {
      child.stdin?.end()
      return exitOf(child)
    }

    it('starts one server for clients that start together, which ends with the first', async () => {
      const programs = [1, 2].map(() => start('serve', '--stdio'))
      for (const program of programs) {
        program.child.stdin?.write('what is no message\n')
        program.send(hello)
        expect((await program.answer(1)).result.serverInfo.name).to.equal('service-cli')
        expect(program.lines().map(({ id, error }) => error?.code ?? id)).to.deep.equal([-32700, 1])
      }
      expect(await instances()).to.have.length(1)
      const started = ({ stderr }: Program) =>
        stderr().includes('started a server that ends with this client')
      const joined = ({ stderr }: Program) =>
        stderr().includes('joined the running server, whose flags apply')
      await until(() => programs.some(started) && programs.some(joined), 'the lines on stderr')
      const [first, second] = programs.toSorted((one, other) => +started(other) - +started(one))
      if (first === undefined || second === undefined) throw new Error('no two programs')
      expect(await endOf(first.child)).to.equal(0)
      expect(await instances()).to.have.length(0)
      second.send({ id: 2, method: 'ping' })
      expect((await second.answer(2)).error.data.reason).to.equal('server_unreachable')
      expect(await endOf(second.child)).to.equal(0)
    })

    it('exits when the client closes stdout', async () => {
      const program = start('serve', '--stdio')
      program.send(hello)
      await program.answer(1)
      program.child.stdout?.destroy()
      program.child.stdin?.write('what needs an answer\n')
      expect(await exitOf(program.child)).to.equal(0)
    })

    it('exits 0 on SIGTERM while the client does not read, and ends its session', async () => {
      const server = await serve('--log-level', 'info')
      const program = start('connect')
      program.child.stdin?.on('error', () => {})
      program.send(hello)
      await program.answer(1)
      program.child.stdout?.pause()
      program.child.stdin?.write('what needs an answer\n'.repeat(50_000))
      const blocked = () => (program.child.stdin?.writableLength ?? 0) > 0
      await until(blocked, 'the client to wait')
      program.child.kill('SIGTERM')
      expect(await exitOf(program.child)).to.equal(0)
      const told = '"method":"DELETE","path":"/mcp","status":204'
      await until(() => server.output().stderr.includes(told), 'the farewell')
    })
  })

  describe('with an MCP client', () => {
    /** How a client speaks to `connect` in this process. */
    function connect(keyFile?: string) {
      const [input, output] = [new PassThrough(), new PassThrough()]
      const stop = new AbortController()
      const flags = { 'allow-http': false, 'api-key-file': keyFile }
      const env = { SERVICE_REGISTRY_DIR: folder }
      const log = silentLogger
      const ended = findEndpoint(undefined, flags, env, { log, naming: '' }).then(endpoint =>
        runBridge({ ...endpoint, input, output, env, log }, stop.signal),
      )
      atEnd(async () => {
        stop.abort()
        await ended
      })
      return new StdioServerTransport(output, input)
    }

    async function openV1() {
      const sdk = await loadSdk('@modelcontextprotocol/sdk', specifier => import(specifier))
      const client = new sdk.Client({ name: 'v1', version: '1' })
      atEnd(() => client.close())
      return client
    }

    it('serves SDK v1, which starts the program, and follows its server to another port', async () => {
      const first = await serve('--dcc-type', 'blender')
      const bytes = Buffer.alloc(1_000_000, 'pixels')
      const uri = `artefact://sha256/${await first.store(bytes, '', 'image/x-exr')}`
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [join(root, 'bin/run.js'), 'connect'],
        env: environment() as Record<string, string>,
        stderr: 'pipe',
      })
      let stderr = ''
      transport.stderr?.on('data', chunk => (stderr += String(chunk)))
      const client = await openV1()
      const updates = new Updates(client)
      await client.connect(transport)
      const { resources } = await client.listResources()
      expect(resources.map(resource => resource.uri)).to.include.members([scene, uri])
      const [image] = (await client.readResource({ uri })).contents
      expect(Buffer.from(image?.blob ?? '', 'base64').equals(bytes)).to.equal(true)
      await checkPush(client, updates, first)
      await client.ping()

      await client.subscribeResource({ uri: scene })
      const before = updates.count(scene)
      await first.stop()
      await until(() => stderr.includes('no connection to the server'), 'the loss')
      const error = await client.readResource({ uri: scene }).catch(cause => cause)
      expect(error.message).to.contain('cannot be reached').and.contain('repeat the request')
      const second = await serve('--dcc-type', 'blender')
      await updates.until(scene, before + 1)
      await second.post('scene', { objects: ['Cube'] })
      await updates.until(scene, before + 2)
      expect((await readJson(client, scene)).objects).to.deep.equal(['Cube'])
      const lines = () => stderr.split('\n').slice(0, -1)
      await until(() => lines().length >= 4, 'the lines on stderr')
      expect(lines().map(line => JSON.parse(line).msg)).to.deep.equal([
        'messages on stdin go to the endpoint',
        'session opened',
        'no connection to the server',
        'the server answers',
      ])
    })

    it('keeps a 2026-07-28 subscription of SDK v2 over a restart of the server', async () => {
      const { Client } = v2 as unknown as Sdk
      const first = await serve()
      const options = { versionNegotiation: { mode: 'auto' } }
      const client = new Client({ name: 'v2', version: '1' }, options) as StatelessClient
      atEnd(() => client.close())
      const updates = new Updates(client)
      await client.connect(connect())
      expect(client.getProtocolEra()).to.equal('modern')
      const subscription = await client.listen({ resourceSubscriptions: [scene] })
      await first.post('scene', { objects: ['Cube'] })
      await updates.until(scene, 1)
      expect((await readJson(client, scene)).objects).to.deep.equal(['Cube'])
      await first.stop()
      const second = await serve()
      await updates.until(scene, 2)
      await second.post('scene', { objects: [] })
      await updates.until(scene, 3)
      expect((await readJson(client, scene)).objects).to.deep.equal([])
      const open = await Promise.race([subscription.closed, Promise.resolve('open')])
      expect(open).to.equal('open')
    })
  })
})
