import { expect } from 'chai'
import { defaultGatewayLimits } from '../../../../src/lib/config/gateway-limits.ts'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { InstancePushes } from '../../../../src/server/gateway/relay/instance-pushes.ts'
import { unreachable } from '../../../../src/server/gateway/relay/relay-errors.ts'
import { Upstream } from '../../../../src/server/gateway/relay/upstream.ts'

describe('subscriptions at an instance', () => {
  it('are tried again at once when it came back while an attempt failed', async () => {
    const again = Promise.withResolvers<void>()
    let attempts = 0
    const way = () => {
      if (++attempts === 2) again.resolve()
      throw unreachable('its link is lost')
    }
    const url = new URL('http://instance/mcp')
    const transport = { url, asker: way, reads: way, refused() {}, close() {} }
    let looks = 0
    const pushes = new InstancePushes({
      upstream: new Upstream('an instance', transport),
      updated() {},
      listChanged() {},
      log: silentLogger,
      limits: defaultGatewayLimits,
      gone: async () => {
        // The look finds that its link is open again.
        if (++looks === 1) pushes.retry()
        return null
      },
      // No pause ends by itself.
      timer: { after: () => () => {} },
    })
    await pushes.follow('scene://current')
    await again.promise
    expect(attempts).to.equal(2)
    await pushes.close()
  })
})
