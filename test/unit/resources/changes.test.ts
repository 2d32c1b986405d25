import { expect } from 'chai'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import type { ResourceProducer } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import type { SchemeProducer } from '../../../src/server/resources/scheme-producer.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { ManualTime } from './manual-time.ts'
import { codeOf } from './support.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'

const artefacts: SchemeProducer = { read: () => [], page: async () => ({ descriptors: [] }) }
const docs: ResourceProducer = { scheme: 'docs', list: () => [], read: () => [] }

function listened(hasArtefacts = true) {
  const time = new ManualTime()
  const resources = new ResourceRegistry({
    limits: serverDefaults,
    clock: time,
    timer: time,
    artefacts: hasArtefacts ? artefacts : undefined,
  })
  const updates: string[] = []
  const lists = { count: 0 }
  resources.listen({ resourceUpdated: uri => updates.push(uri), listChanged: () => lists.count++ })
  return { resources, time, updates, lists }
}

describe('resource updates', () => {
  it('come with every record of the wired log, until the registry is closed', () => {
    const { resources, updates } = listened()
    const log = new AuditLog()
    resources.wireAuditLog(log)
    log.record({ action: 'a' })
    log.record({ action: 'a' })
    resources.close()
    resources.listen({ resourceUpdated: uri => updates.push(uri) })
    log.record({ action: 'a' })
    expect(updates).to.deep.equal(['audit://recent', 'audit://recent'])
  })

  it('come for custom schemes when the host says so, in one spelling', () => {
    const { resources, updates } = listened()
    resources.addProducer(docs)
    resources.notifyUpdated('docs://a')
    resources.notifyUpdated('DOCS://%61')
    expect(updates).to.deep.equal(['docs://a', 'docs://a'])
    expect(resources.assertSubscribable('DOCS://%61?q=1')).to.equal('docs://a?q=1')
  })

  const refused: [uri: unknown, code: string][] = [
    ['scene://current', 'usage_invalid'],
    ['events://session/s', 'usage_invalid'],
    ['artefact://sha256/00', 'usage_invalid'],
    ['other://a', 'usage_invalid'],
    ['no uri', 'resource_uri_invalid'],
    [5, 'resource_uri_invalid'],
  ]
  for (const [uri, code] of refused) {
    it(`are refused for ${uri}`, () => {
      const { resources, updates } = listened()
      resources.addProducer(docs)
      expect(codeOf(() => resources.notifyUpdated(uri as string))).to.equal(code)
      expect(updates).to.deep.equal([])
    })
  }

  it('never come for events, capture and artefacts', () => {
    const { resources, time, updates } = listened()
    const buffer = new SessionEventBuffer({ sessionId: 's' })
    resources.registerSessionEventBuffer(buffer)
    buffer.append({ source: 'a', stream: 'b', message: 'c' })
    void resources.read('events://session/s?drain=true')
    resources.listChanged()
    time.advance(10_000)
    expect(updates).to.deep.equal([])
    const artefact = `artefact://sha256/${'0'.repeat(64)}`
    for (const uri of ['events://session/s', 'capture://current_window', artefact]) {
      expect(resources.assertSubscribable(uri)).to.equal(uri)
      expect(resources.pushes(uri)).to.equal(false)
    }
    for (const uri of ['scene://current', 'scene://delta', 'audit://recent?limit=5', 'docs://a']) {
      expect(resources.pushes(uri)).to.equal(true)
    }
  })
})

describe('assertSubscribable', () => {
  const cases: [uri: unknown, code: string][] = [
    ['scene://later', 'none'],
    ['docs://later', 'none'],
    ['other://a', 'resource_not_found'],
    ['artefact://sha256/00', 'resource_not_enabled'],
    ['scene://current?a=1&a=1', 'resource_uri_invalid'],
  ]
  for (const [uri, code] of cases) {
    it(`${uri} → ${code}`, () => {
      const { resources } = listened(false)
      resources.addProducer(docs)
      expect(codeOf(() => resources.assertSubscribable(uri))).to.equal(code)
    })
  }
})

describe('list changes', () => {
  it('are told at once, then at most once a second, the last of a burst never lost', () => {
    const { resources, time, lists } = listened()
    resources.listChanged()
    expect(lists.count).to.equal(1)
    for (let n = 0; n < 100; n++) resources.listChanged()
    time.advance(999)
    expect(lists.count).to.equal(1)
    time.advance(1)
    expect(lists.count).to.equal(2)
    resources.listChanged()
    expect(lists.count).to.equal(2)
    time.advance(1000)
    expect(lists.count).to.equal(3)
    time.advance(60_000)
    expect(lists.count).to.equal(3)
    expect(time.waiting).to.equal(0)
  })

  it('do not come after close', () => {
    const { resources, time, lists } = listened()
    resources.listChanged()
    resources.listChanged()
    resources.close()
    time.advance(1000)
    expect(lists.count).to.equal(1)
    expect(time.waiting).to.equal(0)
  })
})
