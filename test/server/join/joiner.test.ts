import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { Joiner } from '../../../src/server/join/joiner.ts'
import { accept, startScriptedGateway } from '../../helpers/join.ts'
import { until } from '../../helpers/until.ts'
import { atEnd } from '../../helpers/cleanup.ts'

type ScriptedGateway = Awaited<ReturnType<typeof startScriptedGateway>>

describe('an instance that joins gateways', () => {
  /** At 127.0.0.1 and the two addresses after it, on one port. */
  let gateways: readonly [ScriptedGateway, ScriptedGateway, ScriptedGateway]
  let joiner: Joiner | undefined
  /** What the name of the gateways resolves to; null: it cannot be resolved. */
  let addresses: string[] | null
  let resolved: number

  beforeEach(async () => {
    const first = await startScriptedGateway('127.0.0.1')
    const second = await startScriptedGateway('127.0.0.2', first.port)
    gateways = [first, second, await startScriptedGateway('127.0.0.3', first.port)]
    addresses = ['127.0.0.1', '127.0.0.2']
    resolved = 0
  })

  const join = (...urls: string[]) => {
    const joining = new Joiner({
      gateways: urls,
      token: async () => new Secret('svc_token'),
      visibleTo: 'owner',
      record: { record: { instance_id: randomUUID() } as InstanceRecord, follow: () => () => {} },
      listener: (_req, res) => void res.writeHead(404).end(),
      log: silentLogger,
      async addressesOf() {
        resolved++
        if (addresses === null) throw new Error('no answer of the name server')
        return addresses
      },
    })
    atEnd(() => joining.stop())
    joiner = joining
  }
  const urlOf = (name: string) => `http://${name}:${gateways[0].port}`
  const links = () => gateways.map(({ joined }) => joined.length)
  const linked = (...expected: number[]) =>
    until(() => links().join() === expected.join(), `links ${expected.join()}`)
  const states = () => joiner?.facts.map(({ state }) => state)
  const lastLink = async (gateway: ScriptedGateway) => {
    const joined = gateway.joined.at(-1)
    if (joined === undefined) throw new Error('no link')
    accept(joined)
    return joined
  }

  it('opens a link to each address of the name, which each gateway is told', async () => {
    join(urlOf('gateways.test'))
    await linked(1, 1, 0)
    for (const gateway of gateways.slice(0, 2)) {
      expect((await lastLink(gateway)).headers.host).to.equal(new URL(urlOf('gateways.test')).host)
    }
    await until(() => states()?.join() === 'joined,joined', 'both states')
  })

  it('follows the name to another address when a link is lost', async () => {
    join(urlOf('gateways.test'))
    await linked(1, 1, 0)
    addresses = ['127.0.0.2', '127.0.0.3']
    gateways[0].joined[0]?.socket.destroy()
    await linked(1, 1, 1)
    await until(() => states()?.length === 2, 'the end of the link to the former address')
  })

  it('opens a lost link again, and keeps the other, also while the name cannot be resolved', async () => {
    join(urlOf('gateways.test'))
    await linked(1, 1, 0)
    addresses = null
    gateways[0].joined[0]?.socket.destroy()
    await linked(2, 1, 0)
    expect(gateways[1].joined[0]?.socket.destroyed).to.equal(false)
    expect(resolved).to.equal(2)
  })

  it('joins a gateway with two addresses once, and by either of them', async () => {
    join(urlOf('gateways.test'))
    await linked(1, 1, 0)
    // As a gateway does when the same instance joins again.
    gateways[0].joined[0]?.link.close(4009, 'a newer link replaced it')
    await until(() => states()?.length === 1, 'the end of the link that was replaced')
    gateways[1].joined[0]?.socket.destroy()
    await linked(2, 2, 0)
  })
})
