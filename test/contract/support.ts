import { join } from 'node:path'
import { expect } from 'chai'
import type { Descriptor, ResourceProducer } from '../../src/index.ts'
import { newFolder } from '../helpers/cleanup.ts'
import type { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import type { ServerParts } from '../../src/server/mcp-http-config.ts'
import {
  type Events,
  RawSession,
  startServer,
  type TestConfig,
  type TestServer,
} from '../helpers/mcp.ts'

export const scene = 'scene://current'
export const audit = 'audit://recent'
export const builtIn = [scene, 'scene://delta', audit]

/** The server of a section. Each test has a session of its own, and begins without a scene. */
export interface Section {
  url: string
  base: string
  server: McpHttpServer
  session: RawSession
}

/** Starts one server for the tests of the section. */
export function useServer(
  config: TestConfig = {},
  prepare: (server: McpHttpServer) => void = () => {},
  services: ServerParts = {},
): Section {
  const section = {} as Section
  let running: TestServer | undefined
  before(async () => {
    running = await startServer(config, services, prepare)
    Object.assign(section, running)
  })
  beforeEach(async () => void (section.session = await RawSession.open(section.url)))
  afterEach(() => {
    closeStreams()
    section.server.resources().setScene(null)
  })
  return section
}

/** A server with artefacts of its own; `root` is their folder. */
export function useArtefacts(
  limits: TestConfig['limits'] = {},
  prepare: (server: McpHttpServer) => void = () => {},
): Section & { root: string } {
  const registryDir = newFolder()
  const section = useServer({ registryDir, enableArtefactResources: true, limits }, prepare)
  return Object.assign(section, { root: join(registryDir, 'dcc-mcp-artefacts') })
}

const streams: Events[] = []

/** A stream of the session, subscribed to the URIs, until the test is over. */
export async function listen(session: RawSession, ...uris: string[]): Promise<Events> {
  const events = await session.listen()
  streams.push(events)
  for (const uri of uris) {
    expect(await session.call('resources/subscribe', { uri })).to.have.deep.property('result', {})
  }
  return events
}

export function closeStreams(): void {
  for (const events of streams.splice(0)) events.close()
}

export const listChanges = ({ messages }: Events): number =>
  messages.filter(each => each.method === 'notifications/resources/list_changed').length

/** The only content of a resource. */
export async function contentOf(session: RawSession, uri: string): Promise<any> {
  const { result, error } = await session.call('resources/read', { uri })
  expect(error, uri).to.equal(undefined)
  expect(result.contents).to.have.length(1)
  return result.contents[0]
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

export const readFailure = (session: RawSession, uri: unknown): Promise<RpcFailure> =>
  failure(session, 'resources/read', { uri })

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

export async function templatesOf(session: RawSession): Promise<string[]> {
  const { result } = await session.call('resources/templates/list')
  return result.resourceTemplates.map((each: { uriTemplate: string }) => each.uriTemplate)
}

/** What completion says of a variable of a template. */
export async function completed(
  session: RawSession,
  uri: string,
  name: string,
  value = '',
  resolved: object = {},
): Promise<any> {
  const ref = { type: 'ref/resource', uri }
  const context = { arguments: resolved }
  const params = { ref, argument: { name, value }, context }
  return (await session.call('completion/complete', params)).result.completion
}

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
  }
}
