import { expect } from 'chai'
import { AuditLog } from '../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../src/server/resources/session-event-buffer.ts'
import { RawSession, startServer } from '../helpers/mcp.ts'

const half = 'x\udc80'

describe('half a surrogate pair in what a program gives to the library', () => {
  it('becomes U+FFFD in every resource and listing', async () => {
    const server = await startServer({ enableTools: true })
    const resources = server.server.resources()
    const session = await RawSession.open(server.url)
    const audit = new AuditLog()
    const buffer = new SessionEventBuffer({ sessionId: 's' })
    resources.registerSessionEventBuffer(buffer)
    buffer.append({ source: half, stream: half, message: half, metadata: { [half]: half } })
    audit.record({ action: half, params: { [half]: [half] } })
    resources.setScene({ objects: [{ id: half, name: half }] })
    resources.patchScene({ objects: [{ id: 'y', name: half }], members: { [half]: half } })
    for (const [method, params] of [
      ['resources/list', {}],
      ['resources/read', { uri: 'scene://current' }],
      ['resources/read', { uri: 'scene://current?name=x*' }],
      ['resources/read', { uri: 'events://session/s' }],
      ['tools/call', { name: 'query_scene', arguments: { name: 'x*' } }],
    ] as const) {
      const { text } = await session.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      expect(text, method).to.not.match(/\\+udc80/i)
      if (method !== 'resources/list') expect(text, method).to.match(/x(\ufffd|\\+ufffd)/)
    }
  })
})
