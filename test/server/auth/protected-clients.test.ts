import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v2 from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import type { ServeHandle } from '../../../src/server/host/serve-options.ts'
import { startServe } from '../../../src/server/serve.ts'
import {
  loadSdk,
  type Sdk,
  type SdkClient,
  type SdkTransport,
  type StatelessClient,
  Updates,
} from '../../clients/client-face.ts'
import { readJson } from '../../clients/scenario.ts'
import { tapFetch } from '../../clients/wire.ts'
import { ask } from '../../helpers/mcp.ts'

const key = 'an-api-key-of-thirty-two-characters'
const scene = 'scene://current'
const info = { name: 'newest', version: '1' }

describe('the newest SDK clients at a server with a key', () => {
  let folder: string
  let serve: ServeHandle
  let setScene: (scene: object) => Promise<void>

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'protected-clients-'))
    serve = await startServe({
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      registryDir: folder,
      accessLog: () => {},
      log: silentLogger,
      dccType: 'maya',
      artefacts: true,
      resources: true,
      auth: { mode: 'api-key', key, keysFile: join(folder, 'keys.json') },
    })
    const token = await readFile(serve.hostTokenFile ?? '', 'utf8')
    setScene = async body => {
      const answer = await ask(`${serve.hostUrl}/v1/scene`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(answer.status).to.equal(200)
    }
  })
  after(async () => {
    await serve.stop()
    await rm(folder, { recursive: true, force: true })
  })

  interface Way {
    client: SdkClient
    transport: SdkTransport
  }
  type Open = (headers?: Record<string, string>) => Promise<Way>

  const v1: Open = async headers => {
    const name = '@modelcontextprotocol/sdk'
    const sdk = await loadSdk(name, specifier => import(specifier))
    const transport = new sdk.StreamableHTTPClientTransport(new URL(serve.url), optionsOf(headers))
    return { client: new sdk.Client(info), transport }
  }
  const second =
    (mode?: unknown): Open =>
    async headers => {
      const { Client, StreamableHTTPClientTransport } = v2 as unknown as Sdk
      const options = mode === undefined ? {} : { versionNegotiation: { mode } }
      const transport = new StreamableHTTPClientTransport(new URL(serve.url), optionsOf(headers))
      return { client: new Client(info, options), transport }
    }

  const clients: [title: string, open: Open, isStateless: boolean][] = [
    ['SDK v1', v1, false],
    ['SDK v2 as it comes', second(), false],
    ['SDK v2 when it asks for the stateless transport first', second('auto'), true],
    ['SDK v2 when it speaks the stateless transport only', second({ pin: '2026-07-28' }), true],
  ]

  for (const [title, open, isStateless] of clients) {
    it(`list, read, and are told of changes with ${title} and the key in a header`, async () => {
      await setScene({ round: 1 })
      const wire = tapFetch(serve.url)
      const { client, transport } = await open({ Authorization: `Bearer ${key}` })
      try {
        const updates = new Updates(client)
        await client.connect(transport)
        const { resources } = await client.listResources()
        expect(resources.map(({ uri }) => uri)).to.include(scene)
        expect(await readJson(client, scene)).to.deep.equal({ round: 1 })
        if (isStateless) {
          await (client as StatelessClient).listen({ resourceSubscriptions: [scene] })
        } else {
          await wire.streamOpen()
          await client.subscribeResource({ uri: scene })
        }
        await setScene({ round: 2 })
        await updates.until(scene, 1)
        expect(await readJson(client, scene)).to.deep.equal({ round: 2 })
      } finally {
        wire.release()
        await client.close()
      }
    })

    it(`tell the person what is missing with ${title} and no key`, async () => {
      const said = await failureOf(await open())
      expect(said).to.contain('an API key is required')
      expect(said).to.contain('Authorization: Bearer')
    })

    it(`tell the person what is wrong with ${title} and another key`, async () => {
      const said = await failureOf(await open({ Authorization: 'Bearer another-key' }))
      expect(said).to.match(/this server does not know the API key/)
      expect(said).not.to.contain('another-key')
    })
  }
})

function optionsOf(headers: Record<string, string> | undefined): object {
  return headers === undefined ? {} : { requestInit: { headers } }
}

/**
 * What a program can show of the error of `connect`: its text, and the answer of the server where
 * that is not in the text.
 */
async function failureOf({ client, transport }: { client: SdkClient; transport: SdkTransport }) {
  try {
    await client.connect(transport)
  } catch (error) {
    const { data } = error as { data?: { text?: string } }
    return `${String(error)} ${data?.text ?? ''}`
  } finally {
    await client.close()
  }
  throw new Error('connected')
}
