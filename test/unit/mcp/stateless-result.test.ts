import { expect } from 'chai'
import { resultMessage, type JsonText } from '../../../src/server/mcp/json-text.ts'
import { createStatelessMethods } from '../../../src/server/mcp/stateless/methods.ts'
import { createResultOpenings } from '../../../src/server/mcp/stateless/meta.ts'
import { createResourceMethods } from '../../../src/server/mcp/resource-methods.ts'
import type { Content } from '../../../src/server/resources/producer.ts'
import type { ServedResources } from '../../../src/server/resources/served-resources.ts'

const identity = { name: 'n', title: 't', version: '1.2.3', instructions: 'read' }
const artefact = `artefact://sha256/${'a'.repeat(64)}`

describe('the result of a stateless request', () => {
  let serialised = 0
  const content: Content = {
    uri: 'test://a',
    get text() {
      serialised++
      return 'ä'.repeat(100_000)
    },
  }
  const kept: readonly Content[] = Object.freeze([Object.freeze(content)])
  const registry: Pick<ServedResources, 'read' | 'relay' | 'page' | 'templates'> = {
    relay: () => null,
    read: () => kept,
    page: async () => ({ descriptors: [] }),
    templates: () => [],
  }
  const resources = createResourceMethods(registry as unknown as ServedResources)
  const openings = createResultOpenings(identity)
  const table = createStatelessMethods({
    identity,
    openings,
    resources: { methods: resources, listen() {} },
    tools: null,
  })

  const stays = {
    reader: { signal: new AbortController().signal },
    progress: null,
    principal: 'somebody',
    mayAnswer: true,
  }

  async function answer(name: string, params: Record<string, unknown> = {}): Promise<JsonText> {
    const method = table.get(name)
    if (method?.kind !== 'answer') throw new Error(`${name} is not answered`)
    return resultMessage(1, await method.run(params, stays), method.opening(params))
  }

  const textOf = (text: JsonText) =>
    Buffer.concat(text.parts.map(part => Buffer.from(part as string)))

  it('reuses the serialised text of an unchanged resource on both transports', async () => {
    serialised = 0
    const [first, second] = [
      await answer('resources/read', { uri: 'test://a' }),
      await answer('resources/read', { uri: 'test://a' }),
    ]
    const plain = resultMessage(2, await resources.read({ uri: 'test://a' }))
    expect(serialised).to.equal(1)
    expect(textOf(first).equals(textOf(second))).to.equal(true)
    // The bytes of a large answer are the same ones, whoever is sent them.
    expect(first.parts[1]).to.be.instanceOf(Uint8Array)
    expect(second.parts[1]).to.equal(first.parts[1])
    expect(plain.parts[1]).to.equal(first.parts[1])
  })

  it('knows its length', async () => {
    for (const method of ['server/discover', 'resources/list', 'resources/read']) {
      const text = await answer(method)
      expect(text.byteLength, method).to.equal(textOf(text).length)
    }
  })

  const cases: [method: string, params: Record<string, unknown>, ttlMs: number][] = [
    ['server/discover', {}, 10_000],
    ['resources/list', {}, 0],
    ['resources/templates/list', {}, 0],
    ['resources/read', { uri: 'scene://current' }, 0],
    ['resources/read', { uri: artefact }, 300_000],
    ['resources/read', { uri: artefact.toUpperCase() }, 0],
  ]
  for (const [method, params, ttlMs] of cases) {
    it(`may be kept for ${ttlMs} ms by the reader of ${method} ${JSON.stringify(params)}`, async () => {
      const { result } = JSON.parse(textOf(await answer(method, params)).toString())
      expect(result).to.include({ resultType: 'complete', ttlMs, cacheScope: 'private' })
      expect(result._meta).to.deep.equal({
        'io.modelcontextprotocol/serverInfo': { name: 'n', title: 't', version: '1.2.3' },
      })
    })
  }
})
