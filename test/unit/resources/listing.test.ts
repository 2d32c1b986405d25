import { expect } from 'chai'
import { ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import type {
  Descriptor,
  DescriptorPage,
  ResourceProducer,
} from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import type { SchemeProducer } from '../../../src/server/resources/scheme-producer.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { failureOf } from '../../helpers/failure.ts'
import { serverDefaults, type ServerLimits } from '../../../src/server/http/limits.ts'

function descriptors(scheme: string, count: number): readonly Descriptor[] {
  return Object.freeze(
    Array.from({ length: count }, (_, at) =>
      Object.freeze({ uri: `${scheme}://${at}`, name: String(at) }),
    ),
  )
}

function custom(scheme: string, count: number): ResourceProducer {
  const list = descriptors(scheme, count)
  return { scheme, list: () => list, read: () => [] }
}

/** As a store would page: positions are the number of artefacts already given. */
function artefacts(count: number): SchemeProducer {
  const list = descriptors('artefact', count)
  return {
    read: () => [],
    async page(after = '0', limit): Promise<DescriptorPage> {
      if (!/^\d+$/.test(after)) throw new ResourceUriInvalid('bad cursor')
      const end = Number(after) + limit
      const page = Object.freeze(list.slice(Number(after), end))
      return end < list.length ? { descriptors: page, next: String(end) } : { descriptors: page }
    },
  }
}

interface Given {
  limits?: Partial<ServerLimits>
  artefacts?: SchemeProducer
  log?: { warn: object[]; error: object[] }
}

function registry({ limits = {}, artefacts, log }: Given = {}): ResourceRegistry {
  return new ResourceRegistry({
    limits: { ...serverDefaults, ...limits },
    artefacts,
    log: {
      debug() {},
      info() {},
      warn: fields => log?.warn.push(fields),
      error: fields => log?.error.push(fields),
    },
  })
}

async function allPages(resources: ResourceRegistry): Promise<string[][]> {
  const pages: string[][] = []
  let cursor: string | undefined
  for (let at = 0; at < 100; at++) {
    const page = await resources.page(cursor)
    pages.push(page.descriptors.map(({ uri }) => uri))
    cursor = page.nextCursor
    if (cursor === undefined) return pages
  }
  throw new Error('the listing does not end')
}

describe('resource listing', () => {
  for (const [fixed, stored] of [
    [4, 0],
    [4, 7],
    [17, 23],
  ] as const) {
    it(`fills its pages with ${fixed} custom resources and ${stored} artefacts`, async () => {
      const resources = registry({ limits: { pageSize: 7 }, artefacts: artefacts(stored) })
      resources.addProducer(custom('docs', fixed))
      const pages = await allPages(resources)
      expect(pages.slice(0, -1).every(page => page.length === 7)).to.equal(true)
      expect(pages.flat()).to.have.length(3 + fixed + stored)
      expect(new Set(pages.flat())).to.have.property('size', 3 + fixed + stored)
    })
  }

  it('returns the identical page object while nothing changed', async () => {
    const resources = registry({ limits: { pageSize: 2 } })
    resources.addProducer(custom('docs', 3))
    const first = await resources.page(undefined)
    const second = await resources.page(first.nextCursor)
    expect(await resources.page(undefined)).to.equal(first)
    expect(await resources.page(first.nextCursor)).to.equal(second)
    resources.setScene({})
    const third = await resources.page(undefined)
    expect(third).not.to.equal(first)
    expect(await resources.page(undefined)).to.equal(third)
    const buffer = new SessionEventBuffer({ sessionId: 's' })
    resources.registerSessionEventBuffer(buffer)
    expect(await resources.page(undefined)).not.to.equal(third)
    const withBuffer = await allPages(resources)
    buffer.append({ source: 'a', stream: 'b', message: 'c' })
    expect(await allPages(resources)).to.deep.equal(withBuffer)
  })

  it('refuses a cursor that it did not give', async () => {
    const position = (text: string) => Buffer.from(text).toString('base64url')
    for (const cursor of [position('f-1'), position('x1'), position('ax')]) {
      const failure = await failureOf(() => registry({ artefacts: artefacts(2) }).page(cursor))
      expect(failure.code).to.equal('resource_uri_invalid')
    }
  })

  it('lists the rest when the artefacts cannot be listed', async () => {
    const log = { warn: [], error: [] as object[] }
    const fail = (): never => {
      throw new Error('disk')
    }
    const rejecting = registry({ log, artefacts: { ...artefacts(1), page: async () => fail() } })
    expect((await rejecting.page(undefined)).descriptors).to.have.length(3)
    expect(log.error).to.have.length(1)
  })
})
