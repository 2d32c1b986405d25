import * as v2 from '@modelcontextprotocol/client'
import { expect } from 'chai'
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
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const key = 'an-api-key-of-thirty-two-characters'
const scene = 'scene://current'
const info = { name: 'newest', version: '1' }

describe('the newest SDK clients at a server with a key', () => {
  let serve: RunningServe
  before(async () => (serve = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key } })))
  after(() => serve.stop())

  const setScene = async (scene: object) =>
    expect((await serve.post('scene', scene)).status).to.equal(200)

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

    it(`tell the person what is missing or wrong with ${title}`, async () => {
      const missing = await failureOf(await open())
      expect(missing).to.contain('an API key is required').and.contain('Authorization: Bearer')
      const wrong = await failureOf(await open({ Authorization: 'Bearer another-key' }))
      expect(wrong).to.match(/this server does not know the API key/)
      expect(wrong).not.to.contain('another-key')
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
