import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { contents, payload, registry } from './support.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'

describe('a scene URI with an unknown query parameter', () => {
  for (const [uri, known] of [
    ['scene://current?x=1', 'known: view, pointer'],
    ['scene://delta?sinse=1', 'known: since'],
    ['scene://delta?since=0&x', 'known: since'],
  ] as const) {
    it(`is refused when ${uri} is read and when it is subscribed to`, () => {
      const resources = registry()
      for (const call of [() => resources.read(uri), () => resources.assertSubscribable(uri)]) {
        expect(call).to.throw(ServiceError, known).with.property('code', 'resource_uri_invalid')
      }
    })
  }
})

describe('the _meta of a scene content', () => {
  const meta = (resources: ResourceRegistry, uri = 'scene://current') =>
    contents(resources, uri)[0]?._meta?.['service-cli/scene']

  it('holds revision, time, size and application', () => {
    const clock = { now: () => 5000 }
    const limits = serverDefaults
    const parts = { limits, clock, enableArtefactResources: false }
    const resources = new ResourceRegistry(parts)
    const { run } = resources.scene
    const none = { run, revision: 0, set_at: null, size: 0, application: null }
    expect(meta(resources)).to.deep.equal(none)
    resources.setScene({ frame: 1 })
    const facts = { ...none, revision: 1, set_at: '1970-01-01T00:00:05.000Z', size: 11 }
    for (const uri of ['scene://current', 'SCENE://current', 'scene://delta?since=0']) {
      expect(meta(resources, uri), uri).to.deep.equal(facts)
    }
  })

  it('says since when the application is gone or back, and announces both', () => {
    let nowMs = 1000
    const clock = { now: () => nowMs }
    const parts = { limits: serverDefaults, clock, enableArtefactResources: false }
    const resources = new ResourceRegistry(parts)
    const updates: string[] = []
    resources.listen({ resourceUpdated: uri => void updates.push(uri) })
    const blender = { instanceId: 'run-1', dccType: 'blender' }
    resources.scene.setApplication({ ...blender, connected: true })
    resources.scene.replaceText('{"frame":1}', 'run-1')
    updates.splice(0)
    const states = [false, false, true].map(connected => {
      nowMs += 1000
      resources.scene.setApplication({ ...blender, connected })
      return meta(resources)
    })
    const gone = { connected: false, dcc_type: 'blender', since: '1970-01-01T00:00:02.000Z' }
    const back = { connected: true, dcc_type: 'blender', since: '1970-01-01T00:00:04.000Z' }
    const { run } = resources.scene
    const scene = { run, revision: 1, set_at: '1970-01-01T00:00:01.000Z', size: 11 }
    expect(states).to.deep.equal([gone, gone, back].map(application => ({ ...scene, application })))
    expect(updates).to.deep.equal(['scene://current', 'scene://current'])
    expect(payload(resources, 'scene://current')).to.deep.equal({ frame: 1 })
  })

  it('describes the application that set the scene until another one sets its own', () => {
    const resources = registry()
    const connected = { connected: true, dcc_type: 'blender' }
    resources.scene.setApplication({ instanceId: 'run-1', dccType: 'blender', connected: true })
    expect(meta(resources)).to.have.deep.nested.include({ 'application.connected': true })
    resources.scene.replaceText('{"a":1}', 'run-1')
    resources.scene.setApplication({ instanceId: 'run-1', dccType: 'blender', connected: false })
    resources.scene.setApplication({ instanceId: 'run-2', dccType: 'blender', connected: true })
    expect(meta(resources)).to.have.nested.include({ 'application.connected': false })
    resources.scene.replaceText('{"a":2}', 'run-2')
    expect((meta(resources) as { application: object }).application).to.include(connected)
    resources.setScene({ a: 3 })
    expect(meta(resources)).to.include({ application: null })
  })
})
