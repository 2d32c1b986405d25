import { expect } from 'chai'
import { type Connection, type Prepared, checkReads } from './scenario.ts'
import { tapFetch } from './wire.ts'

/** What a client of revision 2026-07-28 does with the server; no session is ever made. */
export async function runStatelessScenario(
  { serving, image }: Prepared,
  open: (url: URL) => Connection,
): Promise<void> {
  const wire = tapFetch(serving.url)
  try {
    const { client, transport } = open(new URL(serving.url))
    await client.connect(transport)
    expect(wire.sent('server/discover')).to.equal(1)
    await checkReads(client, serving, image)
    expect(wire.sent('resources/list')).to.be.at.least(2)
    await client.close()
    expect(wire.sent('initialize')).to.equal(0)
    expect(transport.sessionId).to.equal(undefined)
  } finally {
    wire.release()
  }
}
