import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import {
  type ClientContext,
  createClientContext,
  type McpSession,
} from '../../../../src/lib/mcp/client/context.ts'
import {
  defaultMcpClientLimits,
  type McpClientLimits,
} from '../../../../src/lib/mcp/client/limits.ts'
import { openDownload } from '../../../../src/lib/mcp/client/artefact-download.ts'
import { openMcp } from '../../../../src/lib/mcp/client/open.ts'
import {
  completeTemplate,
  listAll,
  readResource,
} from '../../../../src/lib/mcp/client/resources.ts'
import { openStateless } from '../../../../src/lib/mcp/client/stateless-transport.ts'
import { Secret } from '../../../../src/lib/util/secret.ts'
import { systemTimer } from '../../../../src/lib/util/time.ts'
import { McpHttpServer } from '../../../../src/server/mcp/mcp-http-server.ts'
import { until } from '../../../helpers/until.ts'
import { startServer } from '../../../helpers/mcp.ts'
import { apiKeyPolicy } from '../../../../src/server/http/authentication.ts'
import { type ForeignServer, noteUri, pictureBytes, startForeign } from './foreign-server.ts'

const { signal } = new AbortController()
const limits = defaultMcpClientLimits

function contextOf(key: string | null = null, other: Partial<McpClientLimits> = {}): ClientContext {
  const parts = { env: {}, timer: systemTimer, log: silentLogger, limits: { ...limits, ...other } }
  return createClientContext({ ...parts, key: key === null ? null : new Secret(key) })
}

