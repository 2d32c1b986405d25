import * as v2 from '@modelcontextprotocol/client'
import * as v2stdio from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkPush, readJson } from '../clients/scenario.ts'
import { loadSdk, type Sdk, type SdkClient, Updates } from '../clients/client-face.ts'
import type { Serving } from '../clients/serve.ts'
import { cleanEnv, root } from '../helpers/program.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { useServers } from './stdio-servers.ts'

describe('MCP clients over stdio', () => {
  const { stateDir, ends, serve, connect: startConnect } = useServers()

  /** How a client is told to start the program, and what it says on stderr. */
  function command(...words: string[]) {
    const args = [join(root, 'bin/run.js'), ...words]
    const env = { ...(cleanEnv() as Record<string, string>), SERVICE_REGISTRY_DIR: stateDir() }
    return { command: process.execPath, args, env, stderr: 'pipe' as const }
  }

  interface Connected {
    readonly client: SdkClient
    readonly updates: Updates
    readonly stderr: () => string
  }

  /** How a client speaks to `connect` in this process. */
  function inProcess(keyFile?: string) {
    const { input, output } = startConnect(undefined, { keyFile })
    return new StdioServerTransport(output, input)
  }

  async function connect(client: SdkClient, transport: { stderr?: unknown }): Promise<Connected> {
    let stderr = ''
    const stream = transport.stderr as NodeJS.ReadableStream | undefined
    stream?.on('data', chunk => (stderr += String(chunk)))
    const updates = new Updates(client)
    await client.connect(transport)
    ends.push(() => client.close())
    return { client, updates, stderr: () => stderr }
  }

  async function connectV1(transport: object): Promise<Connected> {
    const sdk = await loadSdk('@modelcontextprotocol/sdk', specifier => import(specifier))
    return connect(new sdk.Client({ name: 'v1', version: '1' }), transport)
  }

  async function connectV2(transport: object, options: object = {}): Promise<Connected> {
    const { Client } = v2 as unknown as Sdk
    return connect(new Client({ name: 'v2', version: '1' }, options), transport)
  }

  const startV1 = () => connectV1(new StdioClientTransport(command('connect')))
  const startV2 = () => connectV2(new v2stdio.StdioClientTransport(command('connect')))

  /** The part of a server that the shared checks of the client matrix use. */
  function serving(server: RunningServe): Serving {
    return { post: (path: string, body: unknown) => server.post(path, body) } as unknown as Serving
  }

  const clients: [name: string, open: () => Promise<Connected>][] = [
    ['SDK v1', startV1],
    ['SDK v2', startV2],
  ]
  for (const [name, open] of clients) {
    it(`serves lists, reads and updates to ${name}`, async () => {
      const server = await serve('--dcc-type', 'blender')
      const bytes = Buffer.alloc(1_000_000, 'pixels')
      const uri = `artefact://sha256/${await server.store(bytes, '', 'image/x-exr')}`
      const { client, updates } = await open()
      const { resources } = await client.listResources()
      expect(resources.map(resource => resource.uri)).to.include.members(['scene://current', uri])
      const [image] = (await client.readResource({ uri })).contents
      expect(Buffer.from(image?.blob ?? '', 'base64').equals(bytes)).to.equal(true)
      await checkPush(client, updates, serving(server))
      await client.ping()
    })
  }

  it('keeps a 2026-07-28 subscription of SDK v2 over a restart of the server', async () => {
    const first = await serve()
    const auto = { versionNegotiation: { mode: 'auto' } }
    const { client, updates } = await connectV2(inProcess(), auto)
    const { getProtocolEra, listen } = client as unknown as {
      getProtocolEra(): string
      listen(filter: object): Promise<{ closed: Promise<string> }>
    }
    expect(getProtocolEra.call(client)).to.equal('modern')
    const subscription = await listen.call(client, { resourceSubscriptions: ['scene://current'] })
    await first.post('scene', { objects: ['Cube'] })
    await updates.until('scene://current', 1)
    expect((await readJson(client, 'scene://current')).objects).to.deep.equal(['Cube'])
    await first.stop()
    const second = await serve()
    await updates.until('scene://current', 2)
    await second.post('scene', { objects: [] })
    await updates.until('scene://current', 3)
    expect((await readJson(client, 'scene://current')).objects).to.deep.equal([])
    const open = await Promise.race([subscription.closed, Promise.resolve('open')])
    expect(open).to.equal('open')
  })

  it('reconnects after the server was killed and started on another port', async () => {
    const first = await startServeProcess({ registryDir: stateDir() })
    const { client, updates, stderr } = await startV1()
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

  it('sends the key of --api-key-file', async () => {
    const file = join(stateDir(), 'key')
    await writeFile(file, 'k'.repeat(40), { mode: 0o600 })
    await serve('--api-key-file', file)
    const { client } = await connectV1(inProcess(file))
    expect((await client.listResources()).resources).to.not.have.length(0)
    const error = await startV1().then(
      () => expect.fail('it was let in'),
      (cause: Error) => cause,
    )
    expect(error.message).to.contain('requires a key or token')
  })
})
