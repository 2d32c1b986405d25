import { expect } from 'chai'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DeferredEndpoint } from '../../../src/server/mcp/deferred-endpoint.ts'
import type { McpEndpoint } from '../../../src/server/mcp/endpoint.ts'
import type { RequestContext } from '../../../src/server/mcp/request-context.ts'

const req = {} as IncomingMessage
const context = {} as RequestContext
const open = { destroyed: false } as ServerResponse

function recording(): { endpoint: McpEndpoint; handled: ServerResponse[] } {
  const handled: ServerResponse[] = []
  const endpoint = {
    handle: (_req: IncomingMessage, res: ServerResponse) => void handled.push(res),
  } as unknown as McpEndpoint
  return { endpoint, handled }
}

describe('an endpoint whose port is bound before it can serve', () => {
  it('lets requests wait until it can', async () => {
    const deferred = new DeferredEndpoint()
    const { endpoint, handled } = recording()
    const waiting = deferred.handle(req, open, context)
    expect(deferred.isOpen).to.equal(false)
    deferred.open(endpoint)
    await waiting
    expect(handled).to.deep.equal([open])
    void deferred.handle(req, open, context)
    expect(handled).to.have.length(2)
    expect(deferred.isOpen).to.equal(true)
  })

  it('forgets a request whose client has gone', async () => {
    const deferred = new DeferredEndpoint()
    const { endpoint, handled } = recording()
    const waiting = deferred.handle(req, { destroyed: true } as ServerResponse, context)
    deferred.open(endpoint)
    await waiting
    expect(handled).to.deep.equal([])
  })

  it('fails those that wait when it is closed first', async () => {
    const deferred = new DeferredEndpoint()
    const waiting = Promise.resolve(deferred.handle(req, open, context))
    deferred.close()
    const error = await waiting.catch((cause: unknown) => cause)
    expect(error).to.include({ code: 'internal' })
  })
})
