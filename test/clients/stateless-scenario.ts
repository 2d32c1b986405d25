import { expect } from 'chai'
import { type SdkTransport, type StatelessClient, Updates } from './client-face.ts'
import { type Prepared, type Serving, checkReads, readJson } from './scenario.ts'
import { tapFetch } from './wire.ts'

export interface StatelessConnection {
  client: StatelessClient
  transport: SdkTransport
}

/** What a client of revision 2026-07-28 does with the server; no session is ever made. */
export async function runStatelessScenario(
  { serving, image }: Prepared,
  open: (url: URL) => StatelessConnection,
): Promise<void> {
  const wire = tapFetch(serving.url)
  try {
    const { client, transport } = open(new URL(serving.url))
    const updates = new Updates(client)
    await client.connect(transport)
    expect(client.getProtocolEra()).to.equal('modern')
    expect(client.getNegotiatedProtocolVersion()).to.equal('2026-07-28')
    expect(wire.sent('server/discover')).to.equal(1)
    await checkReads(client, serving, image)
    expect(wire.sent('resources/list')).to.be.at.least(2)
    await checkListening(client, updates, serving)
    await client.close()
    expect(wire.sent('initialize')).to.equal(0)
    expect(transport.sessionId).to.equal(undefined)
  } finally {
    wire.release()
  }
}

/** A change arrives while the client listens, and only then. */
async function checkListening(
  client: StatelessClient,
  updates: Updates,
  serving: Serving,
): Promise<void> {
  const scene = 'scene://current'
  const audit = 'audit://recent'
  const filter = { resourceSubscriptions: [scene], resourcesListChanged: true }
  const scenes = await client.listen(filter)
  const audits = await client.listen({ resourceSubscriptions: [audit], toolsListChanged: true })
  expect(scenes.honoredFilter).to.deep.equal(filter)
  expect(audits.honoredFilter).to.deep.equal({ resourceSubscriptions: [audit] })
  await serving.post('scene', { objects: [{ id: 'cube', location: [1, 2, 3] }] })
  await updates.until(scene, 1)
  const { objects } = await readJson(client, scene)
  expect(objects).to.deep.equal([{ id: 'cube', location: [1, 2, 3] }])

  await scenes.close()
  expect(await scenes.closed).to.equal('local')
  await serving.post('scene', { objects: [] })
  await serving.post('audit', { records: [{ action: 'object.delete' }] })
  await updates.until(audit, 1)
  expect(updates.count(scene)).to.equal(1)
  await audits.close()
}
