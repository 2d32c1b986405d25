import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Descriptor, ResourceProducer } from '../../src/index.ts'
import type { McpHttpServer } from '../../src/server/mcp/mcp-http-server.ts'
import type { ServerParts } from '../../src/server/mcp/server-parts.ts'
import { type Events, RawSession, startServer, type TestConfig } from '../helpers/mcp.ts'

/** One stated fact, in our words, and how it is checked. */
export type Fact = readonly [fact: string, check: () => unknown]

/** A section of the specification, or a row of our decisions, as one test a fact. */
export function facts(section: string, rows: readonly Fact[]): void {
  describe(section, () => {
    for (const [fact, check] of rows) it(fact, check)
  })
}

export interface Scene {
  url: string
  base: string
  server: McpHttpServer
  session: RawSession
}

/** A real server with one session for the length of a check, and nothing of it afterwards. */
export async function serving(
  check: (scene: Scene) => Promise<unknown>,
  config: TestConfig = {},
  prepare: (server: McpHttpServer) => void = () => {},
  services: ServerParts = {},
): Promise<void> {
  const running = await startServer(config, services, prepare)
  try {
    const session = await RawSession.open(running.url)
    await check({ ...running, session })
  } finally {
    await running.stop()
  }
}

/** A stream subscribed to the URIs, closed after the check. */
export async function listening(
  session: RawSession,
  uris: readonly string[],
  check: (events: Events) => Promise<void>,
): Promise<void> {
  const events = await session.listen()
  try {
    for (const uri of uris) {
      expect(await session.call('resources/subscribe', { uri })).to.have.deep.property('result', {})
    }
    await check(events)
  } finally {
    events.close()
  }
}

/** An empty folder for the length of a check. */
export async function inFolder(check: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'contract-'))
  try {
    await check(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export interface RpcFailure {
  code: number
  message: string
  data?: Record<string, unknown>
}

/** The JSON-RPC error that the call must end with. */
export async function failure(
  session: RawSession,
  method: string,
  params?: unknown,
): Promise<RpcFailure> {
  const { error, result } = await session.call(method, params)
  expect(result, `${method} ${JSON.stringify(params)} was answered`).to.equal(undefined)
  expect(error.message).to.be.a('string').and.not.equal('')
  return error
}

export async function readCode(session: RawSession, uri: unknown): Promise<number> {
  return (await failure(session, 'resources/read', { uri })).code
}

/** Every descriptor, page by page. */
export async function listAll(session: RawSession): Promise<any[]> {
  const all: any[] = []
  let cursor: string | undefined
  for (let page = 0; page < 100; page++) {
    const { result } = await session.call('resources/list', cursor === undefined ? {} : { cursor })
    all.push(...result.resources)
    cursor = result.nextCursor
    if (cursor === undefined) return all
  }
  throw new Error('the listing never ends')
}

export async function listedUris(session: RawSession): Promise<string[]> {
  return (await listAll(session)).map(descriptor => descriptor.uri)
}

export const builtIn = ['scene://current', 'scene://delta', 'audit://recent']

/** A producer of `count` resources, named 0, 1, 2, …, with one template. */
export function many(scheme: string, count: number): ResourceProducer {
  const list: Descriptor[] = Array.from({ length: count }, (_, n) => ({
    uri: `${scheme}://${n}`,
    name: `${n}`,
  }))
  return {
    scheme,
    list: () => list,
    read: uri => [{ uri, text: '' }],
    templates: () => [{ uriTemplate: `${scheme}://{number}`, name: 'By number' }],
    complete: (variable, prefix) =>
      variable === 'number' ? list.map(each => each.name).filter(n => n.startsWith(prefix)) : [],
  }
}
