import { expect } from 'chai'
import { until } from '../../../helpers/until.ts'
import { RawSession, startServer, type TestServer } from '../../../helpers/mcp.ts'
import { callStateless, statelessPost } from '../../../helpers/stateless.ts'

const entries = 4_000
const all = { name: 'list_resources', arguments: { query: 'not in any of them' } }

describe('list_resources of a listing with very many pages', () => {
  let server: TestServer
  let pages = 0
  beforeEach(async () => {
    pages = 0
    const list = Object.freeze(
      Array.from({ length: entries }, (_, at) => Object.freeze({ uri: `many://${at}`, name: 'x' })),
    )
    server = await startServer({ enableTools: true, limits: { pageSize: 1 } }, {}, own => {
      const resources = own.resources()
      resources.addProducer({ scheme: 'many', list: () => list, read: () => [] })
      const page = resources.page.bind(resources)
      resources.page = cursor => {
        pages++
        return page(cursor)
      }
    })
  })

  it('lets other requests be answered meanwhile, and looks through all', async () => {
    const searching = callStateless(server.url, 'tools/call', all)
    await until(() => pages > 0, 'the first page')
    expect((await callStateless(server.url, 'tools/list')).status).to.equal(200)
    expect(pages).to.be.below(entries)
    const { content } = (await searching).json.result
    expect(content[0].text).to.equal('no resource matches')
    expect(pages).to.be.above(entries)
  })

  it('ends when the caller leaves, by its connection or by a cancellation', async () => {
    const gone = new AbortController()
    const left = fetch(server.url, { ...statelessPost('tools/call', all), signal: gone.signal })
    const session = await RawSession.open(server.url)
    const cancelled = session.call('tools/call', all).catch((error: unknown) => error)
    await until(() => pages > 2, 'both search')
    gone.abort()
    await left.catch(() => {})
    const params = { requestId: 1 }
    await session.post(
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }),
    )
    expect(await cancelled).to.equal(undefined)
    let before = -1
    await until(() => {
      const isOver = pages === before
      before = pages
      return isOver
    }, 'no further page')
    expect(pages).to.be.below(2 * entries)
  })
})
