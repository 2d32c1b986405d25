import { expect } from 'chai'
import { defaultGatewayLimits } from '../../../../src/lib/config/gateway-limits.ts'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { systemTimer } from '../../../../src/lib/util/time.ts'
import { AddressTransport } from '../../../../src/server/gateway/relay/address-transport.ts'
import { InstanceCalls } from '../../../../src/server/gateway/relay/instance-calls.ts'
import { Upstream } from '../../../../src/server/gateway/relay/upstream.ts'

describe('the calls of one instance', () => {
  const unreachable = new ServiceError('resource_failed', 'it cannot be reached')
  const refuse = () => {
    throw unreachable
  }

  const failures: [what: string, parts: { locate: () => URL; mayUseKey: () => boolean }][] = [
    ['its key cannot be found out', { locate: () => new URL('http://a/'), mayUseKey: refuse }],
    ['it has no address', { locate: refuse, mayUseKey: () => false }],
  ]
  for (const [what, parts] of failures) {
    it(`watch neither the time nor the caller any more when ${what}`, async () => {
      const kept = { timers: 0, listeners: 0 }
      const timer = {
        after() {
          kept.timers++
          return () => void kept.timers--
        },
      }
      const reader = {
        onLeave() {
          kept.listeners++
          return () => void kept.listeners--
        },
      }
      const instanceId = 'one'
      const transport = new AddressTransport({
        instanceId,
        instancesDir: '/nowhere',
        timer: systemTimer,
        ...parts,
      })
      const upstream = new Upstream(instanceId, transport)
      const calls = new InstanceCalls({
        instanceId,
        upstream,
        timer,
        limits: defaultGatewayLimits,
        log: silentLogger,
      })
      const error = await calls.ask('tools/list', {}, { reader }).catch((cause: unknown) => cause)
      expect(error).to.equal(unreachable)
      expect(kept).to.deep.equal({ timers: 0, listeners: 0 })
      upstream.close()
    })
  }
})
