import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import * as v2 from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { newFolder } from '../helpers/cleanup.ts'
import { freePort } from '../helpers/free-port.ts'
import { type SdkClient, Updates } from './client-face.ts'
import { programs } from './run-program.ts'
import { readJson } from './scenario.ts'
import { cleanEnvironment, type Serving, startServe } from './serve.ts'

const scene = 'scene://current'

/** None of these initialises again when the server does not know its session. */
describe('a restart of the server', function () {
  this.timeout(60_000)
  let home: string
  let serving: Serving

  beforeEach(async () => {
    home = newFolder()
    serving = await startServe(home, [], await freePort())
    await serving.post('scene', { dcc: 'blender' })
  })
  afterEach(async () => {
    const code = await serving.stop()
    expect(code).to.equal(0)
  })

  async function restart(awayMs = 0): Promise<void> {
    const { port } = new URL(serving.url)
    expect(await serving.stop()).to.equal(0)
    await setTimeout(awayMs)
    serving = await startServe(home, [], Number(port))
  }

  const bridge = (program: string, ...args: string[]) =>
    new StdioClientTransport({
      command: process.execPath,
      args: [join(programs, program), ...args],
      env: Object.fromEntries(
        Object.entries(cleanEnvironment(home)).map(([name, value]) => [name, value ?? '']),
      ),
      stderr: 'ignore',
    })

  const info = { name: 'restart', version: '1' }
  const connections: [
    title: string,
    open: (url: string) => [client: unknown, transport: object],
  ][] = [
    ['SDK v1', url => [new Client(info), new StreamableHTTPClientTransport(new URL(url))]],
    ['SDK v2', url => [new v2.Client(info), new v2.StreamableHTTPClientTransport(new URL(url))]],
    [
      'mcp-remote',
      url => [
        new Client(info),
        bridge('mcp-remote', url, '--allow-http', '--transport', 'http-only'),
      ],
    ],
  ]

  for (const [title, open] of connections) {
    it(`goes unnoticed by ${title}: it reads, and is told of changes`, async () => {
      const [connected, transport] = open(serving.url)
      const client = connected as SdkClient
      const updates = new Updates(client)
      await client.connect(transport)
      try {
        await client.subscribeResource({ uri: scene })
        // Longer than the SDKs try by themselves.
        await restart(3000)
        // One update for each subscription tells what may have been missed.
        await updates.until(scene, 1, 20_000)
        const before = updates.count(scene)
        await serving.post('scene', { dcc: 'maya' })
        await updates.until(scene, before + 1)
        expect(await readJson(client, scene)).to.deep.equal({ dcc: 'maya' })
      } finally {
        await client.close()
      }
    })
  }

  // It passes no notifications on.
  it('goes unnoticed by supergateway: it reads', async () => {
    const client = new Client(info)
    await client.connect(bridge('supergateway', '--streamableHttp', serving.url))
    try {
      const read = () => readJson(client as unknown as SdkClient, scene)
      expect(await read()).to.deep.equal({ dcc: 'blender' })
      await restart()
      await serving.post('scene', { dcc: 'maya' })
      expect(await read()).to.deep.equal({ dcc: 'maya' })
    } finally {
      await client.close()
    }
  })

  it('goes unnoticed by LangChain: its tools go on', async () => {
    // Installed with the clients, after the types are checked.
    const adapters = '@langchain/mcp-adapters'
    const { MultiServerMCPClient } = await import(adapters)
    const client = new MultiServerMCPClient({ dcc: { transport: 'http', url: serving.url } })
    try {
      const tools = await client.getTools()
      const query = tools.find(({ name }: { name: string }) => name.endsWith('query_scene'))
      expect(JSON.stringify(await query?.invoke({}))).to.include('blender')
      await restart()
      await serving.post('scene', { dcc: 'maya' })
      expect(JSON.stringify(await query?.invoke({}))).to.include('maya')
    } finally {
      await client.close()
    }
  })
})
