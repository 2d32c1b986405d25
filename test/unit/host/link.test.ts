import { expect } from 'chai'
import { Requests } from '../../../src/server/host/link/requests.ts'
import { Schemes } from '../../../src/server/host/link/schemes.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'
import { until } from '../../helpers/until.ts'

describe('the requests to an application', () => {
  it('end at their deadline, are cancelled, and tell one at work from one that hangs', async () => {
    const sent: object[] = []
    const channel = { send: (message: object) => sent.push(message) > 0 }
    const requests = new Requests(channel, 1000, { readMs: 20, captureMs: 20 })
    const { signal } = new AbortController()
    const form = { view: 'window', maxWidth: 1, maxBytes: 10_000, signal } as const
    const reasons = async () => {
      const read = await requests.read('app://a').catch(({ data }) => data.reason)
      const taken = await requests.capture(form)
      return [read, taken.ok || taken.failure.reason]
    }
    expect(await reasons()).to.deep.equal(['host_timeout', 'timeout'])
    expect(sent).to.deep.equal([
      { type: 'read', id: 's1', uri: 'app://a', deadline_ms: 20 },
      { type: 'cancel', id: 's1' },
      {
        type: 'capture',
        id: 's2',
        target: 'window',
        shot: undefined,
        max_width: 1,
        max_bytes: 1000,
        deadline_ms: 20,
      },
      { type: 'cancel', id: 's2' },
    ])
    requests.isBusy = true
    expect(await reasons()).to.deep.equal(['host_busy', 'host_busy'])
  })
})

describe('the schemes of an application', () => {
  it('stay listed for the grace time after the link is lost, then go', async () => {
    const registry = new ResourceRegistry({ limits: serverDefaults })
    const listed = async () => {
      const { descriptors } = await registry.page(undefined)
      return descriptors.filter(({ uri }) => uri.startsWith('app:')).length
    }
    const schemes = new Schemes(registry, 50)
    const requests = new Requests({ send: () => true }, 1000)
    let changes = 0
    registry.listen({ listChanged: () => changes++ })
    const resources = [{ uri: 'app://Cube', name: 'Cube' }]
    schemes.register('app', resources, undefined, requests)
    schemes.disconnect()
    expect(await listed()).to.equal(1)
    schemes.register('app', resources, undefined, requests)
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(await listed(), 'it was back in time').to.equal(1)
    const before = changes
    schemes.disconnect()
    await until(async () => (await listed()) === 0, 'its going')
    await until(() => changes > before, 'the notice of it')
  })
})