async function failure(work: Promise<unknown>): Promise<ServiceError> {
  try {
    await work
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
  throw new Error('it did not fail')
}

async function stateless(context: ClientContext, url: URL): Promise<McpSession> {
  const opened = await openStateless(context, url, signal)
  if (!opened.ok) throw new Error('it uses another transport')
  return opened.value
}

const transports = [
  ['with a session', openMcp],
  ['without a session', stateless],
] as const

for (const [transport, open] of transports) {
  describe(`the client ${transport}, at our own server`, () => {
    let server: McpHttpServer
    let url: URL
    let context: ClientContext
    beforeEach(async () => {
      server = new McpHttpServer({ limits: { pageSize: 2 } })
      url = new URL((await server.start()).url)
      context = contextOf()
    })
    afterEach(async () => {
      context.link.close()
      await server.stop()
    })

    it('lists every page, and no more than it may', async () => {
      const session = await open(context, url, signal)
      const { entries, cut } = await listAll(session, 'resources', limits, signal)
      expect(cut).to.equal(false)
      expect(entries.map(({ uri }) => uri)).to.include.members([
        'scene://current',
        'audit://recent',
      ])
      const some = await listAll(session, 'resources', { maxPages: 1, maxListed: 9 }, signal)
      expect(some.cut).to.equal(true)
      expect(some.entries).to.have.length(2)
      const templates = await listAll(session, 'templates', limits, signal)
      expect(templates.entries.map(({ uri }) => uri)).to.include('scene://delta{?since,run}')
      await session.close()
    })

    it('reads, completes, and knows what is not there', async () => {
      const revision = server.resources().setScene({ frame: 7 })
      const session = await open(context, url, signal)
      const { contents } = await readResource(session, 'scene://current', signal)
      expect(contents[0]).to.deep.include({ kind: 'text', text: '{"frame":7}' })
      const wish = { uri: 'scene://delta{?since,run}', name: 'since', value: '' }
      const { values } = await completeTemplate(session, wish, signal)
      expect(values).to.deep.equal([String(revision)])
      const missing = await failure(readResource(session, 'scene://nothing', signal))
      expect(missing.code).to.equal('resource_not_found')
      await session.close()
    })

    it('reports every change, and the loss of the server', async () => {
      const session = await open(context, url, signal)
      let updates = 0
      const { ended } = await session.subscribe('scene://current', () => updates++, signal)
      server.resources().setScene({ frame: 1 })
      await until(() => updates === 1, 'the first update')
      server.resources().setScene({ frame: 2 })
      await until(() => updates === 2, 'the second update')
      await server.stop()
      expect((await ended).kind).to.equal('lost')
      await session.close()
    })

    it('refuses an answer that is larger than it may be', async () => {
      server.resources().setScene({ text: 'x'.repeat(50_000) })
      const small = contextOf(null, { maxAnswerBytes: 10_000 })
      const session = await open(small, url, signal)
      const error = await failure(readResource(session, 'scene://current', signal))
      expect(error.code).to.equal('artefact_too_large')
      await session.close()
      small.link.close()
    })
  })
}

for (const transport of ['sessions', 'stateless'] as const) {
  describe(`the client at a foreign server of ${transport}`, () => {
    let server: ForeignServer
    let context: ClientContext
    beforeEach(async () => {
      server = await startForeign(transport)
      context = contextOf()
    })
    afterEach(async () => {
      context.link.close()
      await server.close()
    })

    it('lists, reads text and bytes, and is told of changes', async () => {
      const session = await openMcp(context, server.url, signal)
      expect(session.revision).to.equal(transport === 'sessions' ? '2025-11-25' : '2026-07-28')
      const { entries } = await listAll(session, 'resources', limits, signal)
      expect(entries.map(({ uri }) => uri)).to.include.members([noteUri, 'file:///a/shot.png'])
      const picture = await readResource(session, 'file:///a/shot.png', signal)
      expect(picture.contents[0]).to.deep.include({ kind: 'binary', bytes: pictureBytes })
      let updates = 0
      await session.subscribe(noteUri, () => updates++, signal)
      await server.write('changed')
      await until(() => updates === 1, 'the update')
      const note = await readResource(session, noteUri, signal)
      expect(note.contents[0]).to.deep.include({ kind: 'text', text: 'changed' })
      const missing = await failure(readResource(session, 'user://7', signal))
      expect(missing.code).to.equal('resource_not_found')
      await session.close()
    })
  })
}

describe('the client that a server asks', () => {
  it('answers pings, and refuses everything else', async () => {
    const server = await startForeign('sessions')
    const context = contextOf()
    try {
      const session = await openMcp(context, server.url, signal)
      await session.subscribe(noteUri, () => {}, signal)
      expect(await server.ask('ping')).to.deep.equal([{}])
      const [refusal] = await server.ask('roots/list')
      expect(refusal).to.include({ code: -32601 })
      await session.close()
    } finally {
      context.link.close()
      await server.close()
    }
  })
})

describe('the client that is refused', () => {
  it('tells a missing key from a wrong one', async () => {
    const { url: address, stop } = await startServer(
      {},
      { auth: apiKeyPolicy('the-key-of-this-server') },
    )
    const url = new URL(address)
    try {
      for (const [key, code] of [
        [null, 'auth_required'],
        ['another-key', 'auth_refused'],
      ] as const) {
        const error = await failure(openMcp(contextOf(key), url, signal))
        expect(error.code).to.equal(code)
        expect(error.hint).to.contain('SERVICE_MCP_API_KEY')
        expect(`${error.message}${error.hint}`).to.not.contain('another-key')
      }
      const session = await openMcp(contextOf('the-key-of-this-server'), url, signal)
      await session.close()
    } finally {
      await stop()
    }
  })

  it('does not show a key that the server repeats', async () => {
    const key = 'plain-key'
    const server = createServer(({ headers }, res) => {
      const sent = headers.authorization
      res
        .writeHead(401, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ detail: sent }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const context = contextOf(key)
    try {
      const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
      const wish = { url, hex: 'a'.repeat(64), from: 0, signal }
      const attempts = [() => openMcp(context, url, signal), () => openDownload(context, wish)]
      for (const attempt of attempts) {
        const { message } = await failure(attempt())
        expect(message).to.contain('(HTTP 401): Bearer [secret]').and.not.contain(key)
      }
    } finally {
      context.link.close()
      server.close()
    }
  })

  it('says when nobody listens', async () => {
    const error = await failure(openMcp(contextOf(), new URL('http://127.0.0.1:1/mcp'), signal))
    expect(error.code).to.equal('network_failed')
    expect(error.message).to.contain('127.0.0.1:1').and.contain('connection refused')
  })
})
