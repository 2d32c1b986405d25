import { expect } from 'chai'
import { ok } from '../../../../src/lib/util/result.ts'
import { SubscriptionHub } from '../../../../src/server/mcp/subscriptions.ts'
import { applicationTools } from '../../../../src/server/mcp/tools/tools.ts'
import { SessionEventBuffer } from '../../../../src/server/resources/session-event-buffer.ts'
import { until } from '../../../helpers/until.ts'
import { MemoryBackend } from '../../../helpers/pictures.ts'
import { RawSession, startServer, toolCall } from '../../../helpers/mcp.ts'
import { callStateless, stateless } from '../../../helpers/stateless.ts'
import { serverDefaults } from '../../../../src/server/http/limits.ts'

const scene = {
  schema: 'dcc-scene/1',
  objects: Array.from({ length: 300 }, (_, at) => ({
    id: `Cube.${at}`,
    name: `Cube.${at}`,
    type: at % 3 === 0 ? 'light' : 'mesh',
    translate: [at, 0, 0],
  })),
}

const names = [
  'list_resources',
  'read_resource',
  'query_scene',
  'scene_changes',
  'look',
  'wait_for_change',
]

describe('tools', () => {
  let server: Awaited<ReturnType<typeof startServer>>
  let session: RawSession
  before(async () => {
    server = await startServer({ enableTools: true }, { capture: new MemoryBackend() })
    session = await RawSession.open(server.url)
    const resources = server.server.resources()
    resources.setScene(scene)
    const buffer = new SessionEventBuffer({ sessionId: 'console' })
    buffer.append({ source: 'a', stream: 'stdout', message: 'hello' })
    resources.registerSessionEventBuffer(buffer)
  })

  const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', stateless]
  for (const revision of revisions) {
    it(`are listed in a constant order, as reading only, in ${revision}`, async () => {
      const { tools } = await (revision === stateless
        ? callStateless(server.url, 'tools/list').then(({ json }) => json.result)
        : RawSession.open(server.url, revision)
            .then(own => own.call('tools/list'))
            .then(({ result }) => result))
      expect(tools.map((tool: any) => tool.name)).to.deep.equal(names)
      for (const tool of tools) {
        expect(tool.annotations).to.include({ readOnlyHint: true, openWorldHint: false })
        expect(tool.inputSchema).to.include({ type: 'object', additionalProperties: false })
        expect(tool).to.not.have.property('outputSchema')
        expect(tool._meta['anthropic/searchHint'], tool.name).to.be.a('string')
        const isLoaded = tool._meta['anthropic/alwaysLoad'] === true
        expect(isLoaded, tool.name).to.equal(tool.name === 'query_scene')
      }
      expect(JSON.stringify(tools)).to.not.contain('9007199254740991')
    })
  }

  it('are announced as a capability', async () => {
    const { result } = (await callStateless(server.url, 'server/discover')).json
    expect(result.capabilities).to.deep.include({ tools: {} })
  })

  const call = async (name: string, args: unknown = {}): Promise<any> =>
    (await session.call('tools/call', toolCall(name, args as object))).result
  const text = async (name: string, args?: unknown) => (await call(name, args)).content[0].text

  it('answer a stateless request as they answer in a session', async () => {
    for (const [name, args] of [
      ['list_resources', { scheme: 'scene' }],
      ['read_resource', { uri: 'scene://current', max_chars: 500 }],
      ['query_scene', { type: 'light', limit: 2 }],
      ['query_scene', { colour: 'red' }],
      ['scene_changes', { since: 1 }],
    ] as const) {
      const { json } = await callStateless(server.url, 'tools/call', toolCall(name, args))
      expect(json.result, name).to.deep.include(await call(name, args))
    }
  })

  it('list_resources has a line for each resource, and templates first', async () => {
    const result = await call('list_resources')
    const lines = result.content[0].text.split('\n')
    expect(lines[0]).to.match(/^scene:\/\/current\{\?view,/)
    expect(lines.join('\n')).to.contain('scene://current: Current scene (application/json')
    expect(lines.join('\n')).to.contain('\nevents://session/console: ')
  })

  it('list_resources finds by word and scheme, page by page', async () => {
    const only = await text('list_resources', { scheme: 'events', query: 'CONSOLE' })
    expect(only.split('\n')).to.have.length(1)
    const all = (await text('list_resources')).split('\n')
    const first = (await text('list_resources', { limit: 2 })).split('\n')
    const second = (await text('list_resources', { limit: 2, cursor: '2' })).split('\n')
    expect([...first, ...second]).to.deep.equal([
      ...all.slice(0, 2),
      'more: cursor="2"',
      ...all.slice(2, 4),
      'more: cursor="4"',
    ])
    expect(await text('list_resources', { query: 'nothing-like-it' })).to.contain('no resource')
  })

  it('read_resource has the text in slices that join to the whole', async () => {
    let [whole, offset] = ['', 0]
    for (;;) {
      const { content } = await call('read_resource', {
        uri: 'scene://current',
        offset,
        max_chars: 5000,
      })
      whole += content[0].text
      const next = /go on with offset=(\d+)/.exec(content[1].text)?.[1]
      if (next === undefined) break
      offset = Number(next)
    }
    expect(JSON.parse(whole)).to.deep.equal(scene)
  })

  it('query_scene has the summary when nothing is selected', async () => {
    const { content, structuredContent } = await call('query_scene')
    expect(structuredContent).to.include({ view: 'summary' })
    expect(structuredContent.revision).to.be.a('number')
    expect(JSON.parse(content[0].text)).to.deep.equal(structuredContent)
  })

  it('query_scene never has more than max_chars, and says where to go on', async () => {
    let [seen, offset] = [0, 0]
    for (;;) {
      const { content, structuredContent: part } = await call('query_scene', {
        type: 'mesh',
        fields: ['name'],
        limit: 1000,
        offset,
        max_chars: 1000,
      })
      expect(content[0].text.length).to.be.at.most(1000)
      expect(part).to.include({ total: 200, returned: part.items.length })
      seen += part.items.length
      if (part.next_offset === undefined) break
      offset = part.next_offset
    }
    expect(seen).to.equal(200)
  })

  it('query_scene and read_resource find an object by its name', async () => {
    const resources = server.server.resources()
    resources.setScene({ objects: [{ id: 42, name: 'Key Light', energy: 10 }] })
    const found = await call('query_scene', { ids: ['Key Light'] })
    expect(found.structuredContent.items).to.deep.equal([{ id: 42, name: 'Key Light', energy: 10 }])
    const read = JSON.parse(await text('read_resource', { uri: 'Key Light' }))
    expect(read.items).to.deep.equal(found.structuredContent.items)
    resources.setScene(scene)
  })

  it('takes null for arguments that are left out', async () => {
    expect((await call('query_scene', { type: null, limit: 2 })).isError).to.equal(undefined)
    const params = { name: 'query_scene', arguments: null }
    const { result } = await session.call('tools/call', params)
    expect(result.isError).to.equal(undefined)
  })

  it('look has an image and its facts', async () => {
    const { content } = await call('look', { max_width: 64 })
    expect(content[0]).to.include({ type: 'image', mimeType: 'image/jpeg' })
    expect(content[1].text).to.match(/^window, \d+ × \d+ pixels, scene revision \d+$/)
  })

  const refused: [name: string, args: unknown, text: RegExp][] = [
    ['read_resource', {}, /^argument_invalid: argument "uri" is missing$/],
    [
      'read_resource',
      { uri: 'scene://current', max_chars: 1 },
      /argument "max_chars": Too small: expected number to be >=100$/,
    ],
    ['read_resource', { uri: 'nope://x' }, /^resource_not_found: /],
    ['read_resource', { uri: 'gateway://instances' }, /list the resources and the URI templates/],
    ['read_resource', { uri: 'events://session/console?drain=true' }, /leave out drain/],
    [
      'list_resources',
      { cursor: 'x' },
      /^argument_invalid: argument "cursor": must be the one of an answer$/,
    ],
    ['query_scene', { colour: 'red' }, /unknown argument "colour"; known: view, pointer/],
    [
      'query_scene',
      { ids: Array(100).fill('x'.repeat(50)) },
      /uri must have at most 2048 characters/,
    ],
    [
      'scene_changes',
      { since: 1, checkpoint: 'a' },
      /^argument_invalid: since and checkpoint exclude each other$/,
    ],
    ['query_scene', { pointer: '/nowhere' }, /members there: schema, objects/],
    [
      'look',
      { target: 'moon' },
      /argument "target": Invalid option: expected one of "window"\|"viewport"$/,
    ],
    [
      'wait_for_change',
      { timeout_s: 46 },
      /argument "timeout_s": Too big: expected number to be <=45$/,
    ],
    ['wait_for_change', { uris: ['capture://current_window'] }, /never announces changes/],
    ['wait_for_change', { uris: ['scene://currant'] }, /^resource_not_found: /],
    ['wait_for_change', { uris: [{ toString: 0 }] }, /argument "uris.0": .*expected string/],
    ['look', { ['x'.repeat(900_000)]: 1 }, /^argument_invalid: unknown argument "x{60}"; known: /],
  ]
  for (const [name, args, expected] of refused) {
    it(`${name} of ${JSON.stringify(args).slice(0, 100)} is a result that says what is wrong`, async () => {
      const { content, isError } = await call(name, args)
      expect(isError).to.equal(true)
      expect(content[0].text).to.match(expected)
    })
  }

  it('name the way to a value that does not fit', async () => {
    const deep = { ['x'.repeat(3000)]: { y: { z: 1 } } }
    server.server.resources().setScene({ deep })
    expect(await text('query_scene', { pointer: '/deep', max_chars: 500 })).to.match(
      /^argument_invalid: .*max_chars \(500\).*choose fields or a pointer/,
    )
    server.server.resources().setScene(scene)
  })

  it('tell nothing of a failure inside the server', async () => {
    const resources = server.server.resources()
    const read = resources.read.bind(resources)
    resources.read = () => {
      throw new Error('a secret path')
    }
    const told = await text('read_resource', { uri: 'scene://current' })
    resources.read = read
    expect(told).to.equal('internal: the tool failed; see the log of the server')
  })

  it('returns −32602 for an unknown tool, naming the known ones', async () => {
    for (const params of [{ name: 'run_python' }, { name: '__proto__' }, { name: 7 }, {}]) {
      const { error } = await session.call('tools/call', params)
      expect(error.code).to.equal(-32_602)
      expect(error.message).to.contain(names.join(', '))
    }
    for (const args of [[], 'x', 1]) {
      const { error } = await session.call('tools/call', { name: 'look', arguments: args })
      expect(error).to.include({ code: -32_602, message: '"arguments" must be an object' })
    }
  })

  it('look at a window when it shows the newest scene, and name that revision', async () => {
    const backend = new MemoryBackend()
    backend.held = true
    const own = await startServer({ enableTools: true }, { capture: backend })
    const registry = own.server.resources()
    const revision = registry.setScene({ frame: 1 })
    const timers: (() => void)[] = []
    const timer = { after: (_ms: number, run: () => void) => (timers.push(run), () => {}) }
    // As in the program: the clock of durations has another beginning than that of the scene.
    const parts = { registry, timer, clock: { now: () => 5 }, limits: serverDefaults }
    const hub = new SubscriptionHub(1)
    const { signal } = new AbortController()
    const given = { ...parts, hub, waits: new Set(), stopped: signal }
    const look = applicationTools(false).find(({ name }) => name === 'look')
    const caller = { signal, progress: null, principal: 'somebody', mayAnswer: true }
    const looking = look!.call({ target: 'window', max_width: 1024 }, caller, given)
    expect(backend.takings).to.deep.equal([])
    for (const run of timers) run()
    await until(() => backend.takings.length > 0, 'the picture is being taken')
    registry.setScene({ frame: 2 })
    backend.takings[0]?.outcome.resolve(ok(backend.picture(40)))
    const { content } = await looking
    expect(content[1])
      .to.have.property('text')
      .that.matches(new RegExp(`revision ${revision}$`))
  })

  it('leave without a capture backend what a look needs, in words', async () => {
    const blind = await startServer({ enableTools: true })
    const own = await RawSession.open(blind.url)
    const { result } = await own.call('tools/call', { name: 'look', arguments: {} })
    expect(result.isError).to.equal(true)
    expect(result.content[0].text).to.match(/^resource_not_enabled: /)
  })
})

describe('a server without tools', () => {
  for (const config of [{}, { enableTools: true, enableResources: false }]) {
    it(`lists none and calls none: ${JSON.stringify(config)}`, async () => {
      const server = await startServer(config)
      const session = await RawSession.open(server.url)
      expect((await session.call('tools/list')).result).to.deep.equal({ tools: [] })
      const { error } = await session.call('tools/call', { name: 'look', arguments: {} })
      expect(error.code).to.equal(-32_601)
      const discovered = (await callStateless(server.url, 'server/discover')).json.result
      expect(discovered.capabilities).to.not.have.property('tools')
    })
  }
})
