import { expect } from 'chai'
import { AuditLog } from '../../../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../../../src/server/resources/session-event-buffer.ts'
import type { AuthPolicy } from '../../../../src/server/http/authentication.ts'
import { until } from '../../../helpers/until.ts'
import { ask, startServer, type TestServer, toolCall } from '../../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../../helpers/stateless.ts'

const drain = { uri: 'events://session/console?drain=true' }
const params = { name: 'read_resource', arguments: drain }

/** The key "reader" may read, the key "writer" may also drain. */
const policy: AuthPolicy = {
  authenticate: ({ headers }) => {
    const key = headers.authorization?.replace('Bearer ', '')
    if (key === 'reader' || key === 'writer') {
      return { ok: true, principal: key, mayWrite: key === 'writer' }
    }
    return { ok: false, status: 401, description: 'no key' }
  },
}

describe('access to tools', () => {
  let server: TestServer
  const audit = new AuditLog()
  const buffer = new SessionEventBuffer({ sessionId: 'console' })
  before(async () => {
    server = await startServer(
      { enableTools: true, limits: { maxWaits: 1 } },
      { auth: policy },
      own => {
        own.resources().wireAuditLog(audit)
        own.resources().registerSessionEventBuffer(buffer)
      },
    )
    buffer.append({ source: 'a', stream: 'stdout', message: 'kept' })
  })
  after(() => server.stop())

  const call = (key: string, method = 'tools/call', given: object = params) =>
    ask(server.url, {
      method: 'POST',
      headers: {
        ...statelessHeaders(method, given as Record<string, unknown>),
        Authorization: `Bearer ${key}`,
      },
      body: JSON.stringify(statelessRequest(method, given as Record<string, unknown>)),
    })

  it('is refused to a caller that may only read when it would drain, and is in the audit', async () => {
    const { status } = await call('reader')
    expect(status).to.equal(403)
    const [denied] = audit.recent(10).filter(({ actor }) => actor === 'reader')
    expect(denied).to.deep.include({ outcome: { denied: { reason: 'insufficient_scope' } } })
    expect(buffer.page().retained_count).to.equal(1)
  })

  it('has one bound of open waits for callers of both kinds', async () => {
    const wait = (timeout_s: number) =>
      toolCall('wait_for_change', { uris: ['audit://recent'], timeout_s })
    const first = call('writer', 'tools/call', wait(45))
    const refused = async () => {
      const { json } = await call('reader', 'tools/call', wait(1))
      return json.result.isError === true
    }
    await until(refused, 'a refused wait')
    audit.record({ action: 'a', actor: 'b', outcome: 'success' })
    expect((await first).json.result.structuredContent.changed).to.equal(true)
  })

  it('never drains, also for a caller that may write', async () => {
    const { json } = await call('writer')
    expect(json.result.isError).to.equal(true)
    expect(buffer.page().retained_count).to.equal(1)
  })
})
