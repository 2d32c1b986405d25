import * as v2 from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadSdk, type Sdk, type StatelessClient, Updates } from '../clients/client-face.ts'
import { checkPush, readJson } from '../clients/scenario.ts'
import type { Serving } from '../clients/serve.ts'
import { cleanEnv, root } from '../helpers/program.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { useServers } from './stdio-servers.ts'

const scene = 'scene://current'

describe('MCP clients over stdio', () => {
  const { stateDir, ends, serve, connect: startConnect } = useServers()

  /** How a client speaks to `connect` in this process. */
  function inProcess(keyFile?: string) {
    const { input, output } = startConnect(undefined, { keyFile })
    return new StdioServerTransport(output, input)
  }

  async function openV1() {
    const sdk = await loadSdk('@modelcontextprotocol/sdk', specifier => import(specifier))
    const client = new sdk.Client({ name: 'v1', version: '1' })
    ends.push(() => client.close())
    return client
  }

  it('serves SDK v1, which starts the program, and follows its server to another port', async () => {
    const first = await serve('--dcc-type', 'blender')
    const bytes = Buffer.alloc(1_000_000, 'pixels')
    const uri = `artefact://sha256/${await first.store(bytes, '', 'image/x-exr')}`
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(root, 'bin/run.js'), 'connect'],
      env: { ...(cleanEnv() as Record<string, string>), SERVICE_REGISTRY_DIR: stateDir() },
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
    await checkPush(client, updates, serving(first))
    await client.ping()

    await client.subscribeResource({ uri: scene })
    const before = updates.count(scene)
    await first.stop()
    await until(() => stderr.includes('the server is lost'), 'the loss')
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
      'the server is lost',
      'connected to the server again',
    ])
  })

  it('keeps a 2026-07-28 subscription of SDK v2 over a restart of the server', async () => {
    const { Client } = v2 as unknown as Sdk
    const first = await serve()
    const options = { versionNegotiation: { mode: 'auto' } }
    const client = new Client({ name: 'v2', version: '1' }, options) as StatelessClient
    ends.push(() => client.close())
    const updates = new Updates(client)
    await client.connect(inProcess())
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

  it('sends the key of --api-key-file', async () => {
    const file = join(stateDir(), 'key')
    await writeFile(file, 'k'.repeat(40), { mode: 0o600 })
    await serve('--api-key-file', file)
    const client = await openV1()
    await client.connect(inProcess(file))
    expect((await client.listResources()).resources).to.not.have.length(0)
    const keyless = await openV1()
    const error = await keyless.connect(inProcess()).then(
      () => expect.fail('it was let in'),
      (cause: Error) => cause,
    )
    expect(error.message).to.contain('requires a key or token')
  })
})

/** The part of a server that the shared checks of the client matrix use. */
function serving({ post }: RunningServe): Serving {
  return { post: (path: string, body: unknown) => post(path, body) } as unknown as Serving
}
