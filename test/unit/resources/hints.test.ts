import { expect } from 'chai'
import { toRfc3339 } from '../../../src/lib/util/time.ts'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import type { Descriptor } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { ManualTime } from './manual-time.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'

/** A registry whose time stands still until it is told. */
function timed() {
  const time = new ManualTime()
  const resources = new ResourceRegistry({ limits: serverDefaults, clock: time, timer: time })
  const log = new AuditLog()
  resources.wireAuditLog(log)
  const buffer = new SessionEventBuffer({ sessionId: 's' })
  resources.registerSessionEventBuffer(buffer)
  const page = () => resources.page(undefined)
  const listed = async (uri: string): Promise<Descriptor> => {
    const found = (await page()).descriptors.find(each => each.uri === uri)
    if (found === undefined) throw new Error(`${uri} is not listed`)
    return found
  }
  const modified = async (uri: string) => (await listed(uri)).annotations?.lastModified
  const later = () => {
    time.advance(1000)
    return toRfc3339(time.now())
  }
  return { resources, time, log, buffer, page, listed, modified, later }
}

const uris = ['scene://current', 'scene://delta', 'audit://recent', 'events://session/s']

describe('hints of the built-in resources', () => {
  it('are a title, an audience and a priority on every entry and every template', async () => {
    const { resources, listed } = timed()
    const entries = [...(await Promise.all(uris.map(listed))), ...resources.templates()]
    expect(entries).to.have.length(8)
    for (const { title, annotations } of entries) {
      expect(title).to.be.a('string').and.not.equal('')
      expect(annotations?.audience).to.be.an('array').and.not.have.length(0)
      expect(annotations?.priority).to.be.within(0, 1)
    }
  })

  it('tell when the scene was set or cleared, not when it was refused', async () => {
    const { resources, modified, later } = timed()
    const set = later()
    resources.setScene({ a: 1 })
    later()
    const circle: { self?: object } = {}
    circle.self = circle
    expect(() => resources.setScene(circle)).to.throw(TypeError)
    expect([await modified('scene://current'), await modified('scene://delta')]).to.deep.equal([
      set,
      set,
    ])
    const cleared = later()
    resources.setScene(null)
    expect(await modified('scene://current')).to.equal(cleared)
  })
})
